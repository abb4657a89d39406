//! Observes a load's own connections for a recording or statements.

use super::Args;
use anyhow::Result;
use model::{Conditions, StatementOutcome, Warning};
use pipeline::aggregator::{Aggregator, AggregatorConfig};
use pipeline::fact_channel::FactChannel;
use std::sync::Arc;

/// Same analysis as behind a relay.
pub struct ObservedLoad {
    channel: Arc<FactChannel>,
    aggregator: Aggregator,
}

impl ObservedLoad {
    /// Returns `None` without a recording or statements, because decoding costs time.
    pub fn begin(args: &Args, conditions: &Conditions) -> Result<Option<Self>> {
        if args.output.is_none() && !args.per_statement {
            return Ok(None);
        }
        let wanted = AggregatorConfig {
            recording: args.output.clone(),
            ..AggregatorConfig::default()
        };
        Ok(Some(Self {
            channel: Arc::new(FactChannel::new(false)?),
            aggregator: Aggregator::new(&wanted, conditions.clone())?,
        }))
    }

    pub fn channel(&self) -> Arc<FactChannel> {
        self.channel.clone()
    }

    pub fn collect(&mut self) {
        for fact in self.channel.facts() {
            self.aggregator.fact(fact);
        }
        self.aggregator.lost(self.channel.take_losses());
    }

    pub fn finish(mut self) -> Result<(Vec<StatementOutcome>, Vec<Warning>)> {
        self.collect();
        let outcome = self.aggregator.finish(Vec::new(), None)?;
        Ok((outcome.statements, outcome.warnings))
    }
}
