//! Where jobs are run: at the existing distance, or behind an emulated link.

use crate::verify::Unseen;
use anyhow::{Context, Result};
use client::Watch;
use link::LinkDescription;
use model::{LinkOutcome, Method, TrialOutcome};
use pipeline::interruption::Interrupted;
use relay::{Relay, RelayOptions};
use std::net::ToSocketAddrs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use sys::{Clock, Target};
use tune::{Trial, TuneError, Workbench};

/// One distance.
#[derive(Debug)]
pub struct Distance {
    relay: Option<Relay>,
}

/// When a run ends before its job does.
#[derive(Debug, Clone, Copy)]
pub struct Limits<'a> {
    /// The user wants the end.
    pub stop: &'a AtomicBool,
    /// The flag that the workbench checks.
    pub halt: &'a AtomicBool,
    /// How long a run may take.
    pub patience: Duration,
}

/// Why there is no outcome of a run.
#[derive(Debug)]
pub enum Unfinished {
    /// The user wanted the end.
    Stopped(Interrupted),
    /// It took too long.
    TooLong,
    /// It failed.
    Failed(TuneError),
}

impl Distance {
    /// The existing distance.
    pub const fn here() -> Self {
        Self { relay: None }
    }

    /// Behind a link to the server, of streams.
    ///
    /// # Errors
    /// When the server is not reached over TCP, or no relay can be started.
    pub fn behind(link: &LinkDescription, target: &Target) -> Result<Self> {
        Self::can_be_behind(target)?;
        // What is encrypted passes as it is: the client speaks TLS with the server, not with the relay.
        let options = RelayOptions {
            link: Some(*link),
            ..RelayOptions::new(Target::tcp(&target.host, target.port))
        };
        let relay = relay::start(options, Clock::anchored_now(), Arc::new(Unseen))?;
        Ok(Self { relay: Some(relay) })
    }

    /// Whether a link can be put in front of the target.
    ///
    /// # Errors
    /// When the server is not reached over TCP.
    pub fn can_be_behind(target: &Target) -> Result<()> {
        anyhow::ensure!(
            target.socket.is_none(),
            "a Unix socket has no distance: name the server by its host, or say --predict"
        );
        Ok(())
    }

    /// Runs a job here. Over a link, packets and wire bytes are those of the link, the connection's opening
    /// included.
    ///
    /// # Errors
    /// When it did not complete.
    pub fn run(
        &self,
        workbench: &mut dyn Workbench,
        (method, value): (&Method, Option<u64>),
        watch: Option<Watch<'_>>,
        limits: &Limits<'_>,
    ) -> Result<TrialOutcome, Unfinished> {
        let before = self.outcome();
        let trial = Trial {
            method,
            value,
            address: self.relay.as_ref().map(Relay::local_addr),
            watch,
        };
        let mut outcome = limits.within(|| workbench.run(&trial))?;
        if let Some((before, after)) = before.zip(self.outcome()) {
            let [packets, wire_bytes] = passed(&before, &after);
            outcome.packets = Some(packets);
            outcome.wire_bytes = Some(wire_bytes);
        }
        Ok(outcome)
    }

    /// The link's figures so far; `None` without a link.
    pub fn outcome(&self) -> Option<LinkOutcome> {
        self.relay.as_ref()?.link_outcome()
    }

    /// No client connects any more.
    pub fn close(self) {
        if let Some(relay) = self.relay {
            relay.stop(Duration::ZERO);
        }
    }
}

/// Packets and wire bytes, each way.
fn passed(before: &LinkOutcome, after: &LinkOutcome) -> [[u64; 2]; 2] {
    let both = |figure: fn(&model::LinkDirectionOutcome) -> u64| {
        let [up, down] = [0, 1].map(|way| {
            let of = |outcome: &LinkOutcome| outcome.directions.get(way).map_or(0, figure);
            of(after).saturating_sub(of(before))
        });
        [up, down]
    };
    [both(|way| way.packets), both(|way| way.wire_bytes)]
}

impl Limits<'_> {
    /// Whether another run is to begin.
    ///
    /// # Errors
    /// When the user wants the end.
    pub fn go_on(&self) -> Result<(), Interrupted> {
        Interrupted::check(self.stop)
    }

    /// Does `work`, and has it stopped when the user ends the run or the time limit is reached.
    fn within<T>(&self, work: impl FnOnce() -> Result<T, TuneError>) -> Result<T, Unfinished> {
        let (began, done) = (Instant::now(), AtomicBool::new(false));
        let is_late = || began.elapsed() > self.patience;
        self.halt
            .store(self.stop.load(Ordering::Relaxed), Ordering::Relaxed);
        let result = std::thread::scope(|scope| {
            let watchdog = scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    if self.stop.load(Ordering::Relaxed) || is_late() {
                        self.halt.store(true, Ordering::Relaxed);
                    }
                    std::thread::park_timeout(POLL_INTERVAL);
                }
            });
            let finished = Finished(&done, watchdog.thread());
            let result = work();
            drop(finished);
            result
        });
        let halted = self.halt.swap(false, Ordering::Relaxed);
        result.map_err(|error| match error.is_stop() && halted {
            true => self
                .go_on()
                .map_or_else(Unfinished::Stopped, |()| Unfinished::TooLong),
            false => Unfinished::Failed(error),
        })
    }
}

/// Tells the watchdog that the work is over, also when it panics.
struct Finished<'a>(&'a AtomicBool, &'a std::thread::Thread);

impl Drop for Finished<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
        self.1.unpark();
    }
}

/// Whether a server is on this machine: every address that its host has.
///
/// # Errors
/// When its host has none.
pub fn is_here(target: &Target) -> Result<bool> {
    if target.socket.is_some() {
        return Ok(true);
    }
    let host = target.host.trim_start_matches('[').trim_end_matches(']');
    let addresses = (host, target.port)
        .to_socket_addrs()
        .with_context(|| format!("could not find the address of {host}"))?;
    Ok(addresses
        .into_iter()
        .all(|address| crate::split::is_here(address.ip())))
}

/// How often it is checked whether a run has to end.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
