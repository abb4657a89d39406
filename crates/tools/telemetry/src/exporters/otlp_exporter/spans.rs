//! Passes spans from the observation to the exporting thread.

use crate::exporters::counts::ExportCounts;
use crate::otlp::{SpanIds, SpansOfOperation, TraceOptions, spans_of};
use analysis::fact::Fact;
use model::{ConnectionMap, Endpoint, Operation};
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use sys::receiver::WakingSender;

/// Accepts operations without blocking; spans beyond the limit are dropped and counted.
#[derive(Debug)]
pub struct SpanSink {
    pub(super) options: TraceOptions,
    pub(super) sender: WakingSender<Sender<SpansOfOperation>>,
    pub(super) waiting: Arc<AtomicUsize>,
    pub(super) most_waiting: usize,
    pub(super) counts: ExportCounts,
    pub(super) servers: ConnectionMap<Endpoint>,
}

impl SpanSink {
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
            Fact::Started { .. } | Fact::Begun { .. } | Fact::Left { .. } | Fact::Exchange { .. } => {}
        }
    }

    /// `is_flagged` says whether waste was found.
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

/// The standard library keys each of these hashers anew.
pub(super) fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}
