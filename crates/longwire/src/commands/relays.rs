//! The relays of one run of `watch` or `relay`, one in front of each target.

use super::child::{Child, CommandOutput};
use super::relaying;
use super::targets::PlannedRelay;
use crate::relayed_command::{RelayedTarget, TlsPlan, connect_to, last_bytes};
use anyhow::Result;
use model::{Endpoint, LinkOutcome, ObserverFactory, Warning};
use pipeline::output::Status;
use pipeline::output_health::OutputHealth;
use relay::{ConnectionNumbers, Counters, Relay, RelayOptions};
use std::ffi::OsString;
use std::sync::Arc;
use std::time::{Duration, Instant};
use sys::Clock;

/// Running relays, whose observations are of one run: one clock, and no number of a connection twice.
pub struct Relays {
    all: Vec<RunningRelay>,
}

/// A relay and what it is for.
struct RunningRelay {
    planned: PlannedRelay,
    tls: TlsPlan,
    relay: Relay,
}

/// A relay that has ended.
#[derive(Debug)]
pub struct EndedRelay {
    /// What it was for.
    pub planned: PlannedRelay,
    /// Where clients connected.
    pub address: Endpoint,
    /// What passed.
    pub counters: Counters,
    tls: TlsPlan,
}

impl Relays {
    /// Starts them. What passes is shown to `observers`.
    ///
    /// # Errors
    /// When an address to listen on cannot be used, or a target's host is not known.
    pub fn start(
        planned: Vec<(PlannedRelay, TlsPlan)>,
        observers: &Arc<impl ObserverFactory + 'static>,
    ) -> Result<Self> {
        let clock = Clock::anchored_now();
        let numbers = ConnectionNumbers::default();
        let started = planned.into_iter().map(|(planned, tls)| {
            let options = RelayOptions {
                listen: planned.listen,
                target: planned.target.clone(),
                link: planned.link,
                tls: tls.relay,
                plain_clients: planned.plain_clients.choice(),
                numbers: numbers.clone(),
            };
            Ok(RunningRelay {
                relay: relay::start(options, clock, observers.clone())?,
                planned,
                tls,
            })
        });
        Ok(Self {
            all: started.collect::<Result<_>>()?,
        })
    }

    /// Starts a command that connects to them.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn child(&self, command: &[OsString], output: CommandOutput) -> Result<Child> {
        let targets: Vec<RelayedTarget<'_>> = self
            .all
            .iter()
            .map(|running| RelayedTarget {
                name: &running.planned.name,
                target: &running.planned.target,
                relay: connect_to(&running.relay),
                tls: running.tls.client,
            })
            .collect();
        Child::start(command, &targets, output)
    }

    /// How many connections are open.
    pub fn open_connections(&self) -> u64 {
        self.all.iter().map(|running| running.relay.counters().open).sum()
    }

    /// Where clients connect, and what is behind it, in a few words.
    pub fn places(&self) -> String {
        let places = self.all.iter().map(|running| {
            let planned = &running.planned;
            let over = planned
                .link
                .map_or_else(String::new, |link| format!(" over {link}"));
            format!(
                "{} to {}{over}",
                connect_to(&running.relay),
                planned.target.server()
            )
        });
        format!("relaying {}", places.collect::<Vec<_>>().join(", "))
    }

    /// Reports where clients connect. A command that is started (`has_command`) learns about databases by
    /// itself, but nobody else does about the application. `end` is said last, where there is no command.
    pub fn announce(&self, output_health: &OutputHealth, has_command: bool, end: &str) {
        let shown: Vec<&RunningRelay> = self
            .all
            .iter()
            .filter(|running| !has_command || running.planned.is_application())
            .collect();
        for (place, running) in (1..).zip(&shown) {
            let planned = &running.planned;
            let address = connect_to(&running.relay);
            let over = planned
                .link
                .map_or_else(String::new, |link| format!(" over {link}"));
            let browse = match planned.is_application() {
                true => format!(": browse http://{address}"),
                false => String::new(),
            };
            let end = match place == shown.len() && !has_command {
                true => end,
                false => "",
            };
            output_health.print_line(&format!(
                "relaying {address} to {}{over}{browse}{end}",
                planned.target.server()
            ));
        }
    }

    /// Stops them when their last bytes have passed; at once after Ctrl-C.
    pub fn stop(self, status: Status) -> Vec<EndedRelay> {
        let links = self.all.iter().map(|running| running.planned.link.as_ref());
        let grace = match status {
            Status::Interrupted => Duration::ZERO,
            _ => links.map(last_bytes).max().unwrap_or_default(),
        };
        let until = Instant::now() + grace;
        let ended = self.all.into_iter().map(|running| EndedRelay {
            address: connect_to(&running.relay),
            counters: running
                .relay
                .stop(until.saturating_duration_since(Instant::now())),
            planned: running.planned,
            tls: running.tls,
        });
        ended.collect()
    }
}

impl EndedRelay {
    /// The target as the command knew it.
    pub fn as_given(&self) -> RelayedTarget<'_> {
        RelayedTarget {
            name: &self.planned.name,
            target: &self.planned.target,
            relay: self.address,
            tls: self.tls.client,
        }
    }
}

/// What the emulated links did.
pub fn links(ended: &[EndedRelay]) -> Vec<LinkOutcome> {
    ended
        .iter()
        .filter_map(|ended| ended.counters.link.clone())
        .collect()
}

/// What relays say when they are announced without a command.
pub const ENDS: &str = "; Ctrl-C ends and sums up";

/// The same as [`warnings`] while they run.
pub fn warnings_so_far(relays: &Relays) -> Vec<Warning> {
    let all = relays.all.iter();
    let each = all.map(|running| (running.planned.name.as_str(), running.relay.counters()));
    named(each.collect())
}

/// What a reader of the figures must know of all that passed; of several relays, each warning names its
/// target.
pub fn warnings(ended: &[EndedRelay]) -> Vec<Warning> {
    let each = ended
        .iter()
        .map(|one| (one.planned.name.as_str(), one.counters.clone()));
    named(each.collect())
}

/// Each with the name of its target, where there are several.
fn named(all: Vec<(&str, Counters)>) -> Vec<Warning> {
    let several = all.len() > 1;
    let each = all.into_iter().flat_map(|(name, counters)| {
        let warnings = relaying::warnings(&counters).into_iter();
        warnings.map(move |warning| match several {
            false => warning,
            true => warning.with_name(name),
        })
    });
    each.collect()
}
