//! The send window, as the sender knew it at a given time.

use model::Timestamp;
use std::collections::VecDeque;
use std::time::Duration;

/// Right edges of the receiver's window. The observation point sees an edge before the sender does:
/// a packet is sent on the edge of one round trip (to the sender and back) earlier.
#[derive(Debug, Default)]
pub(crate) struct Edges {
    latest: Option<u64>,
    passed: VecDeque<(Timestamp, u64)>,
}

/// When more are in flight, the oldest count as having arrived.
const MAXIMUM_EDGES: usize = 64;

impl Edges {
    /// `None` while the window's scale is unknown.
    pub fn latest(&self) -> Option<u64> {
        self.latest
    }

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

    /// The edge known to the sender of a packet that passes at `at`. `near` is the round-trip time
    /// to it.
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
