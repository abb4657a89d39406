//! Replays a recording or capture up to any moment. Going back starts from the beginning, so memory
//! does not grow with length.

use super::source::{Moment, ScreenSource, snapshot};
use analysis::fact::Fact;
use anyhow::Result;
use model::{Conditions, Timestamp, Warning};
use pipeline::aggregator::{Aggregator, AggregatorConfig};
use pipeline::input::{self, FactReader, InputSummary, Reading};
use pipeline::output::{EndRequest, Status};
use screen::{Position, Screen, TimeStep, WINDOW};
use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::time::Duration;
use sys::arguments::CommandLine;

pub struct RecordedRun {
    files: Vec<PathBuf>,
    reading: Reading,
    wanted: AggregatorConfig,
    conditions: Conditions,
    asked: EndRequest,
    place: String,
    first: Timestamp,
    length: Duration,
    input: InputSummary,
    aggregator: Aggregator,
    reader: FactReader,
    /// The next fact, later than the current moment.
    ahead: Option<Fact>,
    at: Duration,
    baseline: Option<Duration>,
}

impl RecordedRun {
    /// Reads the files once to find their start and end.
    pub fn open(
        files: Vec<PathBuf>,
        reading: Reading,
        wanted: AggregatorConfig,
        asked: EndRequest,
        typed: &CommandLine,
    ) -> Result<Self> {
        let mut reader = FactReader::start(files.clone(), reading.clone());
        let mut ends: Option<(Timestamp, Timestamp)> = None;
        while let Some(fact) = reader.next_fact() {
            let at = fact.time();
            let (first, last) = ends.unwrap_or((at, at));
            ends = Some((first.min(at), last.max(at)));
        }
        let input = reader.finish()?.unwrap_or_default();
        let (first, last) = ends.unwrap_or_default();
        let conditions = input::conditions(&files, typed);
        Ok(Self {
            place: input::title(&files),
            aggregator: Aggregator::new(&wanted, conditions.clone())?,
            conditions,
            reader: FactReader::start(files.clone(), reading.clone()),
            files,
            reading,
            wanted,
            asked,
            first,
            length: last.since(first),
            input,
            ahead: None,
            at: Duration::ZERO,
            baseline: None,
        })
    }

    /// Moves to `to`, from the current moment or from the beginning. Reports the last seconds to
    /// the screen, for its rates.
    pub fn go(&mut self, to: Duration, screen: &mut Screen) -> Result<()> {
        if to < self.at {
            self.begin_again()?;
        }
        if self.baseline.is_some_and(|baseline| baseline > to) {
            self.baseline = None;
            screen.remove_baseline();
        }
        let mut moments: Vec<Duration> = (0..=WINDOW.as_secs())
            .map(|seconds| to.saturating_sub(WINDOW - Duration::from_secs(seconds)))
            .chain(self.baseline)
            .filter(|moment| *moment >= self.at)
            .collect();
        moments.sort_unstable();
        moments.dedup();
        let wants = screen.wants();
        for moment in moments {
            self.take_until(moment);
            // Once a second, like a live run.
            self.aggregator.close_resting();
            if Some(moment) == self.baseline {
                self.aggregator.set_baseline();
            }
            self.at = moment;
            screen.remember(&snapshot(self, &wants));
        }
        self.at = to;
        if to >= self.length {
            self.aggregator.decide_poolers();
            // Called twice in a row, with no facts between.
            self.aggregator.close_resting();
            self.aggregator.close_resting();
        }
        Ok(())
    }

    fn begin_again(&mut self) -> Result<()> {
        self.aggregator = Aggregator::new(&self.wanted, self.conditions.clone())?;
        self.reader = FactReader::start(self.files.clone(), self.reading.clone());
        self.ahead = None;
        self.at = Duration::ZERO;
        Ok(())
    }

    fn take_until(&mut self, moment: Duration) {
        let until = self.first.after(moment);
        while let Some(fact) = self.ahead.take().or_else(|| self.reader.next_fact()) {
            // Facts of one recording stay in order; only the last of all may be late.
            if fact.time() > until {
                self.ahead = Some(fact);
                return;
            }
            self.aggregator.fact(fact);
        }
    }
}

impl ScreenSource for RecordedRun {
    fn gather(
        &mut self,
        _screen: &mut Screen,
        keys: Option<BorrowedFd<'_>>,
        longest: Duration,
    ) -> Result<Option<Status>> {
        self.asked.bell().until_readable([keys], longest);
        Ok(self.asked.take_signal().map(|_| Status::Interrupted))
    }

    fn asked(&self) -> &EndRequest {
        &self.asked
    }

    fn aggregator(&mut self) -> &mut Aggregator {
        &mut self.aggregator
    }

    fn moment(&self) -> Moment {
        Moment {
            place: self.place.clone(),
            note: String::new(),
            observed: self.at,
            position: Some(Position {
                at: self.at,
                of: self.length,
            }),
            since_baseline: self
                .baseline
                .filter(|baseline| *baseline <= self.at)
                .map(|baseline| self.at - baseline),
        }
    }

    fn warnings(&mut self) -> Vec<Warning> {
        self.input.warnings.clone()
    }

    fn travel(&mut self, step: TimeStep, screen: &mut Screen) -> Result<()> {
        let second = Duration::from_secs(1);
        let to = match step {
            TimeStep::Begin => Duration::ZERO,
            TimeStep::End => self.length,
            TimeStep::Seconds(seconds) if seconds < 0 => {
                self.at.saturating_sub(second * seconds.unsigned_abs())
            }
            TimeStep::Seconds(seconds) => (self.at + second * seconds.unsigned_abs()).min(self.length),
        };
        self.go(to, screen)
    }

    fn baseline(&mut self, set: bool) {
        self.baseline = set.then_some(self.at);
        match set {
            true => self.aggregator.set_baseline(),
            false => self.aggregator.remove_baseline(),
        }
    }
}
