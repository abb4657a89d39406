//! Packets that acknowledge what was not seen: the capture lost it, or shows packets out of order.

use crate::tcp::{Head, Packet};
use model::{Direction, Timestamp};
use std::collections::VecDeque;
use std::time::Duration;

/// Packets of one direction, held back for a moment so that what they acknowledge can still turn up.
pub(crate) struct Hold {
    /// The direction of the held packets.
    pub direction: Direction,
    /// When the patience ends.
    pub until: Timestamp,
    /// Whether the other direction went on in order meanwhile: then its bytes were late, or the acknowledgement is
    /// wrong, and nothing is missing.
    pub progressed: bool,
    packets: VecDeque<(Head, Vec<u8>)>,
    charge: usize,
}

impl Hold {
    /// Begins with nothing held.
    pub fn new(direction: Direction, at: Timestamp) -> Self {
        Self {
            direction,
            until: at.after(PATIENCE),
            progressed: false,
            packets: VecDeque::new(),
            charge: 0,
        }
    }

    /// Holds a packet; gives the memory it takes.
    pub fn push(&mut self, packet: &Packet<'_>) -> usize {
        let charge = size_of::<(Head, Vec<u8>)>() + packet.payload.len();
        self.charge += charge;
        self.packets.push_back((packet.head, packet.payload.to_vec()));
        charge
    }

    /// Header of the packet that has waited longest.
    pub fn front(&self) -> Option<&Head> {
        self.packets.front().map(|(head, _)| head)
    }

    /// The packet that has waited longest, and the memory it took.
    pub fn pop(&mut self) -> Option<(Head, Vec<u8>, usize)> {
        let (head, payload) = self.packets.pop_front()?;
        let charge = size_of::<(Head, Vec<u8>)>() + payload.len();
        self.charge -= charge;
        Some((head, payload, charge))
    }

    /// Whether it is time to stop waiting.
    pub fn is_over(&self, at: Timestamp) -> bool {
        at > self.until || self.packets.len() >= MAX_PACKETS || self.charge >= MAX_BYTES
    }
}

/// How long packets are held, on the capture's clock: capturing hosts with several queues mix packets by less.
const PATIENCE: Duration = Duration::from_millis(2);
/// Packets held per connection.
const MAX_PACKETS: usize = 32;
/// Bytes held per connection, checked after each packet.
const MAX_BYTES: usize = 256 << 10;
