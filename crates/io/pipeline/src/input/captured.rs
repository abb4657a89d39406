//! Decodes captured connections into facts, each with a separate decoder.

use super::numbering::Numbering;
use crate::compression::{CompressionMeter, CompressionOutcome};
use crate::decode::ConnectionDecoders;
use analysis::fact::Fact;
use anyhow::Result;
use model::{ConnectionEvent, ConnectionId, Observer};

pub struct CaptureDecoding<'a> {
    connections: ConnectionDecoders,
    meter: Option<CompressionMeter>,
    facts: &'a mut dyn FnMut(Fact),
    numbering: Numbering,
    fault: Option<anyhow::Error>,
}

impl<'a> CaptureDecoding<'a> {
    /// With a `meter`, also determines the size of exchanges in a tunnel.
    pub fn new(
        connections: ConnectionDecoders,
        meter: Option<CompressionMeter>,
        facts: &'a mut dyn FnMut(Fact),
        numbering: Numbering,
    ) -> Self {
        Self {
            connections,
            meter,
            facts,
            numbering,
            fault: None,
        }
    }

    pub fn finish(self) -> Result<Option<CompressionOutcome>> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        self.meter.map(|meter| meter.finish(self.facts)).transpose()
    }
}

impl Observer for CaptureDecoding<'_> {
    fn event(&mut self, connection: ConnectionId, event: ConnectionEvent<'_>) {
        let connection = self.numbering.renumber(connection);
        let Some(meter) = &mut self.meter else {
            return self.connections.event(connection, event, self.facts);
        };
        if let ConnectionEvent::Segment(segment) = &event {
            meter.segment(connection, segment);
        }
        let (facts, fault) = (&mut self.facts, &mut self.fault);
        self.connections.event(connection, event, &mut |fact| {
            if let Err(error) = meter.fact(fact, facts) {
                fault.get_or_insert(error);
            }
        });
    }
}
