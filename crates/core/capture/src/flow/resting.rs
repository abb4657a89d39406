//! A connection some time after its end, in the memory that late packets need.

use super::opening::HandshakeSeen;
use super::{Flow, HostPair, Key};
use crate::duplicate::Recent;
use crate::half::Half;
use crate::tcp::{ACK, Head, RST, SynOptions};
use model::{Closing, ConnectionId, Direction, PerDirection, PerSide, Timestamp};
use std::time::Duration;

/// Without packets in flight, windows and copies.
pub(crate) struct Resting {
    pub id: ConnectionId,
    pub last_at: Timestamp,
    owner: usize,
    client_first: bool,
    handshake_done: bool,
    closing: Option<(Timestamp, Closing)>,
    halves: PerDirection<RestingHalf>,
    least: PerSide<Option<Duration>>,
    host_pair: Option<HostPair>,
    copies: Vec<Key>,
}

struct RestingHalf {
    first: u64,
    next: u64,
    acked: u64,
    isn: Option<u32>,
    options: SynOptions,
    fin_passed: bool,
    largest: u32,
    interface: u32,
    packets: u64,
    wire_bytes: u64,
    payload_bytes: u64,
    unseen_bytes: u64,
    retransmitted: u64,
}

impl Flow {
    /// Whether both directions ended, and no byte of them is missing.
    pub fn is_drained(&self) -> bool {
        let is_over = |half: &Half| {
            half.started && half.end_told && !half.has_gap() && !half.tentative && half.acked <= half.next
        };
        self.closing.is_some()
            && self.hold.is_none()
            && !self.opening.awaits_client()
            && self.halves.iter().all(is_over)
    }

    /// Whether a packet continues beyond the end of a drained connection: it is of another one,
    /// with a SYN that was not captured.
    pub fn is_outlived_by(&self, direction: Direction, head: &Head) -> bool {
        let (own, other) = (&self.halves[direction], &self.halves[direction.reverse()]);
        let end = own.stream_offset(head.payload_sequence()) + u64::from(head.length);
        let acknowledges = head.has(ACK) && !head.has(RST);
        self.drained
            && ((head.length > 0 && end > own.next)
                || (acknowledges && other.stream_offset(head.acknowledgement) > other.next))
    }

    pub fn rest(self) -> Resting {
        let [client, server] = self.halves.into_array();
        Resting {
            id: self.id,
            last_at: self.last_at,
            owner: self.owner,
            client_first: self.client_first,
            handshake_done: self.opening.is_done(),
            closing: self.closing,
            halves: PerDirection::new(RestingHalf::new(&client), RestingHalf::new(&server)),
            least: self.least,
            host_pair: self.host_pair,
            copies: self.copies,
        }
    }
}

impl Resting {
    pub fn wake(self) -> Flow {
        let mut flow = Flow::new(self.id, self.owner, self.client_first, self.last_at);
        flow.drained = true;
        flow.opening = HandshakeSeen::of_past(self.handshake_done);
        flow.closing = self.closing;
        flow.least = self.least;
        flow.host_pair = self.host_pair;
        flow.copies = self.copies;
        for direction in Direction::ALL {
            self.halves[direction].wake(&mut flow.halves[direction]);
        }
        flow.agree();
        flow
    }
}

impl RestingHalf {
    fn new(half: &Half) -> Self {
        Self {
            first: half.first,
            next: half.next,
            acked: half.acked,
            isn: half.isn,
            options: half.options,
            fin_passed: half.fin_passed,
            largest: half.largest,
            interface: half.recent.interface(),
            packets: half.packets,
            wire_bytes: half.wire_bytes,
            payload_bytes: half.payload_bytes,
            unseen_bytes: half.unseen_bytes,
            retransmitted: half.retransmitted,
        }
    }

    fn wake(&self, half: &mut Half) {
        (half.started, half.end_told) = (true, true);
        (half.first, half.next, half.acked) = (self.first, self.next, self.acked);
        (half.isn, half.options) = (self.isn, self.options);
        half.fin_passed = self.fin_passed;
        half.largest = self.largest;
        half.recent = Recent::of_interface(self.interface);
        (half.packets, half.wire_bytes) = (self.packets, self.wire_bytes);
        (half.payload_bytes, half.unseen_bytes) = (self.payload_bytes, self.unseen_bytes);
        half.retransmitted = self.retransmitted;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_that_rests_takes_a_fifth_of_one_that_is_followed() {
        assert!(size_of::<Resting>() <= 320, "{}", size_of::<Resting>());
        assert!(size_of::<Resting>() * 4 < size_of::<Flow>());
    }
}
