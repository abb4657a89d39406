//! What takes facts and operations for monitoring systems.

use super::Aggregator;
use analysis::fact::Fact;
use exporters::SpanSink;
use metrics::SharedRegistry;
use model::Operation;

/// Where facts and operations go besides a run's own outcome.
#[derive(Debug, Default)]
pub struct Exports {
    /// Series that others read.
    pub registry: Option<SharedRegistry>,
    /// Traces.
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
    /// From now on, what is summed up goes there too, instead of where it went before.
    pub fn export(&mut self, exports: Exports) {
        self.sinks.exports = exports;
    }
}
