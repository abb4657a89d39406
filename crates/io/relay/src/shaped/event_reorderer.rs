//! Orders events of a shaped connection as the client's end of the link sees them.
//!
//! Bytes to the client are known there on arrival; bytes from the client only at the other end, one
//! way later. So events to the client are delayed by that time, and both directions are shown in
//! order of time.

use model::{
    Closing, ConnectionEvent, ConnectionId, ConnectionTotals, Direction, Observer, PerDirection, Segment,
    Side, Timestamp,
};
use std::collections::VecDeque;
use std::time::Duration;

pub(super) struct EventReorderer {
    id: ConnectionId,
    observer: Box<dyn Observer + Send>,
    held: VecDeque<BufferedEvent>,
    /// One way from client to server.
    lag: Duration,
    last: PerDirection<Timestamp>,
}

struct BufferedEvent {
    at: Timestamp,
    what: What,
}

enum What {
    Segment { payload: Vec<u8>, idle: Duration },
    Recovery { from: Timestamp },
}

impl EventReorderer {
    pub(super) fn new(id: ConnectionId, observer: Box<dyn Observer + Send>, lag: Duration) -> Self {
        Self {
            id,
            observer,
            held: VecDeque::new(),
            lag,
            last: PerDirection::default(),
        }
    }

    pub(super) fn emit_event(&mut self, event: ConnectionEvent<'_>) {
        self.observer.event(self.id, event);
    }

    pub(super) fn round_trip(&mut self, at: Timestamp, side: Side, rtt: Duration) {
        self.emit_event(ConnectionEvent::RoundTrip { at, side, rtt });
    }

    pub(super) fn passed_at(&self, arrived: Timestamp) -> Timestamp {
        arrived.before(self.lag)
    }

    /// Bytes in two pieces; `recovered_since` is when the first of them was due, if any was
    /// dropped.
    pub(super) fn passed_to_server(
        &mut self,
        at: Timestamp,
        pieces: [&[u8]; 2],
        idle: Duration,
        recovered_since: Option<Timestamp>,
    ) {
        let at = self.not_before(Direction::ClientToServer, at);
        self.show_until(at);
        let from = recovered_since.map(|from| self.passed_at(from));
        if let Some(from) = from.filter(|from| took_time(*from, at)) {
            self.emit_event(ConnectionEvent::Recovery {
                direction: Direction::ClientToServer,
                from,
                to: at,
            });
        }
        for (index, payload) in pieces.into_iter().filter(|piece| !piece.is_empty()).enumerate() {
            let idle = if index == 0 { idle } else { Duration::ZERO };
            self.segment(Direction::ClientToServer, at, payload, idle);
        }
    }

    /// Takes bytes as [`EventReorderer::passed_to_server`] does. Returns their time if they are the
    /// first to be held back: then call [`EventReorderer::show_until`] later.
    pub(super) fn passed_to_client(
        &mut self,
        at: Timestamp,
        pieces: [&[u8]; 2],
        idle: Duration,
        recovered_since: Option<Timestamp>,
    ) -> Option<Timestamp> {
        let at = self.not_before(Direction::ServerToClient, at);
        let was_empty = self.held.is_empty();
        if let Some(from) = recovered_since.filter(|from| took_time(*from, at)) {
            self.held.push_back(BufferedEvent {
                at,
                what: What::Recovery { from },
            });
        }
        let payload = pieces.concat();
        if !payload.is_empty() {
            self.held.push_back(BufferedEvent {
                at,
                what: What::Segment { payload, idle },
            });
        }
        let next = self.show_until(at.before(self.lag));
        next.filter(|_| was_empty)
    }

    /// Returns the time of the next event.
    pub(super) fn show_until(&mut self, at: Timestamp) -> Option<Timestamp> {
        while let Some(held) = self.held.pop_front_if(|held| held.at <= at) {
            match held.what {
                What::Segment { payload, idle } => {
                    self.segment(Direction::ServerToClient, held.at, &payload, idle);
                }
                What::Recovery { from } => self.emit_event(ConnectionEvent::Recovery {
                    direction: Direction::ServerToClient,
                    from,
                    to: held.at,
                }),
            }
        }
        self.held.front().map(|held| held.at)
    }

    pub(super) fn close(mut self, at: Timestamp, how: Closing, totals: ConnectionTotals) {
        self.show_until(Timestamp::from_nanos(u64::MAX));
        self.emit_event(ConnectionEvent::Closed { at, how, totals });
    }

    fn segment(&mut self, direction: Direction, at: Timestamp, payload: &[u8], idle: Duration) {
        self.emit_event(ConnectionEvent::Segment(Segment {
            direction,
            at,
            payload,
            unseen: 0,
            is_gap: false,
            sender_idle: Some(idle),
        }));
    }

    /// Times of a direction never go back.
    fn not_before(&mut self, direction: Direction, at: Timestamp) -> Timestamp {
        let last = &mut self.last[direction];
        *last = at.max(*last);
        *last
    }

    pub(super) fn begin(&mut self, at: Timestamp) {
        self.last = PerDirection::splat(at);
    }
}

/// A retransmission may arrive before the lost packet was due, if that waited in a longer queue:
/// then it took no time.
fn took_time(from: Timestamp, to: Timestamp) -> bool {
    from < to
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    type Seen = Arc<Mutex<Vec<(Direction, u64, Vec<u8>)>>>;

    struct Notes(Seen);

    impl Observer for Notes {
        fn event(&mut self, _: ConnectionId, event: ConnectionEvent<'_>) {
            if let ConnectionEvent::Segment(segment) = event {
                let note = (segment.direction, segment.at.as_nanos(), segment.payload.to_vec());
                self.0.lock().expect("one thread").push(note);
            }
        }
    }

    #[test]
    fn both_directions_are_shown_in_the_order_of_their_times() {
        let seen = Seen::default();
        let mut reorderer = EventReorderer::new(
            ConnectionId(0),
            Box::new(Notes(seen.clone())),
            Duration::from_nanos(20),
        );
        let at = Timestamp::from_nanos;
        let none = Duration::ZERO;
        reorderer.passed_to_server(at(100), [b"first", b""], none, None);
        // Sent at 130, seen to have passed only at 150; the reply that was in flight came at 140.
        let held = reorderer.passed_to_client(at(140), [b"re", b"ply"], none, None);
        assert_eq!(held, Some(at(140)));
        reorderer.passed_to_server(at(130), [b"second", b""], none, None);
        assert_eq!(reorderer.show_until(at(140)), None);
        let expected = [
            (Direction::ClientToServer, 100, b"first".to_vec()),
            (Direction::ClientToServer, 130, b"second".to_vec()),
            (Direction::ServerToClient, 140, b"reply".to_vec()),
        ];
        assert_eq!(*seen.lock().expect("one thread"), expected);
    }
}
