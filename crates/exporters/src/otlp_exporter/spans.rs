//! Spans on their way from the observation to the thread that exports them.

use crate::counts::ExportCounts;
use analysis::fact::Fact;
use model::{ConnectionMap, Endpoint, Operation};
use otlp::{SpanIds, SpansOfOperation, TraceOptions, spans_of};
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::Sender;

/// Takes operations from the observation, which never waits: what there is no room for is dropped and
/// counted.
#[derive(Debug)]
pub struct SpanSink {
    pub(super) options: TraceOptions,
    pub(super) sender: Sender<SpansOfOperation>,
    /// Spans on their way.
    pub(super) waiting: Arc<AtomicUsize>,
    pub(super) most_waiting: usize,
    pub(super) counts: ExportCounts,
    pub(super) servers: ConnectionMap<Endpoint>,
}

impl SpanSink {
    /// Takes the next fact.
    pub fn fact(&mut self, fact: &Fact) {
        match fact {
            Fact::Opened {
                connection, server, ..
            } => {
                self.servers.insert(*connection, *server);
            }
            Fact::Closed(outcome) => {
                self.servers.remove(&outcome.id);
            }
            Fact::Started { .. } | Fact::Begun { .. } | Fact::Exchange { .. } => {}
        }
    }

    /// Takes an operation; `is_flagged` says whether waste was found in it.
    pub fn operation(&mut self, operation: &Operation, is_flagged: bool) {
        let server_of = |connection| self.servers.get(&connection).copied();
        let Some(spans) = spans_of(operation, is_flagged, &self.options, &mut RandomIds, &server_of) else {
            return;
        };
        let count = spans.count();
        if self.waiting.load(Ordering::Relaxed) + count > self.most_waiting {
            self.counts.spans_dropped(count);
            return;
        }
        self.waiting.fetch_add(count, Ordering::Relaxed);
        if self.sender.send(spans).is_err() {
            self.counts.spans_dropped(count);
        }
    }
}

struct RandomIds;

impl SpanIds for RandomIds {
    fn next(&mut self) -> u64 {
        random().max(1)
    }
}

/// A random number: the standard library keys each of these hashers anew.
pub(super) fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}
