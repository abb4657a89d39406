//! Facts from the threads that forward bytes to the thread that sums them up.
//!
//! Each connection has a box of its own. Its thread puts facts in, the summing thread empties all boxes several times a
//! second: nobody waits for anybody, and a lock is only ever met by the two.

use super::decode::Connections;
use analysis::fact::Fact;
use live::ObserverFactory;
use model::{ConnectionEvent, ConnectionId, Observer, Timestamp};
use std::sync::{Arc, Mutex, PoisonError};

/// All boxes.
#[derive(Debug, Default)]
pub struct Outboxes {
    boxes: Mutex<Vec<Arc<Outbox>>>,
    keep_literals: bool,
}

#[derive(Debug, Default)]
struct Outbox {
    facts: Mutex<Vec<Fact>>,
}

impl Outboxes {
    /// None yet.
    pub fn new(keep_literals: bool) -> Self {
        Self {
            boxes: Mutex::default(),
            keep_literals,
        }
    }

    /// Takes out all facts, in the order of their end.
    pub fn drain(&self) -> Vec<Fact> {
        let mut boxes = self.boxes.lock().unwrap_or_else(PoisonError::into_inner);
        let mut facts = Vec::new();
        boxes.retain(|outbox| {
            // Asked before the box is emptied: a thread that is gone has put its last fact in.
            let in_use = Arc::strong_count(outbox) > 1;
            facts.append(&mut outbox.facts.lock().unwrap_or_else(PoisonError::into_inner));
            in_use
        });
        facts.sort_by_key(time_of);
        facts
    }
}

impl ObserverFactory for Outboxes {
    fn observe(&self, _id: ConnectionId) -> Box<dyn Observer + Send> {
        let outbox = Arc::new(Outbox::default());
        self.boxes
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(outbox.clone());
        Box::new(Posting {
            connections: Connections::new(self.keep_literals),
            outbox,
        })
    }
}

/// Decodes one connection on the thread that forwards it, and posts the facts.
struct Posting {
    connections: Connections,
    outbox: Arc<Outbox>,
}

impl Observer for Posting {
    fn event(&mut self, connection: ConnectionId, event: ConnectionEvent<'_>) {
        let outbox = &self.outbox;
        self.connections.event(connection, event, &mut |fact| {
            outbox
                .facts
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(fact);
        });
    }
}

fn time_of(fact: &Fact) -> Timestamp {
    match fact {
        Fact::Opened { at, .. } | Fact::Started { at, .. } => *at,
        Fact::Exchange { exchange, .. } => exchange.ended(),
        Fact::Closed(outcome) => outcome.at.after(outcome.duration),
    }
}
