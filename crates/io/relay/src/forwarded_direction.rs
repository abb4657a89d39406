//! One direction of a connection, from source socket to sink socket.

use super::counters::Batch;
use super::journal::Journal;
use super::sequence::SequenceShift;
use model::{Direction, Timestamp};
use std::time::Duration;
use sys::clock::{Clock, WallOffset};
use sys::socket::{Received, Sent};
use sys::transport::Transport;

pub(super) struct Round<'a> {
    pub(super) journal: &'a mut Journal,
    pub(super) batch: &'a mut Batch,
    pub(super) clock: Clock,
    /// Measured at the start of the round; maps kernel stamps to the timeline.
    pub(super) offset: WallOffset,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pumped {
    Waits,
    Again,
    SourceBroken,
    SinkBroken,
}

#[derive(Debug)]
pub(super) struct ForwardedDirection {
    direction: Direction,
    /// Bytes read that the sink has not accepted; at most one read.
    waiting: Vec<u8>,
    taken: usize,
    readable: bool,
    /// Whether an end or an error is known to follow.
    ending: bool,
    end: End,
    ended_at: Option<Timestamp>,
    payload_bytes: u64,
    pace: Pace,
    shift: Option<SequenceShift>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    NotYet,
    Read,
    PassedOn,
}

impl ForwardedDirection {
    /// No segment is dated before `opened`.
    pub(super) fn new(direction: Direction, opened: Timestamp, segment_size: Option<u32>) -> Self {
        Self {
            direction,
            waiting: Vec::new(),
            taken: 0,
            readable: true,
            ending: false,
            end: End::NotYet,
            ended_at: None,
            payload_bytes: 0,
            pace: Pace {
                last: opened,
                ran_dry: false,
                held_back: false,
                segment_size,
                rtt: None,
            },
            shift: None,
        }
    }

    /// `ending` as in [`sys::poller::ReadyEvent::ending`].
    pub(super) fn source_ready(&mut self, ending: bool) {
        self.readable = true;
        self.ending |= ending;
    }

    pub(super) fn set_rtt(&mut self, rtt: Duration) {
        self.pace.rtt = Some(rtt);
    }

    /// Shifts sequence numbers of a MySQL login from now on.
    pub(super) fn set_shift(&mut self, shift: Option<SequenceShift>) {
        self.shift = shift;
    }

    pub(super) fn has_passed_login(&self) -> bool {
        self.shift.as_ref().is_some_and(SequenceShift::is_over)
    }

    pub(super) fn passed_before(&mut self, at: Timestamp, count: usize) {
        self.payload_bytes += count as u64;
        self.pace.last = self.pace.last.max(at);
    }

    pub(super) fn is_done(&self) -> bool {
        self.end == End::PassedOn
    }

    pub(super) fn ended_at(&self) -> Option<Timestamp> {
        self.ended_at
    }

    pub(super) fn payload_bytes(&self) -> u64 {
        self.payload_bytes
    }

    /// Moves bytes until the source is empty, the sink is full, or the journal is full.
    pub(super) fn pump(
        &mut self,
        slot: usize,
        source: &mut Transport,
        sink: &mut Transport,
        round: &mut Round<'_>,
    ) -> Pumped {
        if !sink.flush() {
            return Pumped::SinkBroken;
        }
        loop {
            if self.taken < self.waiting.len() {
                match self.send_waiting(sink) {
                    Some(stop) => return stop,
                    None => continue,
                }
            }
            if self.end == End::Read && sink.finish() {
                self.end = End::PassedOn;
            }
            if self.end != End::NotYet || !self.readable {
                return Pumped::Waits;
            }
            if let Some(stop) = self.read_and_send(slot, source, sink, round) {
                return stop;
            }
        }
    }

    fn send_waiting(&mut self, sink: &mut Transport) -> Option<Pumped> {
        match sink.send(self.waiting.get(self.taken..).unwrap_or_default()) {
            Sent::Bytes(0) => Some(Pumped::Waits),
            Sent::Bytes(count) => {
                self.taken += count;
                None
            }
            Sent::Broken(_) => Some(Pumped::SinkBroken),
        }
    }

    fn read_and_send(
        &mut self,
        slot: usize,
        source: &mut Transport,
        sink: &mut Transport,
        round: &mut Round<'_>,
    ) -> Option<Pumped> {
        let Some(room) = round.journal.room() else {
            return Some(Pumped::Again);
        };
        let (count, emptied, stamp) = match source.receive(room) {
            Received::Bytes {
                count,
                emptied,
                stamp,
            } => (count, emptied, stamp),
            Received::Nothing => {
                self.readable = false;
                return Some(Pumped::Waits);
            }
            Received::End => {
                self.end = End::Read;
                self.ended_at = Some(round.clock.now());
                return None;
            }
            Received::Broken(_) => return Some(Pumped::SourceBroken),
        };
        self.readable = !emptied || self.ending;
        let read_at = match stamp {
            Some(stamp) => round.clock.to_timestamp(stamp, round.offset),
            None => round.clock.now(),
        };
        let bytes = room.get_mut(..count).unwrap_or_default();
        if !self.send_read(bytes, sink) {
            return Some(Pumped::SinkBroken);
        }
        self.account(slot, count, emptied, read_at, round);
        None
    }

    /// Keeps bytes that the sink does not accept. Returns false if the sink is broken. Leaves in
    /// `bytes` the client's view of them.
    fn send_read(&mut self, bytes: &mut [u8], sink: &mut Transport) -> bool {
        let undo = self.shift.as_ref().map(SequenceShift::undone);
        if let Some(shift) = &mut self.shift {
            shift.apply(bytes);
        }
        let Sent::Bytes(taken) = sink.send(bytes) else {
            return false;
        };
        self.waiting.clear();
        self.taken = 0;
        self.waiting
            .extend_from_slice(bytes.get(taken..).unwrap_or_default());
        if let (Direction::ClientToServer, Some(mut undo)) = (self.direction, undo) {
            undo.apply(bytes);
        }
        true
    }

    fn account(
        &mut self,
        slot: usize,
        count: usize,
        emptied: bool,
        read_at: Timestamp,
        round: &mut Round<'_>,
    ) {
        let now = round.clock.now();
        // A clock step between stamp and round start shifts the stamp: never later than now.
        let at = read_at.min(now).max(self.pace.last);
        let complete = self.waiting.is_empty();
        let own = (emptied && complete && !self.pace.held_back).then(|| now.since(at));
        let idle = self.pace.segment(at, count, emptied, !complete);
        self.payload_bytes += count as u64;
        round.batch.segment(self.direction, count, own);
        round.journal.record_event(slot, self.direction, count, at, idle);
    }
}

/// Estimates how long a sender was idle, as seen from this side.
///
/// - A read that empties the socket and ends inside a full-sized packet was the sender's last:
///   while it has more, it sends full packets.
/// - Its next bytes left half a round trip before they arrive, and it learned of the last
///   arrival half a round trip after that. So one round trip of the gap is travel.
/// - Unknown while the receiver held the sender back, or without a round-trip time.
#[derive(Debug)]
struct Pace {
    last: Timestamp,
    ran_dry: bool,
    held_back: bool,
    segment_size: Option<u32>,
    rtt: Option<Duration>,
}

impl Pace {
    fn segment(&mut self, at: Timestamp, count: usize, emptied: bool, held_back: bool) -> Option<Duration> {
        let gap = at.since(self.last);
        let idle = match self.rtt {
            Some(rtt) if self.ran_dry && !self.held_back => Some(gap.saturating_sub(rtt)),
            Some(_) | None => None,
        };
        let within_packet = self
            .segment_size
            .is_some_and(|size| !count.is_multiple_of(usize::try_from(size).unwrap_or(1).max(1)));
        self.ran_dry = emptied && within_packet;
        self.held_back = held_back;
        self.last = at;
        idle
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace() -> Pace {
        Pace {
            last: Timestamp::from_nanos(0),
            ran_dry: false,
            held_back: false,
            segment_size: Some(1000),
            rtt: Some(Duration::from_micros(10)),
        }
    }

    fn at(microseconds: u64) -> Timestamp {
        Timestamp::from_nanos(microseconds * 1000)
    }

    #[test]
    fn a_sender_that_ran_dry_was_idle_for_the_gap_less_a_round_trip() {
        let mut pace = pace();
        assert_eq!(
            pace.segment(at(5), 300, true, false),
            None,
            "nothing is known before the first segment"
        );
        assert_eq!(
            pace.segment(at(105), 300, true, false),
            Some(Duration::from_micros(90))
        );
        assert_eq!(
            pace.segment(at(108), 300, true, false),
            Some(Duration::ZERO),
            "a gap within the round trip"
        );
    }

    #[test]
    fn nothing_is_told_after_full_packets_or_unread_bytes_or_back_pressure() {
        for (count, emptied, held_back) in [(2000, true, false), (300, false, false), (300, true, true)] {
            let mut pace = pace();
            pace.segment(at(5), count, emptied, held_back);
            assert_eq!(
                pace.segment(at(100), 1, true, false),
                None,
                "{count} {emptied} {held_back}"
            );
        }
    }
}
