//! Shared by the tests: an observer that records everything and checks the calling order, and
//! capture builders.

#![allow(dead_code, reason = "each test file uses its part")]

pub mod build;

use capture::{Error, Report, Source};
use model::{
    Closing, ConnectionEvent, ConnectionId, ConnectionTotals, Direction, Endpoint, Observer, RttSource, Side,
    TcpHandshake, Timestamp,
};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Clone)]
pub struct ObservedConnection {
    pub id: ConnectionId,
    pub at: Timestamp,
    pub client: Endpoint,
    pub server: Endpoint,
    pub certain: bool,
    pub handshake: Option<TcpHandshake>,
    pub segments: Vec<Piece>,
    pub round_trips: Vec<(Side, Duration)>,
    pub assumed: Vec<(Side, Duration, RttSource)>,
    pub recoveries: Vec<(Direction, Timestamp, Timestamp)>,
    pub ended: Vec<(Timestamp, Direction)>,
    pub drained: bool,
    pub closed: Option<(Timestamp, Closing, ConnectionTotals)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    pub direction: Direction,
    pub at: Timestamp,
    pub payload: Vec<u8>,
    pub unseen: u64,
    pub sender_idle: Option<Duration>,
}

impl ObservedConnection {
    /// Unseen bytes as `?`.
    pub fn stream(&self, direction: Direction) -> Vec<u8> {
        let mut bytes = Vec::new();
        for piece in self.segments.iter().filter(|piece| piece.direction == direction) {
            bytes.extend_from_slice(&piece.payload);
            bytes.extend(std::iter::repeat_n(b'?', piece.unseen as usize));
        }
        bytes
    }

    pub fn totals(&self) -> ConnectionTotals {
        self.closed.expect("closed").2
    }

    pub fn how(&self) -> Closing {
        self.closed.expect("closed").1
    }

    pub fn check_sums(&self) {
        let totals = self.totals();
        for direction in Direction::ALL {
            let pieces = self.segments.iter().filter(|piece| piece.direction == direction);
            let (payload, unseen) = pieces.fold((0, 0), |sum, piece| {
                (sum.0 + piece.payload.len() as u64, sum.1 + piece.unseen)
            });
            assert_eq!(totals.unseen_bytes[direction], unseen);
            assert_eq!(totals.payload_bytes[direction], payload + unseen);
        }
    }
}

/// Records all events, and panics if the calling order is broken.
#[derive(Default)]
pub struct Recorder {
    pub connections: BTreeMap<ConnectionId, ObservedConnection>,
    latest: BTreeMap<(ConnectionId, usize), Timestamp>,
    /// 0 as 1.
    sources: u32,
}

impl Observer for Recorder {
    fn event(&mut self, connection: ConnectionId, event: ConnectionEvent<'_>) {
        if let ConnectionEvent::Opened {
            at,
            client,
            server,
            sides_certain,
        } = event
        {
            let sources = self.sources.max(1);
            let of_source = |id: &&ConnectionId| id.0 % sources == connection.0 % sources;
            assert_eq!(
                (connection.0 / sources) as usize,
                self.connections.keys().filter(of_source).count(),
                "connections of a source are counted from 0"
            );
            let observed = ObservedConnection {
                id: connection,
                at,
                client,
                server,
                certain: sides_certain,
                handshake: None,
                segments: Vec::new(),
                round_trips: Vec::new(),
                assumed: Vec::new(),
                recoveries: Vec::new(),
                ended: Vec::new(),
                drained: false,
                closed: None,
            };
            self.connections.insert(connection, observed);
            return;
        }
        let observed = self.connections.get_mut(&connection).expect("opened first");
        assert!(observed.closed.is_none(), "closed last");
        match event {
            ConnectionEvent::Opened { .. } => unreachable!("handled above"),
            ConnectionEvent::RelayHandshake(_) => unreachable!("only a relay asks in a client's stead"),
            ConnectionEvent::Handshake(handshake) => {
                assert!(observed.handshake.replace(handshake).is_none(), "one handshake");
                assert!(handshake.syn <= handshake.syn_ack && handshake.syn_ack <= handshake.ack);
            }
            ConnectionEvent::Segment(segment) => {
                assert!(!observed.drained, "no payload once drained");
                assert!(
                    !segment.payload.is_empty() || segment.unseen > 0,
                    "a segment brings something"
                );
                let latest = self
                    .latest
                    .entry((connection, segment.direction.index()))
                    .or_default();
                assert!(*latest <= segment.at, "times of one direction never go back");
                *latest = segment.at;
                observed.segments.push(Piece {
                    direction: segment.direction,
                    at: segment.at,
                    payload: segment.payload.to_vec(),
                    unseen: segment.unseen,
                    sender_idle: segment.sender_idle,
                });
            }
            ConnectionEvent::RoundTrip { side, rtt, .. } => observed.round_trips.push((side, rtt)),
            ConnectionEvent::AssumedRoundTrip {
                side, rtt, source, ..
            } => observed.assumed.push((side, rtt, source)),
            ConnectionEvent::Recovery { direction, from, to } => {
                assert!(from < to);
                observed.recoveries.push((direction, from, to));
            }
            ConnectionEvent::Ended { at, direction } => observed.ended.push((at, direction)),
            ConnectionEvent::Drained => {
                assert!(!observed.drained, "drained once");
                observed.drained = true;
            }
            ConnectionEvent::Closed { at, how, totals } => observed.closed = Some((at, how, totals)),
        }
    }
}

pub fn read_bytes(bytes: &[u8]) -> Result<(Vec<ObservedConnection>, Report), Error> {
    read_sources(vec![Source::Stream {
        name: "test",
        reader: Box::new(bytes),
    }])
}

pub fn read_sources(sources: Vec<Source<'_>>) -> Result<(Vec<ObservedConnection>, Report), Error> {
    let mut recorder = Recorder {
        sources: sources.len() as u32,
        ..Recorder::default()
    };
    let report = capture::read_sources(sources, &mut recorder)?;
    let observed: Vec<ObservedConnection> = recorder.connections.into_values().collect();
    assert_eq!(observed.len(), report.connections as usize);
    for connection in &observed {
        assert!(connection.closed.is_some(), "every connection is closed");
        connection.check_sums();
    }
    Ok((observed, report))
}

pub fn read_flawless(bytes: &[u8]) -> Vec<ObservedConnection> {
    let (observed, report) = read_bytes(bytes).expect("a capture");
    assert!(report.warnings.is_empty(), "{:?}", report.warnings);
    observed
}

pub fn data_path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name)
}

pub fn data(name: &str) -> Vec<u8> {
    std::fs::read(data_path(name)).expect("test data")
}

pub fn all_data() -> Vec<String> {
    let folder = std::fs::read_dir(data_path("")).expect("test data");
    let mut names: Vec<String> = folder
        .map(|entry| entry.expect("entry").file_name().into_string().expect("UTF-8"))
        .filter(|name| name.ends_with(".pcap"))
        .collect();
    names.sort();
    assert!(!names.is_empty());
    names
}
