//! Open shaped connections, the bytes between their two sockets, and the observer.

use super::event_reorderer::EventReorderer;
use super::half_connection::{End, HalfConnection};
use super::outside::Outside;
use crate::sparing::SparedConnection;
use link::network::{FlowId, SimulatedNetwork};
use model::{
    Closing, ConnectionEvent, ConnectionTotals, Direction, Endpoint, PerDirection, PerSide, Side,
    TcpHandshake, Timestamp,
};
use std::time::Duration;
use sys::socket::Sent;

pub(super) struct Shaped {
    slot: usize,
    lanes: PerDirection<HalfConnection>,
    /// Whether the server knows that the handshake is over; before that it is silent.
    pub(super) established: bool,
    pub(super) resetting: Option<Direction>,
    /// Sides (client, server) with sockets that accept no more bytes. Their earlier bytes are still
    /// forwarded, then a reset.
    broken: PerSide<bool>,
    reorderer: EventReorderer,
    /// Round-trip time of a minimal packet on the idle link.
    link_rtt: Duration,
    ended_at: Option<Timestamp>,
    next_sample: Timestamp,
    /// Delay of the last bytes forwarded to the server, until it answers.
    pub(super) late_to_server: Option<Duration>,
    sparing: Option<Box<dyn SparedConnection + Send>>,
    /// Whether the exchange that the client began last is spared.
    is_sparing: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Passing {
    Link,
    Spared,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct HandshakeTimes {
    pub(super) opened: Timestamp,
    pub(super) syn: Timestamp,
    pub(super) syn_ack: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Delivery {
    Whole,
    Partly,
    SinkBroken,
}

impl Shaped {
    pub(super) fn open(
        slot: usize,
        mut reorderer: EventReorderer,
        ends: PerSide<Endpoint>,
        HandshakeTimes { opened, syn, syn_ack }: HandshakeTimes,
        link_rtt: Duration,
        outside: &impl Outside,
    ) -> Self {
        reorderer.emit_event(ConnectionEvent::Opened {
            at: opened,
            client: ends[Side::Client],
            server: ends[Side::Server],
            sides_certain: true,
        });
        // The observation point is the client's end of the link.
        reorderer.emit_event(ConnectionEvent::Handshake(TcpHandshake {
            syn,
            syn_ack,
            ack: syn_ack,
        }));
        reorderer.begin(syn_ack);
        let mut connection = Self {
            slot,
            lanes: Default::default(),
            established: false,
            resetting: None,
            broken: PerSide::default(),
            reorderer,
            link_rtt,
            ended_at: None,
            next_sample: syn_ack,
            late_to_server: None,
            sparing: None,
            is_sparing: false,
        };
        for lane in &mut connection.lanes {
            lane.readable = true;
        }
        connection.sample(syn_ack, outside);
        connection
    }

    pub(super) fn set_sparing(
        &mut self,
        sparing: Option<Box<dyn SparedConnection + Send>>,
        spares_connecting: bool,
    ) {
        (self.sparing, self.is_sparing) = (sparing, spares_connecting);
    }

    /// Whether bytes that are about to enter pass without the link. The client's decide, also for the
    /// server's until its next.
    pub(super) fn is_spared(&mut self, direction: Direction, at: Timestamp, bytes: &[u8]) -> bool {
        let at_rest = self.established && self.lanes.iter().all(HalfConnection::is_at_rest);
        if let (Direction::ClientToServer, Some(sparing)) = (direction, &mut self.sparing) {
            self.is_sparing = sparing.request(at, bytes, at_rest) && at_rest;
        }
        self.is_sparing && self.lanes[direction].is_at_rest()
    }

    pub(super) fn waits_for_sink(&self, direction: Direction) -> bool {
        self.is_sparing && self.lanes[direction].waiting() > 0
    }

    pub(super) fn lane(&mut self, direction: Direction) -> &mut HalfConnection {
        &mut self.lanes[direction]
    }

    pub(super) fn reads(&self, direction: Direction) -> bool {
        let lane = &self.lanes[direction];
        let speaks = direction == Direction::ClientToServer || self.established;
        speaks && lane.readable && lane.end() == End::NotYet && self.resetting.is_none()
    }

    pub(super) fn is_source_broken(&self, direction: Direction) -> bool {
        self.broken[direction.sender()]
    }

    /// Bytes that the sink sent earlier are still read.
    pub(super) fn sink_broke(&mut self, direction: Direction) {
        self.broken[direction.receiver()] = true;
        self.lane(direction).discard_arrived();
        let back = self.lane(direction.reverse());
        back.readable = true;
        back.ending = true;
    }

    /// Returns the time of an event that [`Shaped::show_until`] must show later.
    pub(super) fn arrived<W: Ord>(
        &mut self,
        flow: FlowId,
        at: Timestamp,
        passing: Passing,
        network: &mut SimulatedNetwork<W>,
        outside: &impl Outside,
    ) -> Option<Timestamp> {
        let direction = flow.direction();
        let lane = &mut self.lanes[direction];
        let ended = lane.end();
        let fresh = lane.arrive(network.received(flow).bytes_before());
        if ended != End::Arrived && lane.end() == End::Arrived {
            let seen = match direction {
                Direction::ClientToServer => self.reorderer.passed_at(at),
                Direction::ServerToClient => at,
            };
            self.ended_at.get_or_insert(seen);
        }
        let recovered = network.take_recovered(flow);
        let idle = lane.pause_before(fresh, at);
        let pieces = lane.newest(fresh);
        match direction {
            Direction::ClientToServer => {
                let seen = match passing {
                    Passing::Link => self.reorderer.passed_at(at),
                    Passing::Spared => at,
                };
                self.reorderer.passed_to_server(seen, pieces, idle, recovered);
                if at >= self.next_sample {
                    self.sample(at, outside);
                }
                None
            }
            Direction::ServerToClient => {
                if let Some(sparing) = &mut self.sparing {
                    pieces.iter().for_each(|piece| sparing.reply(at, piece));
                }
                self.reorderer.passed_to_client(at, pieces, idle, recovered)
            }
        }
    }

    pub(super) fn deliver(&mut self, direction: Direction, outside: &mut impl Outside) -> Delivery {
        let (lane, sink) = (&mut self.lanes[direction], direction.receiver());
        if self.broken[direction.receiver()] {
            lane.discard_arrived();
        }
        while !lane.ready().is_empty() {
            match outside.send(self.slot, sink, lane.ready()) {
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
            outside.finish(self.slot, sink);
            lane.finished();
        }
        Delivery::Whole
    }

    pub(super) fn is_done(&self) -> bool {
        self.lanes.iter().all(|lane| lane.end() == End::PassedOn)
    }

    pub(super) fn show_until(&mut self, at: Timestamp) -> Option<Timestamp> {
        self.reorderer.show_until(at)
    }

    pub(super) fn ends_at(&mut self, at: Timestamp) {
        self.ended_at.get_or_insert(at);
    }

    /// `packets` counts packets and retransmissions of both flows.
    pub(super) fn close(
        mut self,
        how: Closing,
        now: Timestamp,
        packets: PerDirection<(u64, u64)>,
        outside: &mut impl Outside,
    ) {
        self.sample(now, outside);
        if let Some(mut sparing) = self.sparing.take() {
            sparing.closed(now);
        }
        let at = match how {
            Closing::Unfinished => now,
            Closing::Finished | Closing::Reset => self.ended_at.unwrap_or(now),
        };
        let [to_server, to_client] = packets.into_array();
        let totals = ConnectionTotals {
            payload_bytes: PerDirection::from_fn(|direction| self.lanes[direction].payload_bytes()),
            packets: Some(PerDirection::new(
                to_server.0 + CLIENTS_HANDSHAKE,
                to_client.0 + SERVERS_HANDSHAKE,
            )),
            wire_bytes: None,
            retransmitted_packets: Some(to_server.1 + to_client.1),
            unseen_bytes: PerDirection::default(),
            seen: PerDirection::splat(true),
        };
        self.reorderer.close(at, how, totals);
        if how == Closing::Reset {
            outside.reset(self.slot);
        }
    }

    /// The link's round-trip time plus the real one behind it.
    fn sample(&mut self, at: Timestamp, outside: &impl Outside) {
        let behind = outside.server_rtt(self.slot).unwrap_or_default();
        let rtt = self.link_rtt + behind;
        self.reorderer.round_trip(at, Side::Server, rtt);
        self.next_sample = at.after(SAMPLE_INTERVAL);
    }
}

/// For the real round-trip time behind the link.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(500);
/// Counts SYN and ACK.
const CLIENTS_HANDSHAKE: u64 = 2;
const SERVERS_HANDSHAKE: u64 = 1;
