//! Exports facts and operations to monitoring systems.

use super::Aggregator;
use analysis::fact::Fact;
use model::Operation;
use telemetry::exporters::SpanSink;
use telemetry::metrics::SharedRegistry;

#[derive(Debug, Default)]
pub struct Exports {
    pub registry: Option<SharedRegistry>,
    pub spans: Option<SpanSink>,
}

impl Exports {
    pub(super) fn fact(&mut self, fact: &Fact) {
        if let Some(registry) = &self.registry {
            registry.lock().fact(fact);
        }
        if let Some(spans) = &mut self.spans {
            spans.fact(fact);
        }
    }

    pub(super) fn operation(&mut self, operation: &Operation, is_flagged: bool) {
        if let Some(registry) = &self.registry {
            registry.lock().operation(operation);
        }
        if let Some(spans) = &mut self.spans {
            spans.operation(operation, is_flagged);
        }
    }
}

impl Aggregator {
    /// Replaces the targets of all later aggregation.
    pub fn export(&mut self, exports: Exports) {
        self.sinks.exports = exports;
    }
}
