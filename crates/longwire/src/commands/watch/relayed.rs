//! `watch` with a relay in front of each server.

use super::Args;
use super::run::{Ended, Observed, POLL_INTERVAL, Run};
use crate::commands::child::CommandOutput;
use crate::commands::relaying;
use crate::commands::relays::{self, EndedRelay, Relays};
use crate::commands::targets::PlannedRelay;
use crate::commands::top;
use crate::commands::unused::UnusedRelays;
use anyhow::Result;
use model::Conditions;
use pipeline::aggregator::Aggregator;
use pipeline::compression::CompressionMeter;
use pipeline::fact_channel::{FactChannel, Posted};
use pipeline::output::{self, EndRequest, Status};
use relay::command::TlsPlan;
use std::sync::Arc;
use std::time::Duration;
use sys::arguments::CommandLine;

pub(super) fn run(args: &Args, typed: &CommandLine) -> Result<Status> {
    let planned = args.relays.plan()?;
    let with_tls = with_tls(&planned, !args.command.is_empty())?;
    let asked = EndRequest::on_signals()?;
    let mut channel = FactChannel::new(args.reporting.keep_literals);
    if args.reporting.compressed_sizes {
        channel = channel.with_payload();
    }
    let channel = Arc::new(channel);
    let mut relayed = Relayed {
        relays: Relays::start(with_tls, &channel)?,
        meter: args.reporting.compressing().map(CompressionMeter::new),
        channel,
        fault: None,
    };
    let mut run = Run::new(args, conditions(typed, &planned))?;
    run.write_tables(args)?;
    let output_health = run.output_health.clone();
    let end = match top::terminal::is_there() && !args.reporting.json {
        true => format!("{}; longwire top shows a screen meanwhile", relays::ENDS),
        false => relays::ENDS.to_owned(),
    };
    relayed
        .relays
        .announce(&output_health, !args.command.is_empty(), &end);
    let status = if args.command.is_empty() {
        run.until(&mut relayed, |relayed, wanted| match asked.take_signal() {
            Some(_) => Some(Status::Interrupted),
            None => (!wanted && relayed.open_connections() == 0).then_some(Status::Done),
        })
    } else {
        let output = CommandOutput::beside_records(args.reporting.json);
        let mut child = relayed.relays.child(&args.command, output)?;
        run.until(&mut relayed, |_, _| child.ended(asked.take_signal()))
    };
    let (relays, rest) = relayed.split();
    let ended = relays.stop(status);
    let unused = UnusedRelays::among(&ended, &args.command);
    let ended = rest.finish(&mut run.aggregator, &ended, &unused);
    run.finish(args, ended)?;
    Ok(output_health.status(unused.status(status)))
}

/// TLS side for each server; every server must be reachable.
pub(in crate::commands) fn with_tls(
    planned: &[PlannedRelay],
    has_command: bool,
) -> Result<Vec<(PlannedRelay, TlsPlan)>> {
    relaying::check_servers(planned, REACH)?;
    let each = planned.iter().map(|planned| {
        let tls = match has_command {
            false => relaying::tls_as_asked(&planned.target)?,
            true => relaying::tls_to_be_seen(&planned.target, planned.link.is_some(), REACH)?,
        };
        Ok((planned.clone(), tls))
    });
    each.collect()
}

/// Time limit for the server to accept a connection before the run is refused.
const REACH: Duration = Duration::from_secs(10);

fn conditions(typed: &CommandLine, planned: &[PlannedRelay]) -> Conditions {
    let conditions = output::conditions(
        typed,
        "kernel receive timestamps where the socket gives them, else the monotonic clock",
        relaying::observation_point(planned),
    );
    relaying::with_links(conditions, planned)
}

struct Relayed {
    relays: Relays,
    channel: Arc<FactChannel>,
    meter: Option<CompressionMeter>,
    /// Reason for giving up on compression levels.
    fault: Option<anyhow::Error>,
}

struct Rest {
    channel: Arc<FactChannel>,
    meter: Option<CompressionMeter>,
    fault: Option<anyhow::Error>,
}

impl Relayed {
    fn split(self) -> (Relays, Rest) {
        let rest = Rest {
            channel: self.channel,
            meter: self.meter,
            fault: self.fault,
        };
        (self.relays, rest)
    }
}

impl Observed for Relayed {
    fn collect(&mut self, aggregator: &mut Aggregator) {
        let posted = self.channel.wait(POLL_INTERVAL);
        process_facts(posted, &mut self.meter, &mut self.fault, aggregator);
        aggregator.lost(self.channel.take_losses());
    }

    fn open_connections(&self) -> u64 {
        self.relays.open_connections()
    }
}

impl Rest {
    fn finish(mut self, aggregator: &mut Aggregator, ended: &[EndedRelay], unused: &UnusedRelays) -> Ended {
        process_facts(
            self.channel.take_all(),
            &mut self.meter,
            &mut self.fault,
            aggregator,
        );
        aggregator.lost(self.channel.take_losses());
        let mut warnings = relays::warnings(ended);
        warnings.extend(unused.warnings.iter().cloned());
        if let Some(meter) = self.meter.take() {
            match meter.finish(&mut |fact| aggregator.fact(fact)) {
                Ok(compressed) => warnings.extend(compressed.warnings()),
                Err(fault) => self.fault = Some(fault),
            }
        }
        Ended {
            warnings,
            packets: None,
            links: relays::links(ended),
            hint: unused.hint.clone(),
            fault: self.fault,
        }
    }
}

fn process_facts(
    posted: Vec<Posted>,
    meter: &mut Option<CompressionMeter>,
    fault: &mut Option<anyhow::Error>,
    aggregator: &mut Aggregator,
) {
    let Some(levels) = meter else {
        return posted.into_iter().for_each(|posted| match posted {
            Posted::Fact(fact) => aggregator.fact(fact),
            Posted::Payload(_) => {}
        });
    };
    if let Err(error) = levels.process_facts(posted, &mut |fact| aggregator.fact(fact)) {
        *meter = None;
        *fault = Some(error);
    }
}
