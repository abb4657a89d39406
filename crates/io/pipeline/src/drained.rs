//! Connections that have no more payload, until they are closed.

use analysis::fact::FactSink;
use analysis::pairing::DrainedConnection;
use model::ConnectionEvent;

#[derive(Debug)]
pub(crate) struct Drained {
    connection: DrainedConnection,
    is_reversed: bool,
}

impl Drained {
    pub(crate) fn new(connection: DrainedConnection, is_reversed: bool) -> Self {
        Self {
            connection,
            is_reversed,
        }
    }

    pub(crate) fn event(&mut self, event: ConnectionEvent<'_>) {
        if let ConnectionEvent::RoundTrip { side, rtt, .. } = self.turned(event) {
            self.connection.round_trip(side, rtt);
        }
    }

    pub(crate) fn close(self, event: ConnectionEvent<'_>, out: &mut FactSink<'_>) {
        if let ConnectionEvent::Closed { at, totals, .. } = self.turned(event) {
            self.connection.closed(at, totals, out);
        }
    }

    fn turned<'a>(&self, event: ConnectionEvent<'a>) -> ConnectionEvent<'a> {
        match self.is_reversed {
            true => event.reversed(),
            false => event,
        }
    }
}
