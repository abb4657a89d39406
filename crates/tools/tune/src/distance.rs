//! Runs jobs at the existing distance or over an emulated link.

use crate::{Trial, Workbench};
use anyhow::{Context, Result};
use client::Watch;
use client::session::SessionError;
use link::LinkDescription;
use model::{LinkDirectionOutcome, LinkOutcome, Method, PerDirection, TrialOutcome};
use pipeline::interruption::Interrupted;
use relay::Relay;
use std::net::ToSocketAddrs;
use std::time::Duration;
use sys::StopToken;
use sys::Target;
use sys::listening::is_own_address;

#[derive(Debug)]
pub struct Distance {
    relay: Option<Relay>,
}

/// Conditions that end a run early.
#[derive(Debug, Clone, Copy)]
pub struct Limits<'a> {
    pub stop: &'a StopToken,
    /// Checked by the workbench; a child of `stop`.
    pub halt: &'a StopToken,
    pub timeout: Duration,
}

#[derive(Debug)]
pub enum Unfinished {
    Stopped(Interrupted),
    TooLong,
    Failed(crate::Error),
}

impl Distance {
    pub const fn here() -> Self {
        Self { relay: None }
    }

    /// Behind a stream-level link to the server.
    ///
    /// # Errors
    /// If the server is not reached over TCP, or no relay can be started.
    pub fn behind(link: &LinkDescription, target: &Target) -> Result<Self> {
        Self::can_be_behind(target)?;
        // Encrypted traffic passes unchanged: the client's TLS session is with the server.
        let relay = relay::emulate(Target::tcp(&target.host, target.port), *link)?;
        Ok(Self { relay: Some(relay) })
    }

    /// # Errors
    /// If the server is not reached over TCP, so that no link can be emulated.
    pub fn can_be_behind(target: &Target) -> Result<()> {
        anyhow::ensure!(
            target.socket.is_none(),
            "a Unix socket has no distance: name the server by its host, or say --predict"
        );
        Ok(())
    }

    /// Over a link, packets and wire bytes are those of the link, including connection setup.
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
            outcome.packets = Some(grown(&before, &after, |direction| direction.packets));
            outcome.wire_bytes = Some(grown(&before, &after, |direction| direction.wire_bytes));
        }
        Ok(outcome)
    }

    pub fn outcome(&self) -> Option<LinkOutcome> {
        self.relay.as_ref()?.link_outcome()
    }

    pub fn close(self) {
        if let Some(relay) = self.relay {
            relay.stop(Duration::ZERO);
        }
    }
}

fn grown(
    before: &LinkOutcome,
    after: &LinkOutcome,
    figure: fn(&LinkDirectionOutcome) -> u64,
) -> PerDirection<u64> {
    let both = after.directions.each_ref().zip(before.directions.each_ref());
    both.map(|(after, before)| figure(after).saturating_sub(figure(before)))
}

impl Limits<'_> {
    /// # Errors
    /// If the user has stopped the run.
    pub fn go_on(&self) -> Result<(), Interrupted> {
        Interrupted::check(self.stop)
    }

    /// Runs `work` and halts it when the user stops or the time limit is reached.
    fn within<T>(&self, work: impl FnOnce() -> Result<T, crate::Error>) -> Result<T, Unfinished> {
        let done =
            StopToken::new().map_err(|error| Unfinished::Failed(SessionError::Connect(error).into()))?;
        let result = std::thread::scope(|scope| {
            scope.spawn(|| {
                if !done.wait_timeout(self.timeout) {
                    self.halt.stop();
                }
            });
            let finished = done.stop_at_drop();
            let result = work();
            drop(finished);
            result
        });
        let halted = self.halt.is_stopped();
        self.halt.reset();
        result.map_err(|error| match error.is_stop() && halted {
            true => self
                .go_on()
                .map_or_else(Unfinished::Stopped, |()| Unfinished::TooLong),
            false => Unfinished::Failed(error),
        })
    }
}

/// True if the server is on this machine by every address of its host.
pub fn is_here(target: &Target) -> Result<bool> {
    if target.socket.is_some() {
        return Ok(true);
    }
    let host = target.host.trim_start_matches('[').trim_end_matches(']');
    let addresses = (host, target.port)
        .to_socket_addrs()
        .with_context(|| format!("could not find the address of {host}"))?;
    Ok(addresses.into_iter().all(|address| is_own_address(address.ip())))
}
