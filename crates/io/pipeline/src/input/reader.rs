//! Facts of files, on demand.

use super::opening::{InputFile, open};
use super::stopping::Stop;
use super::{Batch, InputSummary, Reading, WAITING_BATCHES, decode};
use crate::keys::FilesAhead;
use analysis::fact::Fact;
use anyhow::Result;
use std::path::PathBuf;
use std::sync::mpsc;

/// Reads `files` on a separate thread, as [`read_files`](super::read_files) does, and returns facts
/// on demand, for readers that need them up to a point in time. Dropping it ends the thread.
#[derive(Debug)]
pub struct FactReader {
    facts: std::vec::IntoIter<Fact>,
    receiver: Option<mpsc::Receiver<Vec<Fact>>>,
    thread: Option<std::thread::JoinHandle<Result<InputSummary>>>,
    stop: Stop,
}

impl FactReader {
    pub fn start(files: Vec<PathBuf>, reading: Reading) -> Self {
        let (sender, receiver) = mpsc::sync_channel(WAITING_BATCHES);
        let stop = Stop::default();
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || {
            reading.keys.search_in(FilesAhead::among(&files, Some(&stopped)));
            let mut captures = Vec::new();
            let mut recordings = Vec::new();
            for path in &files {
                match open(path, Some(&stopped))? {
                    InputFile::Capture(source) => captures.push(source),
                    InputFile::Recording(recording) => recordings.push(recording),
                    InputFile::Tables(runs) => recordings.extend(runs),
                }
            }
            // The receiver is gone only if no more facts are wanted; the files end then.
            let mut batch = Batch::new(move |facts| drop(sender.send(facts)));
            let input = decode(captures, recordings, reading, &mut |fact| batch.add(fact));
            batch.send();
            input
        });
        Self {
            facts: Vec::new().into_iter(),
            receiver: Some(receiver),
            thread: Some(thread),
            stop,
        }
    }

    pub fn next_fact(&mut self) -> Option<Fact> {
        loop {
            if let Some(fact) = self.facts.next() {
                return Some(fact);
            }
            self.facts = self.receiver.as_ref()?.recv().ok()?.into_iter();
        }
    }

    /// Returns the other results after all facts; `None` if called before.
    ///
    /// # Errors
    /// If a file cannot be read, or is neither a capture nor a recording.
    pub fn finish(&mut self) -> Result<Option<InputSummary>> {
        self.receiver = None;
        let Some(thread) = self.thread.take() else {
            return Ok(None);
        };
        let input = thread.join();
        input
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            .map(Some)
    }
}

impl Drop for FactReader {
    fn drop(&mut self) {
        self.stop.now();
        // Ends a wait for room in the channel.
        self.receiver = None;
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn recording(requests: u64) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        for at in 0..requests {
            writeln!(
                file,
                "{{\"type\":\"started\",\"schema\":1,\"connection\":0,\"at_ns\":{at}}}"
            )
            .expect("it is written");
        }
        file
    }

    #[test]
    fn all_facts_come_in_their_order_and_then_what_is_missing() {
        let file = recording(2_000);
        let mut reader = FactReader::start(vec![file.path().to_owned()], Reading::default());
        let times: Vec<u64> = std::iter::from_fn(|| reader.next_fact())
            .map(|fact| fact.time().as_nanos())
            .collect();
        assert_eq!(times, (0..2_000).collect::<Vec<_>>());
        let input = reader.finish().expect("it is read").expect("for the first time");
        assert!(input.faults[0].contains("no summary"), "{:?}", input.faults);
        assert!(reader.finish().expect("it was read").is_none());
    }

    #[test]
    fn a_reader_that_is_dropped_leaves_the_rest_unread() {
        let file = recording(200_000);
        let mut reader = FactReader::start(vec![file.path().to_owned()], Reading::default());
        assert!(reader.next_fact().is_some());
        reader.stop.now();
        let rest = std::iter::from_fn(|| reader.next_fact()).count();
        assert!(rest < 100_000, "{rest} facts after the end");
    }

    #[test]
    fn a_file_that_cannot_be_read_is_named_at_the_end() {
        let mut reader = FactReader::start(vec!["/nowhere.lwr".into()], Reading::default());
        assert!(reader.next_fact().is_none());
        let fault = reader.finish().expect_err("it is not there");
        assert!(fault.to_string().contains("/nowhere.lwr"), "{fault}");
    }
}
