//! The relays of one run of `watch` or `relay`, one per target.

use crate::child::{Child, CommandOutput};
use crate::relaying;
use crate::sparing::Sparing;
use crate::targets::PlannedRelay;
use anyhow::Result;
use model::{Endpoint, LinkOutcome, ObserverFactory, Warning};
use pipeline::output::Status;
use pipeline::output_health::OutputHealth;
use relay::command::{RelayedTarget, TlsPlan, connect_to, last_bytes};
use relay::{ConnectionNumbers, Counters, Relay};
use std::ffi::OsString;
use std::sync::Arc;
use std::time::{Duration, Instant};
use sys::Clock;

/// All relays share one clock and one numbering of connections.
pub struct Relays {
    all: Vec<RunningRelay>,
}

struct RunningRelay {
    planned: PlannedRelay,
    tls: TlsPlan,
    relay: Relay,
}

#[derive(Debug)]
pub struct EndedRelay {
    pub planned: PlannedRelay,
    pub address: Endpoint,
    pub counters: Counters,
    tls: TlsPlan,
}

impl Relays {
    pub fn start(
        planned: Vec<(PlannedRelay, TlsPlan)>,
        observers: &Arc<impl ObserverFactory + 'static>,
        sparing: Option<&Arc<Sparing>>,
    ) -> Result<Self> {
        let clock = Clock::anchored_now();
        let numbers = ConnectionNumbers::default();
        let started = planned.into_iter().map(|(planned, tls)| {
            let port = planned.target.port;
            let mut observers: Arc<dyn ObserverFactory> = observers.clone();
            if let Some(sparing) = sparing.filter(|_| planned.is_application()) {
                observers = sparing.of_application(port, observers);
            }
            let of_server = sparing.filter(|_| !planned.is_application());
            let options = relay::Options {
                listen: planned.listen,
                target: planned.target.clone(),
                link: planned.link,
                sparing: of_server.map(|sparing| sparing.of_server(port)),
                tls: tls.relay,
                plain_clients: planned.plain_clients,
                numbers: numbers.clone(),
            };
            Ok(RunningRelay {
                relay: relay::start(options, clock, observers)?,
                planned,
                tls,
            })
        });
        Ok(Self {
            all: started.collect::<Result<_>>()?,
        })
    }

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

    pub fn open_connections(&self) -> u64 {
        self.all.iter().map(|running| running.relay.counters().open).sum()
    }

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

    /// Prints the listen addresses. A command started by longwire (`has_command`) is configured for
    /// databases, but clients of an application have to be pointed at its relay. `end` is the last
    /// line if there is no command.
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

    /// Waits for the last bytes to pass; stops at once after Ctrl-C.
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
    /// The target as passed to the command.
    pub fn as_given(&self) -> RelayedTarget<'_> {
        RelayedTarget {
            name: &self.planned.name,
            target: &self.planned.target,
            relay: self.address,
            tls: self.tls.client,
        }
    }
}

pub fn links(ended: &[EndedRelay]) -> Vec<LinkOutcome> {
    ended
        .iter()
        .filter_map(|ended| ended.counters.link.clone())
        .collect()
}

/// Printed if there is no command.
pub const ENDS: &str = "; Ctrl-C ends and sums up";

/// Like [`warnings`], while they run.
pub fn warnings_so_far(relays: &Relays) -> Vec<Warning> {
    let all = relays.all.iter();
    let each = all.map(|running| (running.planned.name.as_str(), running.relay.counters()));
    named(each.collect())
}

/// Warnings about all relays; with several, each names its target.
pub fn warnings(ended: &[EndedRelay]) -> Vec<Warning> {
    let each = ended
        .iter()
        .map(|one| (one.planned.name.as_str(), one.counters.clone()));
    named(each.collect())
}

/// Prefixes the target name if there are several.
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
