//! What a load's connections showed: a recording, and statements.

use super::Args;
use anyhow::Result;
use model::{Conditions, StatementOutcome, Warning};
use pipeline::aggregator::{Aggregator, AggregatorConfig};
use pipeline::fact_channel::FactChannel;
use std::sync::Arc;

/// The same analysis as behind a relay.
pub struct ObservedLoad {
    channel: Arc<FactChannel>,
    aggregator: Aggregator,
}

impl ObservedLoad {
    /// Begins where a recording or statements are wanted: otherwise the bytes are not decoded, because that
    /// costs time.
    ///
    /// # Errors
    /// When the recording cannot be created.
    pub fn begin(args: &Args, conditions: &Conditions) -> Result<Option<Self>> {
        if args.output.is_none() && !args.per_statement {
            return Ok(None);
        }
        let mut aggregator = Aggregator::new(&AggregatorConfig::default(), conditions.clone())?;
        if let Some(path) = &args.output {
            aggregator.record(path)?;
        }
        Ok(Some(Self {
            channel: Arc::new(FactChannel::new(false)),
            aggregator,
        }))
    }

    /// The observer of the connections.
    pub fn channel(&self) -> Arc<FactChannel> {
        self.channel.clone()
    }

    /// Takes what was seen so far.
    pub fn collect(&mut self) {
        for fact in self.channel.facts() {
            self.aggregator.fact(fact);
        }
        self.aggregator.lost(self.channel.take_losses());
    }

    /// Ends the recording; returns the statements and what a reader of the figures must know.
    ///
    /// # Errors
    /// When the recording could not be written completely.
    pub fn finish(mut self) -> Result<(Vec<StatementOutcome>, Vec<Warning>)> {
        self.collect();
        let (outcome, _) = self.aggregator.finish(Vec::new(), None)?;
        Ok((outcome.statements, outcome.warnings))
    }
}
