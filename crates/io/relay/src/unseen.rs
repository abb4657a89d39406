use model::{ConnectionEvent, ConnectionId, Observer, ObserverFactory};

/// Observes nothing, for a relay that only emulates a link.
#[derive(Debug)]
pub struct Unseen;

impl ObserverFactory for Unseen {
    fn observe(&self, _: ConnectionId) -> Box<dyn Observer + Send> {
        Box::new(Self)
    }
}

impl Observer for Unseen {
    fn event(&mut self, _: ConnectionId, _: ConnectionEvent<'_>) {}
}
