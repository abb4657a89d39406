use super::{Ended, Observed, POLL_INTERVAL};
use crate::relays::{self, Relays};
use crate::targets::PlannedRelay;
use crate::unused::UnusedRelays;
use anyhow::Result;
use pipeline::aggregator::Aggregator;
use pipeline::compression::{CompressionMeter, CompressionPlan};
use pipeline::fact_channel::{FactChannel, Posted};
use pipeline::output::Status;
use relay::command::TlsPlan;
use std::ffi::OsString;
use std::sync::Arc;

/// Relays with the channel of their facts.
pub struct Relayed {
    pub relays: Relays,
    channel: Arc<FactChannel>,
    meter: Option<CompressionMeter>,
    /// Reason for giving up on compression levels.
    fault: Option<anyhow::Error>,
}

impl Relayed {
    /// # Errors
    /// If a relay cannot listen.
    pub fn start(
        with_tls: Vec<(PlannedRelay, TlsPlan)>,
        keep_literals: bool,
        compressing: Option<CompressionPlan>,
    ) -> Result<Self> {
        let mut channel = FactChannel::new(keep_literals);
        if compressing.is_some() {
            channel = channel.with_payload();
        }
        let channel = Arc::new(channel);
        Ok(Self {
            relays: Relays::start(with_tls, &channel)?,
            meter: compressing.map(CompressionMeter::new),
            channel,
            fault: None,
        })
    }

    /// Stops the relays, and finds those that `command` did not use.
    pub fn finish(
        mut self,
        status: Status,
        command: &[OsString],
        aggregator: &mut Aggregator,
    ) -> (Ended, UnusedRelays) {
        let ended = self.relays.stop(status);
        let unused = UnusedRelays::among(&ended, command);
        let posted = self.channel.take_all();
        process_facts(posted, &mut self.meter, &mut self.fault, aggregator);
        aggregator.lost(self.channel.take_losses());
        let mut warnings = relays::warnings(&ended);
        warnings.extend(unused.warnings.iter().cloned());
        if let Some(meter) = self.meter.take() {
            match meter.finish(&mut |fact| aggregator.fact(fact)) {
                Ok(compressed) => warnings.extend(compressed.warnings()),
                Err(fault) => self.fault = Some(fault),
            }
        }
        let ended = Ended {
            warnings,
            packets: None,
            links: relays::links(&ended),
            hint: unused.hint.clone(),
            fault: self.fault,
        };
        (ended, unused)
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
