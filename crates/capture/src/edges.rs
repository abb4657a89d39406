//! How far a sender may send, as it knew at the time.

use model::Timestamp;
use std::collections::VecDeque;
use std::time::Duration;

/// The right edges of the receiver's window as they passed. At the observation point an edge is known before
/// it has reached the sender: what a packet was sent on is the edge of one round trip (to the sender and
/// back) ago.
#[derive(Debug, Default)]
pub(crate) struct Edges {
    latest: Option<u64>,
    /// Edges that may not have reached the sender yet, oldest first.
    passed: VecDeque<(Timestamp, u64)>,
}

/// Most edges remembered; when more are in progress, the oldest count as having arrived.
const MAXIMUM_EDGES: usize = 64;

impl Edges {
    /// The latest edge that passed; `None` while the window's scale is not known.
    pub fn latest(&self) -> Option<u64> {
        self.latest
    }

    /// An edge passed on its way to the sender.
    #[inline]
    pub fn pass(&mut self, at: Timestamp, edge: u64) {
        if self.latest == Some(edge) {
            return;
        }
        self.latest = Some(edge);
        if self.passed.len() == MAXIMUM_EDGES {
            self.passed.pop_front();
        }
        self.passed.push_back((at, edge));
    }

    /// The edge that the sender of a packet passing at `at` knew, `near` being the round trip to it and back.
    #[inline]
    pub fn known(&mut self, at: Timestamp, near: Duration) -> Option<u64> {
        let reached = |passed: &(Timestamp, u64)| passed.0.after(near) <= at;
        while self.passed.len() > 1 && self.passed.get(1).is_some_and(reached) {
            self.passed.pop_front();
        }
        self.passed.front().map(|(_, edge)| *edge)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sender_knows_an_edge_once_it_has_arrived() {
        let at = |milliseconds: u64| Timestamp::from_nanos(milliseconds * 1_000_000);
        let near = Duration::from_millis(10);
        let mut edges = Edges::default();
        assert_eq!(edges.known(at(0), near), None);
        edges.pass(at(0), 100);
        edges.pass(at(20), 200);
        assert_eq!(edges.known(at(29), near), Some(100));
        assert_eq!(edges.latest(), Some(200));
        assert_eq!(edges.known(at(30), near), Some(200));
        for edge in 0..1000 {
            edges.pass(at(40), 300 + edge);
        }
        assert!(edges.passed.len() <= MAXIMUM_EDGES);
    }
}
