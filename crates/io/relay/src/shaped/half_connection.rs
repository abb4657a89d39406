//! One direction of a shaped connection, between source socket and sink socket.

use model::Timestamp;
use std::collections::VecDeque;
use std::time::Duration;

/// Offsets count payload bytes from the start of the connection. Call [`HalfConnection::enter`]
/// when bytes are read, [`HalfConnection::arrive`] when the model has them at the other end, then
/// [`HalfConnection::ready`] and [`HalfConnection::taken`] as the sink accepts them.
#[derive(Debug, Default)]
pub(super) struct HalfConnection {
    /// From offset `taken` to offset `entered`.
    bytes: VecDeque<u8>,
    entered: u64,
    /// Bytes that did not enter the model.
    spared: u64,
    arrived: u64,
    taken: u64,
    pub(super) readable: bool,
    /// Whether an end or an error is known to follow.
    pub(super) ending: bool,
    pub(super) held_back: bool,
    pub(super) sink_full: bool,
    end: End,
    /// Offset where an idle sender resumed, and how long it was idle.
    pauses: VecDeque<(u64, Duration)>,
    seen_at: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) enum End {
    #[default]
    NotYet,
    /// On the link, behind the bytes.
    OnTheWay,
    Arrived,
    PassedOn,
}

impl HalfConnection {
    pub(super) fn enter(&mut self, bytes: &[u8], idle: Option<Duration>) {
        if let Some(idle) = idle.filter(|idle| !idle.is_zero()) {
            self.pauses.push_back((self.entered, idle));
        }
        self.bytes.extend(bytes);
        self.entered += bytes.len() as u64;
    }

    /// The newest `count` bytes do not enter the model.
    pub(super) fn spare(&mut self, count: usize) {
        self.spared += count as u64;
    }

    /// Whether all that entered has left.
    pub(super) fn is_at_rest(&self) -> bool {
        self.end == End::NotYet && self.taken == self.entered
    }

    pub(super) fn finish(&mut self) {
        self.end = self.end.max(End::OnTheWay);
    }

    /// `received` of the model, where the end of the stream counts as one byte. Returns the number
    /// of new bytes.
    pub(super) fn arrive(&mut self, received: u64) -> usize {
        let received = received + self.spared;
        if received > self.entered && self.end == End::OnTheWay {
            self.end = End::Arrived;
        }
        let before = self.arrived;
        self.arrived = received.min(self.entered);
        (self.arrived - before) as usize
    }

    pub(super) fn newest(&self, count: usize) -> [&[u8]; 2] {
        let end = self.waiting();
        let (first, second) = self.bytes.as_slices();
        let start = end.saturating_sub(count);
        let cut = first.len();
        [
            first.get(start.min(cut)..end.min(cut)).unwrap_or_default(),
            second
                .get(start.saturating_sub(cut)..end.saturating_sub(cut))
                .unwrap_or_default(),
        ]
    }

    /// Sender idle time before any of the newest `count` bytes, at most the gap seen by the
    /// observation point.
    pub(super) fn pause_before(&mut self, count: usize, at: Timestamp) -> Duration {
        let gap = if self.seen_at == Timestamp::default() {
            Duration::ZERO
        } else {
            at.since(self.seen_at)
        };
        let mut pause = Duration::ZERO;
        if count > 0 {
            self.seen_at = at;
            while let Some((_, idle)) = self.pauses.pop_front_if(|(offset, _)| *offset < self.arrived) {
                pause += idle;
            }
        }
        pause.min(gap)
    }

    pub(super) fn ready(&self) -> &[u8] {
        let (first, _) = self.bytes.as_slices();
        first.get(..first.len().min(self.waiting())).unwrap_or_default()
    }

    pub(super) fn waiting(&self) -> usize {
        (self.arrived - self.taken) as usize
    }

    /// Frees the memory of a finished burst.
    pub(super) fn taken(&mut self, count: usize) {
        self.bytes.drain(..count);
        self.taken += count as u64;
        if self.bytes.is_empty() && self.bytes.capacity() > KEPT {
            self.bytes = VecDeque::new();
        }
    }

    pub(super) fn discard_arrived(&mut self) {
        self.taken(self.waiting());
    }

    pub(super) fn must_finish(&self) -> bool {
        self.end == End::Arrived && self.taken == self.entered
    }

    pub(super) fn finished(&mut self) {
        self.end = End::PassedOn;
    }

    pub(super) fn end(&self) -> End {
        self.end
    }

    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn payload_bytes(&self) -> u64 {
        self.arrived
    }
}

const KEPT: usize = 64 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_out_as_they_went_in_and_only_what_has_arrived() {
        let mut lane = HalfConnection::default();
        let (mut next_in, mut next_out) = (0_u32, 0_u32);
        for round in 1..500_usize {
            let piece: Vec<u8> = (0..round % 37)
                .map(|_| {
                    next_in += 1;
                    next_in as u8
                })
                .collect();
            lane.enter(&piece, None);
            let fresh = lane.arrive(u64::from(next_in).saturating_sub(5));
            assert_eq!(lane.newest(fresh).concat().len(), fresh);
            let count = lane.ready().len().min(11);
            for byte in &lane.ready()[..count] {
                next_out += 1;
                assert_eq!(*byte, next_out as u8);
            }
            lane.taken(count);
            assert!(lane.waiting() as u64 + u64::from(next_out) <= u64::from(next_in).saturating_sub(5));
        }
        assert!(next_out > 1000);
    }

    #[test]
    fn the_end_comes_behind_the_last_byte() {
        let mut lane = HalfConnection::default();
        lane.enter(b"abc", None);
        lane.finish();
        assert_eq!(lane.arrive(3), 3);
        assert!(!lane.must_finish(), "the end is still on the way");
        assert_eq!(lane.arrive(4), 0);
        assert!(!lane.must_finish(), "the sink has not taken all");
        lane.taken(3);
        assert!(lane.must_finish());
        lane.finished();
        assert_eq!((lane.end(), lane.payload_bytes()), (End::PassedOn, 3));
    }

    #[test]
    fn a_pause_is_told_with_the_bytes_that_ended_it_and_never_beyond_the_gap_seen() {
        let at = |milliseconds: u64| Timestamp::from_nanos(milliseconds * 1_000_000);
        let mut lane = HalfConnection::default();
        lane.enter(b"a", None);
        lane.enter(b"b", Some(Duration::from_millis(30)));
        lane.arrive(1);
        assert_eq!(lane.pause_before(1, at(100)), Duration::ZERO);
        lane.arrive(2);
        assert_eq!(lane.pause_before(1, at(120)), Duration::from_millis(20));
        lane.enter(b"c", Some(Duration::from_millis(3)));
        lane.arrive(3);
        assert_eq!(lane.pause_before(1, at(150)), Duration::from_millis(3));
    }
}
