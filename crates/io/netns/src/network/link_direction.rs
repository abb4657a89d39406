//! One direction of a link: packets in flight, and counters.

use super::lateness::Lateness;
use super::packets::Segment;
use super::packets::{Buffers, Packet};
use link::{DropCause, LinkDescription, PacketOutcome, Pipe};
use model::{BitRate, Direction, LinkDirectionOutcome, Timestamp};
use std::collections::VecDeque;
use std::time::Duration;

#[derive(Debug)]
pub(super) struct LinkDirection {
    direction: Direction,
    /// The last is current; earlier ones have former descriptions and drain.
    lines: VecDeque<InFlight>,
    rate: Option<BitRate>,
    last_entry: Timestamp,
    counters: PacketCounters,
}

#[derive(Debug)]
struct InFlight {
    pipe: Pipe,
    on_the_way: VecDeque<BufferedPacket>,
    /// Wire bytes of lost packets serialised since the last packet that will arrive.
    lost: u64,
}

#[derive(Debug)]
struct BufferedPacket {
    due: Timestamp,
    packet: Packet,
    /// Wire bytes serialised since the previous packet, including those of lost packets.
    serialised: u64,
    /// It waited for serialisation of other packets.
    queued: bool,
    /// It has to wait for its time on the link.
    waits: bool,
}

#[derive(Debug)]
struct PacketCounters {
    counts: LinkDirectionOutcome,
    lateness: Lateness,
    busy_bytes: u64,
    busy: Duration,
    last_delivery: Option<Timestamp>,
}

impl LinkDirection {
    pub(super) fn new(link: &LinkDescription, direction: Direction) -> Self {
        Self {
            direction,
            lines: VecDeque::from([InFlight::new(link.pipe(direction))]),
            rate: link.rate[direction],
            last_entry: Timestamp::from_nanos(0),
            counters: PacketCounters::new(),
        }
    }

    /// Packets enter in order of time.
    pub(super) fn not_before_last(&mut self, at: Timestamp) -> Timestamp {
        self.last_entry = self.last_entry.max(at);
        self.last_entry
    }

    pub(super) fn change(&mut self, link: &LinkDescription) {
        self.lines.push_back(InFlight::new(link.pipe(self.direction)));
        self.rate = link.rate[self.direction];
        self.counters = PacketCounters::new();
    }

    /// `now` is when the forwarder read a packet that entered at `at`.
    pub(super) fn accept(
        &mut self,
        at: Timestamp,
        now: Timestamp,
        segment: Segment<'_>,
        buffers: &mut Buffers,
    ) {
        let wire_bytes = u32::try_from(segment.bytes.len()).unwrap_or(u32::MAX);
        let counts = &mut self.counters.counts;
        counts.packets += 1;
        counts.wire_bytes += u64::from(wire_bytes);
        let Some(queue) = self.lines.back_mut() else {
            return;
        };
        let queued = self.rate.is_some() && queue.pipe.waiting_bytes(at) > 0;
        if !queued {
            queue.lost = 0;
        }
        match queue.pipe.accept(at, wire_bytes) {
            PacketOutcome::Arrives(due) => {
                let Some(packet) = buffers.copy(segment) else {
                    counts.dropped_unasked += 1;
                    queue.lost += u64::from(wire_bytes);
                    return;
                };
                queue.on_the_way.push_back(BufferedPacket {
                    due,
                    packet,
                    serialised: u64::from(wire_bytes) + std::mem::take(&mut queue.lost),
                    queued,
                    waits: due > now,
                });
            }
            PacketOutcome::Dropped(DropCause::Queue) => counts.dropped_by_queue += 1,
            PacketOutcome::Dropped(DropCause::Outage) => counts.dropped_by_outage += 1,
            PacketOutcome::Dropped(DropCause::Loss) => {
                counts.dropped_by_loss += 1;
                queue.lost += u64::from(wire_bytes);
            }
        }
    }

    pub(super) fn next_due(&self) -> Option<Timestamp> {
        let first = |queue: &InFlight| queue.on_the_way.front().map(|held| held.due);
        self.lines.iter().filter_map(first).min()
    }

    pub(super) fn release(&mut self, now: Timestamp) -> Option<Packet> {
        while self.lines.len() > 1 && self.lines[0].on_the_way.is_empty() {
            self.lines.pop_front();
        }
        let is_present = self.lines.len() == 1;
        let due = |queue: &InFlight| queue.on_the_way.front().is_some_and(|held| held.due <= now);
        let queue = self.lines.iter_mut().find(|queue| due(queue))?;
        let held = queue.on_the_way.pop_front()?;
        // Packets under an earlier description do not count.
        if is_present {
            self.counters.delivered(&held, now);
        }
        Some(held.packet)
    }

    pub(super) const fn refused(&mut self, packets: u64) {
        self.counters.counts.dropped_unasked += packets;
    }

    pub(super) const fn lateness(&self) -> &Lateness {
        &self.counters.lateness
    }

    pub(super) fn outcome(&self) -> LinkDirectionOutcome {
        let PacketCounters { busy, busy_bytes, .. } = self.counters;
        let bits_per_second = u128::from(busy_bytes) * 8 * 1_000_000_000 / busy.as_nanos().max(1);
        let realised = u64::try_from(bits_per_second)
            .ok()
            .filter(|_| self.rate.is_some() && busy >= LONG_BUSY)
            .and_then(BitRate::from_bits_per_second);
        LinkDirectionOutcome {
            rate: self.rate,
            realised_rate: realised,
            ..self.counters.counts
        }
    }
}

impl InFlight {
    const fn new(pipe: Pipe) -> Self {
        Self {
            pipe,
            on_the_way: VecDeque::new(),
            lost: 0,
        }
    }
}

impl PacketCounters {
    fn new() -> Self {
        Self {
            counts: LinkDirectionOutcome::default(),
            lateness: Lateness::new(),
            busy_bytes: 0,
            busy: Duration::ZERO,
            last_delivery: None,
        }
    }

    fn delivered(&mut self, held: &BufferedPacket, now: Timestamp) {
        if held.waits {
            let late = u64::try_from(now.since(held.due).as_nanos()).unwrap_or(u64::MAX);
            self.lateness.add(late);
        }
        if let Some(last) = self.last_delivery
            && held.queued
        {
            self.busy_bytes += held.serialised;
            self.busy += now.since(last);
        }
        self.last_delivery = Some(now);
    }
}

/// Realised rates need this span; below, single wake-ups of the forwarder would show.
const LONG_BUSY: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use super::*;

    const START: u64 = 1_000_000_000;

    fn at(microseconds: u64) -> Timestamp {
        Timestamp::from_nanos(START + microseconds * 1000)
    }

    fn lane(text: &str) -> LinkDirection {
        LinkDirection::new(&text.parse().unwrap(), Direction::ClientToServer)
    }

    #[test]
    fn the_realised_rate_is_that_of_the_times_in_which_packets_waited() {
        // 1000 byte at 8 Mbit/s are 1 ms each.
        let mut lane = lane("rate=8mbit");
        let mut buffers = Buffers::default();
        for burst in 0..2 {
            let begin = burst * 10_000_000;
            for _ in 0..101 {
                lane.accept(at(begin), at(begin), Segment::whole(&[0; 1000]), &mut buffers);
            }
            for packet in 1..=101 {
                assert!(lane.release(at(begin + packet * 1000)).is_some());
            }
        }
        let outcome = lane.outcome();
        assert_eq!(outcome.packets, 202);
        assert_eq!(outcome.realised_rate, outcome.rate);
        assert_eq!(lane.lateness().count(), 202);
    }

    #[test]
    fn packets_lost_after_serialisation_count_for_the_rate() {
        let mut lane = lane("rate=8mbit loss=50%");
        let mut buffers = Buffers::default();
        for _ in 0..1000 {
            lane.accept(at(0), at(0), Segment::whole(&[0; 1000]), &mut buffers);
        }
        let mut now = 0;
        while lane.next_due().is_some() {
            now += 100;
            while let Some(packet) = lane.release(at(now)) {
                buffers.give_back(packet);
            }
        }
        let outcome = lane.outcome();
        assert!(outcome.dropped_by_loss > 400, "{outcome:?}");
        assert_eq!(outcome.realised_rate, outcome.rate);
    }

    #[test]
    fn a_changed_link_lets_what_is_on_its_way_arrive_as_planned() {
        let mut lane = lane("rtt=20ms");
        let mut buffers = Buffers::default();
        lane.accept(at(0), at(0), Segment::whole(&[1]), &mut buffers);
        lane.change(&"rtt=2ms".parse().unwrap());
        lane.accept(at(0), at(0), Segment::whole(&[2]), &mut buffers);
        assert_eq!(lane.release(at(1_000)).map(|packet| packet.bytes), Some(vec![2]));
        assert_eq!(lane.release(at(9_999)), None);
        assert_eq!(lane.next_due(), Some(at(10_000)));
        assert_eq!(lane.release(at(10_000)).map(|packet| packet.bytes), Some(vec![1]));
        assert_eq!(lane.outcome().packets, 1);
    }

    #[test]
    fn a_full_memory_is_told() {
        let mut lane = lane("rtt=3600s");
        let mut buffers = Buffers::default();
        let packets = super::super::packets::MAX_BYTES / 1500;
        for _ in 0..packets {
            lane.accept(at(0), at(0), Segment::whole(&[0; 1500]), &mut buffers);
        }
        let outcome = lane.outcome();
        assert!(
            outcome.dropped_unasked > 0 && outcome.dropped_unasked < packets as u64 / 10,
            "{outcome:?}"
        );
    }
}
