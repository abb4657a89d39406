//! Holds packets that acknowledge unseen bytes: the capture lost them, or is out of order.

use super::{Flow, MAX_WINDOW};
use crate::half::{LATEST, Output};
use crate::tcp::{ACK, Head, Packet, RST, SYN, SynOptions};
use model::{Direction, Timestamp};
use std::collections::VecDeque;
use std::time::Duration;

pub(crate) struct Hold {
    pub direction: Direction,
    pub until: Timestamp,
    /// Whether the other direction continued in order meanwhile: its bytes were late, or the
    /// acknowledgement is wrong, so none are missing.
    pub progressed: bool,
    packets: VecDeque<(Head, Vec<u8>)>,
    charge: usize,
    /// They may acknowledge a FIN. Waits longer, to see whether its sender continues.
    is_patient: bool,
}

impl Hold {
    pub fn new(direction: Direction, at: Timestamp, may_be_fin: bool) -> Self {
        let timeout = if may_be_fin { FIN_TIMEOUT } else { HOLD_TIMEOUT };
        Self {
            direction,
            until: at.after(timeout),
            progressed: false,
            packets: VecDeque::new(),
            charge: 0,
            is_patient: may_be_fin,
        }
    }

    pub fn push(&mut self, packet: &Packet<'_>) -> usize {
        let charge = size_of::<(Head, Vec<u8>)>() + packet.payload.len();
        self.charge += charge;
        self.packets.push_back((packet.head, packet.payload.to_vec()));
        charge
    }

    pub fn front(&self) -> Option<&Head> {
        self.packets.front().map(|(head, _)| head)
    }

    pub fn pop(&mut self) -> Option<(Head, Vec<u8>, usize)> {
        let (head, payload) = self.packets.pop_front()?;
        let charge = size_of::<(Head, Vec<u8>)>() + payload.len();
        self.charge -= charge;
        Some((head, payload, charge))
    }

    pub fn is_over(&self, at: Timestamp) -> bool {
        at > self.until || self.packets.len() >= MAX_PACKETS || self.charge >= MAX_BYTES
    }
}

impl Flow {
    /// Whether a packet acknowledges bytes of the other direction that were not seen in order. A
    /// single offset beyond the end is a FIN that was not captured, if no bytes wait behind it and
    /// the acknowledging side sends no more. If it does, the other side must have had time to
    /// continue, without doing so.
    #[inline]
    pub fn acknowledges_unknown(&self, direction: Direction, head: &Head) -> bool {
        let data = &self.halves[direction.reverse()];
        if !data.started || !head.has(ACK) || head.has(SYN | RST) {
            return false;
        }
        let acknowledged = data.stream_offset(head.acknowledgement);
        acknowledged > data.next
            && acknowledged - data.next <= MAX_WINDOW
            && (acknowledged > data.next + 1
                || data.has_gap()
                || (head.length > 0 && !data.fin_passed && !data.fin_believed && !data.tentative))
    }

    /// Whether the unseen acknowledged range may be only a FIN.
    fn may_be_fin(&self, direction: Direction, head: &Head) -> bool {
        let data = &self.halves[direction.reverse()];
        data.stream_offset(head.acknowledgement) == data.next + 1 && !data.has_gap()
    }

    #[cold]
    pub fn hold_back(&mut self, direction: Direction, packet: &Packet<'_>, out: &mut Output<'_>) {
        let may_be_fin = self.may_be_fin(direction, &packet.head);
        let mut hold = Box::new(Hold::new(direction, packet.head.at, may_be_fin));
        out.memory += hold.push(packet);
        self.hold = Some(hold);
    }

    #[cold]
    pub fn accept_while_holding(
        &mut self,
        direction: Direction,
        packet: &Packet<'_>,
        options: &SynOptions,
        out: &mut Output<'_>,
    ) {
        let Some(hold) = self.hold.as_mut() else { return };
        if direction == hold.direction {
            out.memory += hold.push(packet);
        } else {
            if hold.is_patient && packet.head.has(RST) {
                // The side with an acknowledged FIN sends no more.
                hold.until = Timestamp::default();
                self.flush_held(packet.head.at, out);
                return self.process(direction, packet, options, out);
            }
            if hold.is_patient && packet.head.length > 0 {
                hold.is_patient = false;
                hold.until = hold.until.min(packet.head.at.after(HOLD_TIMEOUT));
            }
            let before = self.halves[direction].next;
            self.process(direction, packet, options, out);
            let progressed = self.halves[direction].next > before;
            if let Some(hold) = self.hold.as_mut() {
                hold.progressed |= progressed;
            }
        }
        self.flush_held(packet.head.at, out);
    }

    /// Releases held packets with resolved acknowledgements, and all of them after the timeout.
    pub fn flush_held(&mut self, at: Timestamp, out: &mut Output<'_>) {
        let Some(mut hold) = self.hold.take() else { return };
        let over = hold.is_over(at);
        let (id, other) = (self.id, hold.direction.reverse());
        while let Some(head) = hold.front().copied() {
            if over {
                self.halves[other].drain_passed(id, head.at, out);
            }
            if self.acknowledges_unknown(hold.direction, &head) {
                if !over {
                    self.hold = Some(hold);
                    return;
                }
                let may_be_fin = hold.is_patient && self.may_be_fin(hold.direction, &head);
                let data = &mut self.halves[other];
                if may_be_fin {
                    data.fin_believed = true;
                } else if !hold.progressed {
                    data.give_up(id, data.stream_offset(head.acknowledgement), head.at, out);
                }
            }
            let Some((head, payload, charge)) = hold.pop() else {
                return;
            };
            out.memory = out.memory.saturating_sub(charge);
            self.process(
                hold.direction,
                &Packet {
                    head,
                    payload: &payload,
                },
                &SynOptions::default(),
                out,
            );
        }
        self.halves[other].drain_passed(id, LATEST, out);
    }
}

/// Time that packets are held, on the capture's clock. Capturing hosts with several queues mix
/// packets by less.
const HOLD_TIMEOUT: Duration = Duration::from_millis(2);
/// The same if an uncaptured FIN may be acknowledged: longer than a reset or the other side's next
/// bytes take.
const FIN_TIMEOUT: Duration = Duration::from_secs(1);
const MAX_PACKETS: usize = 32;
/// Checked after each packet.
const MAX_BYTES: usize = 256 << 10;
