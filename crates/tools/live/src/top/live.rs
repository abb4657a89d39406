//! A live run, observed by relays or at a network interface.

use super::source::{Moment, ScreenSource};
use crate::child::Child;
use crate::traffic::LiveTraffic;
use anyhow::Result;
use model::{ConnectionId, HostProcess, PerSide, Warning, WarningKind};
use pipeline::aggregator::Aggregator;
use pipeline::output::{EndRequest, Status};
use pipeline::output_health::OutputHealth;
use screen::{RingCounts, Screen, TimeStep};
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};
use sys::receiver::WaitLimit;

pub struct LiveRun<T> {
    aggregator: Aggregator,
    traffic: T,
    /// The screen has reported that no more traffic can be seen.
    is_over: bool,
    child: Option<Child>,
    ended: Option<Status>,
    asked: EndRequest,
    output_health: OutputHealth,
    said: Vec<Warning>,
    place: String,
    note: String,
    began: Instant,
    baseline: Option<Instant>,
    flushed: Instant,
}

pub struct LiveParts<T> {
    pub aggregator: Aggregator,
    pub traffic: T,
    pub child: Option<Child>,
    pub asked: EndRequest,
    pub output_health: OutputHealth,
    pub place: String,
    /// Destination of the command's output, or empty without a command.
    pub note: String,
}

impl<T: LiveTraffic> LiveRun<T> {
    pub fn begin(parts: LiveParts<T>) -> Self {
        let now = Instant::now();
        Self {
            aggregator: parts.aggregator,
            traffic: parts.traffic,
            is_over: false,
            child: parts.child,
            ended: None,
            asked: parts.asked,
            output_health: parts.output_health,
            said: Vec::new(),
            place: parts.place,
            note: parts.note,
            began: now,
            baseline: None,
            flushed: now,
        }
    }

    /// The traffic source is still open afterwards. If the command ended by itself, its status
    /// replaces `status`.
    pub fn end(mut self, status: Status) -> (Aggregator, T, Status) {
        let status = match self.ended {
            Some(ended) if status == Status::Done => ended,
            _ => status,
        };
        drop(self.child.take());
        (self.aggregator, self.traffic, status)
    }

    fn say_ends(&mut self, screen: &mut Screen) {
        if self.ended.is_none()
            && let Some(status) = self.child.as_mut().and_then(|child| child.ended(None))
        {
            self.ended = Some(status);
            screen.show_message(match status {
                Status::Child(code) => format!("the command has ended with status {code}; q quits"),
                _ => "the command has ended; q quits".to_owned(),
            });
        }
        if !self.is_over
            && let Some(why) = self.traffic.over()
        {
            self.is_over = true;
            screen.show_message(why.to_owned());
        }
    }

    fn once_a_second(&mut self) {
        self.traffic.report_news(&self.output_health);
        self.aggregator.close_resting();
        self.aggregator.checkpoint();
        if self.began.elapsed() >= UNDECIDED {
            self.aggregator.decide_poolers();
        }
    }
}

impl<T: LiveTraffic> ScreenSource for LiveRun<T> {
    fn gather(
        &mut self,
        screen: &mut Screen,
        keys: Option<BorrowedFd<'_>>,
        longest: Duration,
    ) -> Result<Option<Status>> {
        if let Some(signal) = self.asked.take_signal() {
            if let Some(child) = &mut self.child {
                child.ended(Some(signal));
            }
            return Ok(Some(Status::Interrupted));
        }
        let limit = WaitLimit {
            other: keys,
            ..WaitLimit::new(self.asked.bell(), longest)
        };
        self.traffic.collect(limit, &mut self.aggregator);
        if self.flushed.elapsed() >= EVERY_SECOND {
            self.flushed = Instant::now();
            self.once_a_second();
        }
        self.say_ends(screen);
        Ok(None)
    }

    fn asked(&self) -> &EndRequest {
        &self.asked
    }

    fn aggregator(&mut self) -> &mut Aggregator {
        &mut self.aggregator
    }

    fn moment(&self) -> Moment {
        let now = Instant::now();
        Moment {
            place: self.place.clone(),
            note: self.note.clone(),
            observed: now.saturating_duration_since(self.began),
            position: None,
            since_baseline: self.baseline.map(|since| now.saturating_duration_since(since)),
        }
    }

    fn warnings(&mut self) -> Vec<Warning> {
        let said = self.output_health.said().into_iter();
        self.said.extend(said.map(|text| {
            let text = text.strip_prefix("warning: ").unwrap_or(&text);
            Warning::new(WarningKind::OutputLost, text)
        }));
        let mut warnings = self.said.clone();
        warnings.extend(self.traffic.warnings());
        warnings
    }

    fn ring(&self) -> Option<RingCounts> {
        self.traffic.ring()
    }

    fn open_connections(&self) -> Option<u64> {
        Some(self.traffic.open_connections())
    }

    fn processes(&self, connection: ConnectionId) -> PerSide<Option<Arc<HostProcess>>> {
        self.traffic.processes(connection)
    }

    fn travel(&mut self, _step: TimeStep, _screen: &mut Screen) -> Result<()> {
        Ok(())
    }

    fn baseline(&mut self, set: bool) {
        self.baseline = set.then(Instant::now);
        match set {
            true => self.aggregator.set_baseline(),
            false => self.aggregator.remove_baseline(),
        }
    }
}

/// Interval of flushing the recording and checking for ended parts.
const EVERY_SECOND: Duration = Duration::from_secs(1);

/// Time limit for recognising poolers.
const UNDECIDED: Duration = Duration::from_secs(10);
