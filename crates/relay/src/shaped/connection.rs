//! One shaped connection that is open: two sockets, the bytes between them, and its observer.

use super::event_reorderer::EventReorderer;
use super::half_connection::{End, HalfConnection};
use crate::Shared;
use crate::connection::{UNKNOWN, endpoint};
use link::network::SimulatedNetwork;
use model::{Closing, ConnectionEvent, ConnectionTotals, Direction, Side, TcpHandshake, Timestamp};
use std::net::SocketAddr;
use std::time::Duration;
use sys::socket::{Sent, Socket};

/// A client and a server with the link between them.
pub(super) struct Shaped {
    client: Socket,
    server: Socket,
    lanes: [HalfConnection; 2],
    /// Whether the server knows that the handshake is over: before, it says nothing.
    pub(super) established: bool,
    /// The direction in which a reset travels.
    pub(super) resetting: Option<Direction>,
    /// The sides (client, server) whose sockets take nothing any more: what they had said before is passed
    /// on, then a reset.
    broken: [bool; 2],
    reorderer: EventReorderer,
    /// Round trip of a minimal packet on the idle link.
    link_rtt: Duration,
    /// When the first end was seen.
    ended_at: Option<Timestamp>,
    next_sample: Timestamp,
    /// How late the last bytes for the server were passed on, until an answer has been.
    pub(super) late_to_server: Option<Duration>,
}

/// Times of a handshake over the link.
#[derive(Debug, Clone, Copy)]
pub(super) struct HandshakeTimes {
    /// The client's call was accepted here.
    pub(super) opened: Timestamp,
    /// The SYN that arrived left the client.
    pub(super) syn: Timestamp,
    /// The answer arrives at the client.
    pub(super) syn_ack: Timestamp,
}

/// The two ends of a connection, and the server's address.
#[derive(Debug)]
pub(super) struct Ends {
    pub(super) client: Socket,
    pub(super) server: Socket,
    pub(super) address: SocketAddr,
}

/// What a delivery came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Delivery {
    /// The sink has all that has arrived.
    Whole,
    /// It will take more later.
    Partly,
    /// It takes nothing any more.
    SinkBroken,
}

impl Shaped {
    /// The client learns that it is connected.
    pub(super) fn open(
        ends: Ends,
        opening: HandshakeTimes,
        link_rtt: Duration,
        lag: Duration,
        shared: &Shared,
    ) -> Self {
        let id = shared.next_id();
        let mut reorderer = EventReorderer::new(id, shared.factory.observe(id), lag);
        reorderer.emit_event(ConnectionEvent::Opened {
            at: opening.opened,
            client: ends.client.peer().map_or(UNKNOWN, endpoint),
            server: endpoint(ends.address),
            sides_certain: true,
        });
        let HandshakeTimes { syn, syn_ack, .. } = opening;
        // The observation point is the client's end of the link: nothing lies between them.
        reorderer.emit_event(ConnectionEvent::Handshake(TcpHandshake {
            syn,
            syn_ack,
            ack: syn_ack,
        }));
        reorderer.begin(syn_ack);
        let mut connection = Self {
            client: ends.client,
            server: ends.server,
            lanes: Default::default(),
            established: false,
            resetting: None,
            broken: [false; 2],
            reorderer,
            link_rtt,
            ended_at: None,
            next_sample: syn_ack,
            late_to_server: None,
        };
        for lane in &mut connection.lanes {
            lane.readable = true;
        }
        connection.sample(syn_ack);
        connection
    }

    pub(super) fn lane(&mut self, direction: Direction) -> &mut HalfConnection {
        &mut self.lanes[direction.index()]
    }

    /// The socket that bytes of this direction are read from.
    pub(super) fn source(&self, direction: Direction) -> &Socket {
        match direction {
            Direction::ClientToServer => &self.client,
            Direction::ServerToClient => &self.server,
        }
    }

    /// Whether the source of this direction is read.
    pub(super) fn reads(&self, direction: Direction) -> bool {
        let lane = &self.lanes[direction.index()];
        let speaks = direction == Direction::ClientToServer || self.established;
        speaks && lane.readable && lane.end() == End::NotYet && self.resetting.is_none()
    }

    /// Whether the source of this direction is known to be broken: when nothing more can be read, it is to be
    /// reset.
    pub(super) fn is_source_broken(&self, direction: Direction) -> bool {
        self.broken[direction.index()]
    }

    /// The sink of this direction takes nothing any more: what it had sent before is still to be read.
    pub(super) fn sink_broke(&mut self, direction: Direction) {
        self.broken[direction.reverse().index()] = true;
        self.lane(direction).discard_arrived();
        let back = self.lane(direction.reverse());
        back.readable = true;
        back.ending = true;
    }

    /// More of a direction has arrived at `at`: shows it, and says whether [`Shaped::show_until`] must be
    /// called later.
    pub(super) fn arrived<W: Ord>(
        &mut self,
        direction: Direction,
        flow: u32,
        at: Timestamp,
        network: &mut SimulatedNetwork<W>,
    ) -> bool {
        let lane = &mut self.lanes[direction.index()];
        let ended = lane.end();
        let fresh = lane.arrive(network.received(flow));
        if ended != End::Arrived && lane.end() == End::Arrived {
            let seen = match direction {
                Direction::ClientToServer => self.reorderer.passed_at(at),
                Direction::ServerToClient => at,
            };
            self.ended_at.get_or_insert(seen);
        }
        let recovered = network.take_recovered(flow).map(Timestamp::from_nanos);
        let idle = lane.pause_before(fresh, at);
        let pieces = lane.newest(fresh);
        match direction {
            Direction::ClientToServer => {
                self.reorderer.passed_to_server(at, pieces, idle, recovered);
                if at >= self.next_sample {
                    self.sample(at);
                }
                false
            }
            Direction::ServerToClient => self.reorderer.passed_to_client(at, pieces, idle, recovered),
        }
    }

    /// Passes what has arrived to the sink, and then its end.
    pub(super) fn deliver(&mut self, direction: Direction) -> Delivery {
        let (lane, sink) = match direction {
            Direction::ClientToServer => (&mut self.lanes[0], &self.server),
            Direction::ServerToClient => (&mut self.lanes[1], &self.client),
        };
        if self.broken[direction.reverse().index()] {
            lane.discard_arrived();
        }
        while !lane.ready().is_empty() {
            match sink.send(lane.ready()) {
                Sent::Bytes(0) => {
                    lane.sink_full = true;
                    return Delivery::Partly;
                }
                Sent::Bytes(count) => lane.taken(count),
                Sent::Broken(_) => return Delivery::SinkBroken,
            }
        }
        lane.sink_full = false;
        if lane.must_finish() {
            sink.finish();
            lane.finished();
        }
        Delivery::Whole
    }

    /// Whether both directions have ended and everything is passed on.
    pub(super) fn is_done(&self) -> bool {
        self.lanes.iter().all(|lane| lane.end() == End::PassedOn)
    }

    /// Shows what the observation point saw until `at`; true when something remains to be shown.
    pub(super) fn show_until(&mut self, at: Timestamp) -> bool {
        self.reorderer.show_until(at)
    }

    /// Notes when the first end, or a reset, was seen.
    pub(super) fn ends_at(&mut self, at: Timestamp) {
        self.ended_at.get_or_insert(at);
    }

    /// Ends the connection on both sides and informs the observer. `packets` are those of both flows and how
    /// many were sent again.
    pub(super) fn close(mut self, how: Closing, now: Timestamp, packets: [(u64, u64); 2]) {
        self.sample(now);
        let at = match how {
            Closing::Unfinished => now,
            Closing::Finished | Closing::Reset => self.ended_at.unwrap_or(now),
        };
        let [to_server, to_client] = packets;
        let totals = ConnectionTotals {
            payload_bytes: [self.lanes[0].payload_bytes(), self.lanes[1].payload_bytes()],
            packets: Some([to_server.0 + CLIENTS_HANDSHAKE, to_client.0 + SERVERS_HANDSHAKE]),
            wire_bytes: None,
            retransmitted_packets: Some(to_server.1 + to_client.1),
            unseen_bytes: [0, 0],
            seen: [true, true],
        };
        self.reorderer.close(at, how, totals);
        if how == Closing::Reset {
            self.client.reset();
            self.server.reset();
        }
    }

    /// Reports to the observer the round trip to the server: the link's, and the real one behind it.
    fn sample(&mut self, at: Timestamp) {
        let behind = self.server.info().and_then(|info| info.min_rtt);
        let rtt = self.link_rtt + behind.unwrap_or_default();
        self.reorderer.round_trip(at, Side::Server, rtt);
        self.next_sample = at.after(SAMPLE_INTERVAL);
    }
}

/// How often the real round trip behind the link is looked up.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(500);
/// SYN and ACK.
const CLIENTS_HANDSHAKE: u64 = 2;
/// SYN-ACK.
const SERVERS_HANDSHAKE: u64 = 1;
