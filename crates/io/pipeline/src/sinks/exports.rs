//! Exports facts and operations to monitoring systems.

use super::{InspectedOperation, RunSink};
use analysis::fact::Fact;
use std::io;
use telemetry::exporters::SpanSink;
use telemetry::metrics::SharedRegistry;

#[derive(Debug, Default)]
pub struct Exports {
    pub registry: Option<SharedRegistry>,
    pub spans: Option<SpanSink>,
}

impl RunSink for Exports {
    fn fact(&mut self, fact: &Fact) -> io::Result<()> {
        if let Some(registry) = &self.registry {
            registry.lock().fact(fact);
        }
        if let Some(spans) = &mut self.spans {
            spans.fact(fact);
        }
        Ok(())
    }

    fn operation(&mut self, inspected: &mut InspectedOperation) -> io::Result<()> {
        let InspectedOperation { operation, found } = inspected;
        if let Some(registry) = &self.registry {
            registry.lock().operation(operation);
        }
        if let Some(spans) = &mut self.spans {
            spans.operation(operation, found.is_waste);
        }
        Ok(())
    }
}
