//! An observer that records everything.

use model::ObserverFactory;
use model::{
    Closing, ConnectionEvent, ConnectionId, ConnectionTotals, Direction, Observer, PerDirection,
    RelayHandshake, Side, TcpHandshake, Timestamp,
};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[derive(Debug, Default, Clone)]
pub struct Story {
    pub opened: Option<Timestamp>,
    pub handshake: Option<TcpHandshake>,
    pub in_stead: Vec<RelayHandshake>,
    pub bytes: PerDirection<Vec<u8>>,
    pub segments: Vec<Seen>,
    pub round_trips: Vec<(Side, Duration)>,
    pub closed: Option<(Timestamp, Closing, ConnectionTotals)>,
}

#[derive(Debug, Clone, Copy)]
pub struct Seen {
    pub direction: Direction,
    pub at: Timestamp,
    pub sender_idle: Option<Duration>,
}

#[derive(Debug, Default)]
pub struct Recorder(Mutex<BTreeMap<ConnectionId, Arc<Mutex<Story>>>>);

impl Recorder {
    pub fn stories(&self) -> Vec<Story> {
        let stories = self.0.lock().expect("no observer panicked");
        stories
            .values()
            .map(|story| story.lock().expect("no observer panicked").clone())
            .collect()
    }
}

struct Writer(Arc<Mutex<Story>>);

impl ObserverFactory for Recorder {
    fn observe(&self, id: ConnectionId) -> Box<dyn Observer + Send> {
        let story = Arc::new(Mutex::new(Story::default()));
        self.0
            .lock()
            .expect("no observer panicked")
            .insert(id, story.clone());
        Box::new(Writer(story))
    }
}

impl Observer for Writer {
    fn event(&mut self, _: ConnectionId, event: ConnectionEvent<'_>) {
        let mut story = self.0.lock().expect("no thread panicked while holding it");
        assert!(story.closed.is_none(), "an event after the last: {event:?}");
        assert_eq!(
            story.opened.is_none(),
            matches!(event, ConnectionEvent::Opened { .. }),
            "{event:?}"
        );
        match event {
            ConnectionEvent::RelayHandshake(trip) => story.in_stead.push(trip),
            ConnectionEvent::Opened { at, .. } => story.opened = Some(at),
            ConnectionEvent::Handshake(handshake) => story.handshake = Some(handshake),
            ConnectionEvent::Segment(segment) => {
                let before = story
                    .segments
                    .iter()
                    .rev()
                    .find(|seen| seen.direction == segment.direction);
                assert!(
                    before.is_none_or(|before| before.at <= segment.at),
                    "time went back"
                );
                assert!(!segment.payload.is_empty());
                story.bytes[segment.direction].extend_from_slice(segment.payload);
                story.segments.push(Seen {
                    direction: segment.direction,
                    at: segment.at,
                    sender_idle: segment.sender_idle,
                });
            }
            ConnectionEvent::RoundTrip { side, rtt, .. } => story.round_trips.push((side, rtt)),
            ConnectionEvent::AssumedRoundTrip { .. } => panic!("a relay measures"),
            ConnectionEvent::Recovery { from, to, .. } => assert!(from <= to, "{from:?} {to:?}"),
            ConnectionEvent::Ended { .. } | ConnectionEvent::Drained => {}
            ConnectionEvent::Closed { at, how, totals } => story.closed = Some((at, how, totals)),
        }
    }
}
