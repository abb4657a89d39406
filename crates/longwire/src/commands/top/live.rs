//! A run that goes on, seen by relays.

use super::source::{Moment, ScreenSource};
use crate::commands::child::Child;
use crate::commands::relays::{self, EndedRelay, Relays};
use anyhow::Result;
use model::Warning;
use pipeline::aggregator::Aggregator;
use pipeline::delivery::Delivery;
use pipeline::fact_channel::{FactChannel, Posted};
use pipeline::output::{EndRequest, Status};
use screen::{Screen, TimeStep};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Relays, and the command that connects to them if there is one.
pub struct LiveRun {
    aggregator: Aggregator,
    channel: Arc<FactChannel>,
    relays: Relays,
    child: Option<Child>,
    /// How the command ended.
    ended: Option<Status>,
    asked: EndRequest,
    delivery: Delivery,
    said: Vec<Warning>,
    place: String,
    note: String,
    began: Instant,
    baseline: Option<Instant>,
    flushed: Instant,
}

/// What a live run is made of.
pub struct LiveParts {
    /// What sums it up.
    pub aggregator: Aggregator,
    /// Where the relays' facts arrive.
    pub channel: Arc<FactChannel>,
    /// The relays.
    pub relays: Relays,
    /// The command, if there is one.
    pub child: Option<Child>,
    /// Where signals are noted.
    pub asked: EndRequest,
    /// What is said of outputs.
    pub delivery: Delivery,
    /// Where the traffic is seen, in words.
    pub place: String,
    /// Where the command writes, in words; empty without one.
    pub note: String,
}

impl LiveRun {
    /// Begins now.
    pub fn begin(parts: LiveParts) -> Self {
        let now = Instant::now();
        Self {
            aggregator: parts.aggregator,
            channel: parts.channel,
            relays: parts.relays,
            child: parts.child,
            ended: None,
            asked: parts.asked,
            delivery: parts.delivery,
            said: Vec::new(),
            place: parts.place,
            note: parts.note,
            began: now,
            baseline: None,
            flushed: now,
        }
    }

    /// Ends the relays and the command, and takes what still came: what sums it up, and what the relays did. The command's own status, where
    /// it ended by itself, takes the place of `status`.
    pub fn end(mut self, status: Status) -> (Aggregator, Vec<EndedRelay>, Status) {
        let status = match self.ended {
            Some(ended) if status == Status::Done => ended,
            _ => status,
        };
        drop(self.child.take());
        let ended = self.relays.stop(status);
        for posted in self.channel.take_all() {
            if let Posted::Fact(fact) = posted {
                self.aggregator.fact(fact);
            }
        }
        (self.aggregator, ended, status)
    }
}

impl ScreenSource for LiveRun {
    fn gather(&mut self, screen: &mut Screen) -> Result<Option<Status>> {
        if let Some(signal) = self.asked.take() {
            if let Some(child) = &mut self.child {
                child.ended(Some(signal));
            }
            return Ok(Some(Status::Interrupted));
        }
        for posted in self.channel.wait(LOOK) {
            if let Posted::Fact(fact) = posted {
                self.aggregator.fact(fact);
            }
        }
        if self.ended.is_none()
            && let Some(status) = self.child.as_mut().and_then(|child| child.ended(None))
        {
            self.ended = Some(status);
            screen.say(match status {
                Status::Child(code) => format!("the command has ended with status {code}; q quits"),
                _ => "the command has ended; q quits".to_owned(),
            });
        }
        if self.flushed.elapsed() >= FLUSH {
            self.flushed = Instant::now();
            let written = self.aggregator.checkpoint();
            self.delivery.of("the recording is", written);
            if self.began.elapsed() >= UNDECIDED {
                self.aggregator.decide_poolers();
            }
        }
        Ok(None)
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
        let said = self.delivery.said().into_iter();
        self.said.extend(said.map(|text| Warning { text }));
        let mut warnings = self.said.clone();
        warnings.extend(relays::warnings_so_far(&self.relays));
        warnings
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

/// How long facts are waited for before keys are looked at.
const LOOK: Duration = Duration::from_millis(50);

/// How often the recording is flushed.
const FLUSH: Duration = Duration::from_secs(1);

/// How long it may be open which services are poolers.
const UNDECIDED: Duration = Duration::from_secs(10);
