//! One open connection: a client, a server, the two directions between them, and the observer.

use super::Shared;
use super::counters::Batch;
use super::forwarded_direction::{ForwardedDirection, Pumped, Round};
use super::sequence::SequenceShift;
use model::{
    Closing, ConnectionEvent, ConnectionId, ConnectionTotals, Direction, Endpoint, Observer, RelayHandshake,
    Segment, Side, TcpHandshake, Timestamp,
};
use std::net::SocketAddr;
use std::time::Duration;
use sys::poller::ReadyEvent;
use sys::socket::Socket;
use sys::tcp_info::KernelFigures;
use sys::transport::Transport;

/// A client and the server it has reached: what a connection is opened with.
#[derive(Debug)]
pub(super) struct ReadyPair {
    pub(super) client: Socket,
    pub(super) server: Transport,
    pub(super) address: SocketAddr,
    /// How long connecting to the server took.
    pub(super) connect_time: Duration,
    /// From when on bytes can pass.
    pub(super) at: Timestamp,
    /// What was seen while the server's side was being made ready, in order; none before `at`.
    pub(super) early: Vec<Early>,
    /// Whether a MySQL login is in progress in which the server counts one packet more than the client.
    pub(super) login_shifted: bool,
}

/// What was seen while the server's side was being made ready.
#[derive(Debug)]
pub(super) enum Early {
    /// Bytes passed.
    Passed {
        direction: Direction,
        at: Timestamp,
        bytes: Vec<u8>,
    },
    /// The relay asked the server something itself.
    Asked(RelayHandshake),
}

/// An open connection. Its worker calls [`Connection::ready`] and [`Connection::resume_both`], shows it its
/// journal notes with [`Connection::observe`], and closes it with [`Connection::close`] when it learns that
/// it is over.
pub(super) struct Connection {
    id: ConnectionId,
    observer: Box<dyn Observer + Send>,
    client: Transport,
    server: Transport,
    to_server: ForwardedDirection,
    to_client: ForwardedDirection,
    /// One socket is broken: what can still be read from it, in this direction, is passed on; then both are
    /// reset.
    last_words: Option<Direction>,
    next_sample: Timestamp,
    sample_interval: Duration,
    /// Payload of what the relay asked the server itself.
    in_stead: [u64; 2],
}

/// What is to become of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// It waits for the next event.
    Stays,
    /// It has more to do once the journal has been shown.
    Again,
    /// It is over.
    Over(Closing),
}

impl Fate {
    /// This fate and that of something done after it, which is not done when all is over already.
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
    /// Opens the connection for observation, at the moment the server is reached.
    ///
    /// The observation point sees one handshake although the relay makes two, one after the other: its round
    /// trips are the kernel's figures for the two, and it ends when the relay is ready to forward, so that
    /// the first segments follow it and no span is counted twice.
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
            in_stead: [0; 2],
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

    /// Shows and counts what passed while the server's side was being made ready.
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

    /// Something happened on the socket of `side`.
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

    /// Moves what can be moved in both directions.
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
                // What the broken peer had sent before it left is still to be read.
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

    /// Shows the observer bytes that were forwarded.
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
            sender_idle: idle,
        }));
        if at >= self.next_sample {
            self.sample(at);
            self.sample_interval = (self.sample_interval * 2).min(MAX_SAMPLE_INTERVAL);
            self.next_sample = at.after(self.sample_interval);
        }
    }

    /// Ends the connection on both sides in the way in which it ended on one, and informs the observer.
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

    /// Packets are those between the relay and the server: the way whose length is in question.
    fn totals(&self) -> ConnectionTotals {
        let (client, server) = (self.client.socket().info(), self.server.socket().info());
        let packets = server.and_then(|info| Some([info.packets_out?.into(), info.packets_in?.into()]));
        let retransmitted =
            [client, server].map(|info| info.and_then(|info| info.retransmitted).map(u64::from));
        let [up, down] = self.in_stead;
        let payload_bytes = [
            self.to_server.payload_bytes() + up,
            self.to_client.payload_bytes() + down,
        ];
        ConnectionTotals {
            payload_bytes,
            packets,
            wire_bytes: None,
            retransmitted_packets: match retransmitted {
                [Some(to_client), Some(to_server)] => Some(to_client + to_server),
                [None, _] | [_, None] => None,
            },
            unseen_bytes: [0, 0],
            seen: [true, true],
        }
    }

    /// Reports to the observer the kernel's round trips to both sides.
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

/// A client that was gone before it could be asked for its address.
pub(super) const UNKNOWN: Endpoint = Endpoint {
    address: std::net::IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED),
    port: 0,
};

/// Round trips are asked of the kernel when a connection opens, soon after, and then ever more rarely.
const FIRST_SAMPLE_AFTER: Duration = Duration::from_millis(10);
const MAX_SAMPLE_INTERVAL: Duration = Duration::from_secs(1);
