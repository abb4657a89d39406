//! Open connections with their client, server, both directions, and the observer.

use super::Shared;
use super::counters::Batch;
use super::forwarded_direction::{ForwardedDirection, Pumped, Round};
use super::sequence::SequenceShift;
use model::{
    Closing, ConnectionEvent, ConnectionId, ConnectionTotals, Direction, Endpoint, Observer, PerDirection,
    RelayHandshake, Segment, Side, TcpHandshake, Timestamp,
};
use std::net::SocketAddr;
use std::time::Duration;
use sys::poller::ReadyEvent;
use sys::socket::Socket;
use sys::tcp_info::KernelFigures;
use sys::transport::Transport;

#[derive(Debug)]
pub(super) struct ReadyPair {
    pub(super) client: Socket,
    pub(super) server: Transport,
    pub(super) address: SocketAddr,
    pub(super) connect_time: Duration,
    pub(super) at: Timestamp,
    /// Events from while the server side was prepared, in order, from `at` on.
    pub(super) early: Vec<Early>,
    /// Whether a MySQL login is in progress with sequence numbers that differ by one.
    pub(super) login_shifted: bool,
}

#[derive(Debug)]
pub(super) enum Early {
    Passed {
        direction: Direction,
        at: Timestamp,
        bytes: Vec<u8>,
    },
    Asked(RelayHandshake),
}

pub(super) struct Connection {
    id: ConnectionId,
    observer: Box<dyn Observer + Send>,
    client: Transport,
    server: Transport,
    to_server: ForwardedDirection,
    to_client: ForwardedDirection,
    /// Set if a socket is broken: its remaining bytes, in this direction, are still forwarded
    /// before both are reset.
    last_words: Option<Direction>,
    next_sample: Timestamp,
    sample_interval: Duration,
    /// Payload of the relay's own requests and their replies.
    in_stead: PerDirection<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Stays,
    /// More to do once the journal has been shown.
    Again,
    Over(Closing),
}

impl Fate {
    /// `then` does not run if the connection is already over.
    fn and(self, then: impl FnOnce() -> Fate) -> Fate {
        match self {
            Self::Over(how) => Self::Over(how),
            Self::Stays => then(),
            Self::Again => match then() {
                Self::Over(how) => Self::Over(how),
                Self::Stays | Self::Again => Self::Again,
            },
        }
    }
}

impl Connection {
    /// The observer sees one handshake, with the kernel's round-trip times of both. It ends when
    /// the relay is ready to forward, so no span is counted twice.
    pub(super) fn open(ready: ReadyPair, shared: &Shared) -> Self {
        let id = shared.next_id();
        let (client_info, server_info) = (ready.client.info(), ready.server.socket().info());
        let segment_size = |info: Option<KernelFigures>| info.and_then(|info| info.segment_size);
        let mut connection = Self {
            id,
            observer: shared.factory.observe(id),
            to_server: ForwardedDirection::new(
                Direction::ClientToServer,
                ready.at,
                segment_size(client_info),
            ),
            to_client: ForwardedDirection::new(
                Direction::ServerToClient,
                ready.at,
                segment_size(server_info),
            ),
            client: Transport::Plain(ready.client),
            server: ready.server,
            last_words: None,
            next_sample: ready.at.after(FIRST_SAMPLE_AFTER),
            sample_interval: FIRST_SAMPLE_AFTER,
            in_stead: PerDirection::default(),
        };
        let server_rtt = server_info
            .and_then(|info| info.min_rtt)
            .unwrap_or(ready.connect_time);
        let client_rtt = client_info.and_then(|info| info.min_rtt).unwrap_or_default();
        let syn_ack = ready.at.before(client_rtt);
        let handshake = TcpHandshake {
            syn: syn_ack.before(server_rtt),
            syn_ack,
            ack: ready.at,
        };
        connection.emit_event(ConnectionEvent::Opened {
            at: handshake.syn,
            client: connection.client.socket().peer().map_or(UNKNOWN, endpoint),
            server: endpoint(ready.address),
            sides_certain: true,
        });
        connection.emit_event(ConnectionEvent::Handshake(handshake));
        connection.sample(ready.at);
        connection.relate(&ready.early, shared);
        if ready.login_shifted {
            connection.to_server.set_shift(Some(SequenceShift::to_server()));
            connection.to_client.set_shift(Some(SequenceShift::to_client()));
        }
        connection
    }

    fn relate(&mut self, early: &[Early], shared: &Shared) {
        let mut batch = Batch::default();
        for seen in early {
            match seen {
                Early::Passed { direction, at, bytes } => {
                    self.flow(*direction).passed_before(*at, bytes.len());
                    batch.segment(*direction, bytes.len(), None);
                    self.observe(*direction, *at, None, bytes);
                }
                Early::Asked(trip) => {
                    let sums = self.in_stead.iter_mut().zip(trip.payload_bytes);
                    sums.for_each(|(sum, bytes)| *sum += bytes);
                    self.emit_event(ConnectionEvent::RelayHandshake(*trip));
                }
            }
        }
        shared.counters.add(&mut batch);
    }

    pub(super) fn ready(
        &mut self,
        slot: usize,
        side: Side,
        ready: ReadyEvent,
        round: &mut Round<'_>,
    ) -> Fate {
        let from_here = match side {
            Side::Client => Direction::ClientToServer,
            Side::Server => Direction::ServerToClient,
        };
        let mut fate = Fate::Stays;
        if ready.readable() {
            self.flow(from_here).source_ready(ready.ending());
            fate = self.resume(slot, from_here, round);
        }
        if ready.writable() {
            fate = fate.and(|| self.resume(slot, from_here.reverse(), round));
        }
        fate
    }

    pub(super) fn resume_both(&mut self, slot: usize, round: &mut Round<'_>) -> Fate {
        let to_server = self.resume(slot, Direction::ClientToServer, round);
        to_server.and(|| self.resume(slot, Direction::ServerToClient, round))
    }

    fn resume(&mut self, slot: usize, direction: Direction, round: &mut Round<'_>) -> Fate {
        if self.last_words == Some(direction.reverse()) {
            return Fate::Stays;
        }
        match self.pump(slot, direction, round) {
            Pumped::Again => Fate::Again,
            Pumped::Waits if self.last_words.is_some() => Fate::Over(Closing::Reset),
            Pumped::Waits if self.to_server.is_done() && self.to_client.is_done() => {
                Fate::Over(Closing::Finished)
            }
            Pumped::Waits => Fate::Stays,
            Pumped::SourceBroken => Fate::Over(Closing::Reset),
            Pumped::SinkBroken if self.last_words.is_some() => Fate::Over(Closing::Reset),
            Pumped::SinkBroken => {
                // Bytes that the broken peer had sent can still be read.
                let last_words = direction.reverse();
                self.last_words = Some(last_words);
                self.flow(last_words).source_ready(true);
                self.resume(slot, last_words, round)
            }
        }
    }

    fn pump(&mut self, slot: usize, direction: Direction, round: &mut Round<'_>) -> Pumped {
        match direction {
            Direction::ClientToServer => self
                .to_server
                .pump(slot, &mut self.client, &mut self.server, round),
            Direction::ServerToClient => {
                let pumped = self
                    .to_client
                    .pump(slot, &mut self.server, &mut self.client, round);
                if self.to_client.has_passed_login() {
                    self.to_server.set_shift(None);
                    self.to_client.set_shift(None);
                }
                pumped
            }
        }
    }

    fn flow(&mut self, direction: Direction) -> &mut ForwardedDirection {
        match direction {
            Direction::ClientToServer => &mut self.to_server,
            Direction::ServerToClient => &mut self.to_client,
        }
    }

    pub(super) fn observe(
        &mut self,
        direction: Direction,
        at: Timestamp,
        idle: Option<Duration>,
        payload: &[u8],
    ) {
        self.emit_event(ConnectionEvent::Segment(Segment {
            direction,
            at,
            payload,
            unseen: 0,
            is_gap: false,
            sender_idle: idle,
        }));
        if at >= self.next_sample {
            self.sample(at);
            self.sample_interval = (self.sample_interval * 2).min(MAX_SAMPLE_INTERVAL);
            self.next_sample = at.after(self.sample_interval);
        }
    }

    /// Closes both sides the way one side ended, and informs the observer.
    pub(super) fn close(mut self, how: Closing, now: Timestamp) {
        self.sample(now);
        let first_end = [&self.to_server, &self.to_client]
            .iter()
            .filter_map(|flow| flow.ended_at())
            .min();
        let at = if how == Closing::Finished {
            first_end.unwrap_or(now)
        } else {
            now
        };
        let totals = self.totals();
        self.emit_event(ConnectionEvent::Closed { at, how, totals });
        if how == Closing::Reset {
            self.client.into_socket().reset();
            self.server.into_socket().reset();
        }
    }

    /// Counts packets between relay and server only.
    fn totals(&self) -> ConnectionTotals {
        let (client, server) = (self.client.socket().info(), self.server.socket().info());
        let packets = server.and_then(|info| {
            Some(PerDirection::new(
                info.packets_out?.into(),
                info.packets_in?.into(),
            ))
        });
        let retransmitted =
            [client, server].map(|info| info.and_then(|info| info.retransmitted).map(u64::from));
        let forwarded = PerDirection::new(self.to_server.payload_bytes(), self.to_client.payload_bytes());
        let payload_bytes = forwarded
            .zip(self.in_stead)
            .map(|(forwarded, own)| forwarded + own);
        ConnectionTotals {
            payload_bytes,
            packets,
            wire_bytes: None,
            retransmitted_packets: match retransmitted {
                [Some(to_client), Some(to_server)] => Some(to_client + to_server),
                [None, _] | [_, None] => None,
            },
            unseen_bytes: PerDirection::default(),
            seen: PerDirection::splat(true),
        }
    }

    fn sample(&mut self, at: Timestamp) {
        if let Some(rtt) = self.client.socket().info().and_then(|info| info.min_rtt) {
            self.to_server.set_rtt(rtt);
            self.emit_event(ConnectionEvent::RoundTrip {
                at,
                side: Side::Client,
                rtt,
            });
        }
        if let Some(rtt) = self.server.socket().info().and_then(|info| info.min_rtt) {
            self.to_client.set_rtt(rtt);
            self.emit_event(ConnectionEvent::RoundTrip {
                at,
                side: Side::Server,
                rtt,
            });
        }
    }

    fn emit_event(&mut self, event: ConnectionEvent<'_>) {
        self.observer.event(self.id, event);
    }
}

pub(super) fn endpoint(address: SocketAddr) -> Endpoint {
    Endpoint {
        address: address.ip(),
        port: address.port(),
    }
}

/// For a client that left before its address was read.
pub(super) const UNKNOWN: Endpoint = Endpoint {
    address: std::net::IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED),
    port: 0,
};

const FIRST_SAMPLE_AFTER: Duration = Duration::from_millis(10);
const MAX_SAMPLE_INTERVAL: Duration = Duration::from_secs(1);
