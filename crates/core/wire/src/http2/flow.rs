//! Flow control (RFC 9113 section 5.2): DATA that waits for a WINDOW_UPDATE.
//!
//! Next to a server an update comes before its sender needs it, or soon after. At a
//! distance the DATA would be sent in rounds, one each round trip: these are counted. A receiver's
//! updates add up to the bytes it had consumed, so each comes one round after the bytes that it returns.

use model::Timestamp;
use std::collections::VecDeque;

/// A window of one sender, of its connection or of a stream.
#[derive(Debug, Default)]
struct Window {
    /// Bytes that may be sent, of the updates used so far.
    credit: i64,
    sent: u64,
    returned: u64,
    /// Sent, not returned yet.
    sections: VecDeque<Section>,
    /// Observed, not used yet.
    updates: VecDeque<Update>,
}

/// Bytes up to `end` that were sent in one round.
#[derive(Debug, Clone, Copy)]
struct Section {
    round: u64,
    end: u64,
}

/// A WINDOW_UPDATE, and the round in which its sender can use it.
#[derive(Debug, Clone, Copy)]
struct Update {
    round: u64,
    bytes: u64,
}

impl Window {
    fn new(credit: u32) -> Self {
        Self {
            credit: credit.into(),
            ..Self::default()
        }
    }

    /// An observed update enlarges the window if it returns more than was sent.
    fn observe(&mut self, increment: u32) {
        let bytes = u64::from(increment);
        if self.returned == self.sent {
            self.credit = self.credit.saturating_add_unsigned(bytes);
            return;
        }
        self.returned = self.returned.saturating_add(bytes).min(self.sent);
        while self.sections.len() > 1
            && self
                .sections
                .front()
                .is_some_and(|section| section.end < self.returned)
        {
            self.sections.pop_front();
        }
        let round = self.sections.front().map_or(0, |section| section.round + 1);
        let is_full = self.updates.len() == MAX_UPDATES;
        match self.updates.back_mut() {
            Some(last) if is_full => last.bytes = last.bytes.saturating_add(bytes),
            _ => self.updates.push_back(Update { round, bytes }),
        }
    }

    /// Uses the next update, and returns its round. A sender that goes on without one has a window that no
    /// update showed.
    fn use_update(&mut self, wanted: u64) -> Option<u64> {
        let Some(update) = self.updates.pop_front() else {
            self.credit = i64::try_from(wanted).unwrap_or(i64::MAX);
            return None;
        };
        self.credit = self.credit.saturating_add_unsigned(update.bytes);
        Some(update.round)
    }

    fn send(&mut self, bytes: u64, round: u64) {
        self.credit = self.credit.saturating_sub_unsigned(bytes);
        self.sent = self.sent.saturating_add(bytes);
        let is_full = self.sections.len() == MAX_SECTIONS;
        match self.sections.back_mut() {
            Some(last) if last.round == round || is_full => last.end = self.sent,
            _ => self.sections.push_back(Section {
                round,
                end: self.sent,
            }),
        }
    }
}

/// Bytes that one side may send on its connection.
#[derive(Debug)]
pub(super) struct Flow {
    window: Window,
    /// Window of new streams.
    initial: u32,
    /// Of the connection's last update that was used.
    round: u64,
    /// In which any stream sent last.
    latest: u64,
    updated: Timestamp,
}

/// Bytes that one side may send on a stream.
#[derive(Debug, Default)]
pub(super) struct StreamFlow {
    window: Window,
    round: u64,
}

/// How often the sender of a frame waited since the stream's frame before, and until when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Waits {
    pub(super) count: u64,
    pub(super) until: Timestamp,
}

impl Flow {
    pub(super) fn new() -> Self {
        Self {
            window: Window::new(DEFAULT_WINDOW),
            initial: DEFAULT_WINDOW,
            round: 0,
            latest: 0,
            updated: Timestamp::default(),
        }
    }

    pub(super) fn update(&mut self, stream: Option<&mut StreamFlow>, increment: u32, at: Timestamp) {
        self.updated = at;
        match stream {
            Some(stream) => stream.window.observe(increment),
            None => self.window.observe(increment),
        }
    }

    /// Returns the difference of another initial window, for open streams.
    pub(super) fn resize(&mut self, initial: u32) -> i64 {
        i64::from(initial) - i64::from(std::mem::replace(&mut self.initial, initial))
    }

    /// A stream that begins after all others comes behind the updates of its receiver.
    pub(super) fn open(&mut self, is_alone: bool) -> StreamFlow {
        if is_alone {
            self.latest += 1;
            self.round = self.latest;
            for update in std::mem::take(&mut self.window.updates) {
                self.window.credit = self.window.credit.saturating_add_unsigned(update.bytes);
            }
        }
        StreamFlow {
            window: Window::new(self.initial),
            round: self.round,
        }
    }

    /// The sender has something to send from now on.
    pub(super) fn begin(&self, stream: &mut StreamFlow) {
        stream.round = stream.round.max(self.round);
    }

    pub(super) fn send(&mut self, stream: &mut StreamFlow, bytes: u64) -> Option<Waits> {
        let before = stream.round;
        let mut left = bytes;
        while left > 0 {
            if self.window.credit <= 0 {
                let round = self.window.use_update(left);
                self.round = round.map_or(self.round, |round| round.max(self.round));
            } else if stream.window.credit <= 0 {
                let round = stream.window.use_update(left);
                stream.round = round.map_or(stream.round, |round| round.max(stream.round));
            } else {
                stream.round = stream.round.max(self.round);
                let room = self.window.credit.min(stream.window.credit).unsigned_abs();
                let piece = left.min(room);
                self.window.send(piece, stream.round);
                stream.window.send(piece, stream.round);
                left -= piece;
            }
        }
        self.latest = self.latest.max(stream.round);
        let count = stream.round - before;
        (count > 0).then_some(Waits {
            count,
            until: self.updated,
        })
    }
}

impl StreamFlow {
    pub(super) fn resize(&mut self, difference: i64) {
        self.window.credit = self.window.credit.saturating_add(difference);
    }
}

/// RFC 9113 section 6.9.2.
const DEFAULT_WINDOW: u32 = 65_535;
/// Further ones come with the last.
const MAX_UPDATES: usize = 256;
const MAX_SECTIONS: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: u64 = 8_192;

    /// A receiver that returns each `unit` bytes, of the connection and of the stream.
    struct Receiver {
        unit: u64,
        of_connection: u64,
        of_stream: u64,
    }

    impl Receiver {
        fn new(unit: u32) -> Self {
            Self {
                unit: unit.into(),
                of_connection: 0,
                of_stream: 0,
            }
        }

        /// Its updates of the connection and of the stream, in order, having got `bytes`.
        fn receive(&mut self, mut bytes: u64) -> Vec<bool> {
            let mut returned = Vec::new();
            while bytes > 0 {
                let piece = bytes.min(self.unit - self.of_connection.max(self.of_stream));
                bytes -= piece;
                for (is_stream, consumed) in [(false, &mut self.of_connection), (true, &mut self.of_stream)] {
                    *consumed += piece;
                    if *consumed == self.unit {
                        *consumed = 0;
                        returned.push(is_stream);
                    }
                }
            }
            returned
        }
    }

    /// Round trips beyond the first of each reply, sent near its receiver, which is `lag` frames behind.
    fn counted(window: u32, unit: u32, replies: &[u64], lag: usize) -> Vec<u64> {
        let mut flow = Flow::new();
        flow.resize(window);
        let mut receiver = Receiver::new(unit);
        let mut room = [u64::from(DEFAULT_WINDOW); 2];
        replies
            .iter()
            .map(|&reply| {
                let mut stream = flow.open(true);
                room[1] = window.into();
                receiver.of_stream = 0;
                flow.begin(&mut stream);
                let (mut left, mut count) = (reply, 0);
                let mut on_their_way = VecDeque::new();
                while left > 0 || !on_their_way.is_empty() {
                    let frame = FRAME.min(left).min(room[0]).min(room[1]);
                    if frame > 0 {
                        count += flow.send(&mut stream, frame).map_or(0, |waits| waits.count);
                        room = room.map(|room| room - frame);
                        left -= frame;
                        on_their_way.push_back(frame);
                    }
                    if on_their_way.len() > lag || frame == 0 {
                        let arrived = on_their_way.pop_front().unwrap();
                        for is_stream in receiver.receive(arrived) {
                            room[usize::from(is_stream)] += u64::from(unit);
                            flow.update(is_stream.then_some(&mut stream), unit, Timestamp::default());
                        }
                    }
                }
                count
            })
            .collect()
    }

    /// The same at a distance, step by step: an update travels for a round trip.
    fn simulated(window: u32, unit: u32, replies: &[u64]) -> Vec<u64> {
        let mut receiver = Receiver::new(unit);
        let mut room = [u64::from(DEFAULT_WINDOW); 2];
        replies
            .iter()
            .map(|&reply| {
                room[1] = window.into();
                receiver.of_stream = 0;
                let (mut left, mut round) = (reply, 0);
                let mut on_their_way = VecDeque::new();
                while left > 0 {
                    let piece = room[0].min(room[1]).min(left);
                    room = room.map(|room| room - piece);
                    left -= piece;
                    on_their_way.extend(receiver.receive(piece).into_iter().map(|kind| (round + 1, kind)));
                    if piece == 0 {
                        let (arrives, is_stream) = on_their_way.pop_front().unwrap();
                        round = arrives;
                        room[usize::from(is_stream)] += u64::from(unit);
                    }
                }
                for (_, is_stream) in on_their_way {
                    room[usize::from(is_stream)] += u64::from(unit);
                }
                round
            })
            .collect()
    }

    #[test]
    fn waits_are_those_of_the_same_sender_and_receiver_at_a_distance() {
        let replies = [300_000, 1, 70_000, 131_070, 300_000, 65_535, 65_536, 200_000];
        for window in [4_095, 30_000, 65_535, 1 << 20] {
            for part in [1, 2, 3, 7] {
                let unit = window.min(DEFAULT_WINDOW) / part;
                let expected = simulated(window, unit, &replies);
                for lag in [0, 1, 3] {
                    let found = counted(window, unit, &replies, lag);
                    assert_eq!(
                        found, expected,
                        "a window of {window}, updates of {unit}, {lag} frames"
                    );
                }
            }
        }
    }

    #[test]
    fn a_window_of_64_kib_is_a_round_trip_of_its_own() {
        for (bytes, expected) in [
            (65_535, 0),
            (65_536, 1),
            (131_070, 1),
            (131_071, 2),
            (1_000_000, 15),
        ] {
            assert_eq!(counted(65_535, 13_107, &[bytes], 1), [expected], "{bytes}");
        }
    }

    #[test]
    fn larger_windows_are_no_wait() {
        let mut flow = Flow::new();
        assert_eq!(flow.resize(1 << 20), (1 << 20) - i64::from(DEFAULT_WINDOW));
        flow.update(None, 1 << 20, Timestamp::default());
        let mut stream = flow.open(true);
        assert_eq!(flow.send(&mut stream, 1_000_000), None);
    }

    #[test]
    fn a_window_of_the_connection_is_waited_for_by_all_streams() {
        let mut flow = Flow::new();
        let mut streams = [flow.open(true), flow.open(false), flow.open(false)];
        let mut waited = Vec::new();
        for stream in &mut streams {
            waited.push(flow.send(stream, 40_000).map_or(0, |waits| waits.count));
            flow.update(None, 40_000, Timestamp::default());
        }
        assert_eq!(waited, [0, 1, 2]);
    }

    /// gRPC's C core grows the window to the size of the message once it has begun.
    #[test]
    fn a_window_that_grows_to_the_message_is_waited_for_once() {
        let mut flow = Flow::new();
        let mut stream = flow.open(true);
        let mut count = 0;
        for frame in 0..60 {
            count += flow.send(&mut stream, FRAME).map_or(0, |waits| waits.count);
            if frame == 2 {
                flow.update(Some(&mut stream), 1_000_000, Timestamp::default());
                flow.update(None, 1_000_000, Timestamp::default());
            }
        }
        assert_eq!(count, 1);
    }

    #[test]
    fn updates_of_any_size_and_senders_without_windows_are_no_fault() {
        let mut flow = Flow::new();
        let mut stream = flow.open(true);
        let mut updates = 0;
        for increment in [0, 1, 0x7FFF_FFFF, 0x7FFF_FFFF].repeat(1000) {
            flow.update(Some(&mut stream), increment, Timestamp::default());
            flow.update(None, increment, Timestamp::default());
            updates += 2;
            let waits = flow.send(&mut stream, 0xFF_FFFF);
            assert!(waits.is_none_or(|waits| waits.count <= updates));
        }
        stream.resize(i64::MIN);
        flow.send(&mut stream, 10);
        assert!(flow.window.updates.len() <= MAX_UPDATES && flow.window.sections.len() <= MAX_SECTIONS);
    }
}
