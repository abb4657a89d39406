//! Merges several recordings in order of time, so that requests in one are joined with statements
//! in another.
//!
//! The facts of a recording are in order of the observation, so one fact of each suffices: memory
//! does not grow with their length.

use super::InputSummary;
use super::recording::RecordingFacts;
use analysis::fact::Fact;
use anyhow::Result;
use model::{RecognisedStatement, Timestamp};

pub struct MergedRecordings {
    all: Vec<Head>,
}

struct Head {
    recording: RecordingFacts,
    next: Option<Fact>,
    /// Sort key of the next fact. Facts of one recording stay in order even if their times do not.
    due: Timestamp,
}

impl MergedRecordings {
    /// Reads up to the first fact of each.
    ///
    /// # Errors
    /// If the first record of one is invalid.
    pub fn new(recordings: Vec<RecordingFacts>) -> Result<Self> {
        let heads = recordings.into_iter().map(|recording| {
            let mut head = Head {
                recording,
                next: None,
                due: Timestamp::default(),
            };
            head.advance()?;
            Ok(head)
        });
        Ok(Self {
            all: heads.collect::<Result<_>>()?,
        })
    }

    /// Emits the facts up to `time`.
    ///
    /// # Errors
    /// Those of [`MergedRecordings::new`].
    pub fn until(&mut self, time: Timestamp, facts: &mut dyn FnMut(Fact)) -> Result<()> {
        loop {
            // A command line has few files: a linear search is as fast as a heap.
            let waiting = self.all.iter_mut().filter(|head| head.next.is_some());
            let Some(head) = waiting.min_by_key(|head| head.due) else {
                return Ok(());
            };
            if head.due > time {
                return Ok(());
            }
            if let Some(fact) = head.next.take() {
                facts(fact);
            }
            head.advance()?;
        }
    }

    /// Emits the rest, and adds the recordings' warnings to `input`. Returns the texts of
    /// statements with an unseen preparation.
    pub fn finish(
        mut self,
        facts: &mut dyn FnMut(Fact),
        input: &mut InputSummary,
    ) -> Result<Vec<RecognisedStatement>> {
        self.until(Timestamp::from_nanos(u64::MAX), facts)?;
        let mut recognised = Vec::new();
        for mut head in self.all {
            recognised.append(&mut head.recording.recognised);
            let notes = head.recording.finish();
            input.warnings.extend(notes.warnings);
            input.faults.extend(notes.faults);
        }
        Ok(recognised)
    }
}

impl Head {
    fn advance(&mut self) -> Result<()> {
        self.next = self.recording.next()?;
        if let Some(fact) = &self.next {
            self.due = self.due.max(fact.time());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::numbering::Numbering;
    use super::*;
    use std::io::Cursor;

    /// A recording of requests at these times, on the connections 0, 1, ...
    fn recording(place: usize, times: &[u64]) -> RecordingFacts {
        let lines: String = (0..)
            .zip(times)
            .map(|(connection, at)| {
                format!("{{\"type\":\"started\",\"schema\":1,\"connection\":{connection},\"at_ns\":{at}}}\n")
            })
            .collect();
        let reader = Box::new(Cursor::new(lines));
        RecordingFacts::new(
            (format!("{place}.lwr"), reader),
            Numbering::new(place, 2),
            Default::default(),
        )
        .expect("it can be read")
    }

    fn shown(facts: &[Fact]) -> Vec<(u32, u64)> {
        let requests = facts.iter().map(|fact| match fact {
            Fact::Started { connection, at, .. } => (connection.0, at.as_nanos()),
            other => panic!("{other:?} was not recorded"),
        });
        requests.collect()
    }

    fn merged(first: &[u64], second: &[u64]) -> MergedRecordings {
        MergedRecordings::new(vec![recording(0, first), recording(1, second)]).expect("they can be read")
    }

    #[test]
    fn facts_come_in_the_order_of_time_and_those_of_one_recording_in_its_own() {
        let mut facts = Vec::new();
        let mut input = InputSummary::default();
        // The second fact of the first recording was reported late.
        let merged = merged(&[10, 5, 40], &[7, 20]);
        let finished = merged.finish(&mut |fact| facts.push(fact), &mut input);
        finished.expect("they are read");
        assert_eq!(shown(&facts), [(1, 7), (0, 10), (2, 5), (3, 20), (4, 40)]);
        let faults = input.faults.iter().map(|fault| fault.contains("no summary"));
        assert_eq!(faults.collect::<Vec<_>>(), [true, true]);
    }

    #[test]
    fn what_is_later_waits() {
        let mut facts = Vec::new();
        let mut merged = merged(&[10, 30], &[20]);
        let mut until = |time, facts: &mut Vec<Fact>| {
            let taken = merged.until(Timestamp::from_nanos(time), &mut |fact| facts.push(fact));
            taken.expect("they are read");
        };
        until(9, &mut facts);
        assert_eq!(shown(&facts), []);
        until(20, &mut facts);
        assert_eq!(shown(&facts), [(0, 10), (1, 20)]);
    }
}
