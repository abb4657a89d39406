//! Steps of the clock that a source was captured with: set back, or set far ahead. What comes after a step
//! keeps its order and its distances.
//!
//! 1. Back is a packet that is more than [`OUT_OF_ORDER`] before the packet before it on its interface:
//!    interfaces of one host are written out of order, the packets of one interface by far less.
//! 2. Ahead is a silence of more than [`MAX_SILENCE`] in a file. Live, a silence is one, however long.
//! 3. A silence that is as long as the last steps back is their undoing: a clock that was set wrong and is
//!    set right again. It is taken for one where the two differ by at most an eighth, because the waiting
//!    between the packets is in it too.
//! 4. The time between the two packets of a step is not known: taken is what packets of that size took before
//!    (median), else all packets.

use model::{Timestamp, Warning, WarningKind, format_duration};
use std::collections::VecDeque;
use std::time::Duration;

/// Takes steps out of the times of a source's packets.
#[derive(Debug)]
pub(crate) struct Clock {
    longest_silence: Duration,
    /// What is added to the times of packets, and what is taken from them: at most one is not zero.
    behind: Duration,
    ahead: Duration,
    /// Steps back that no step ahead has undone yet, the last one last.
    not_undone: VecDeque<Duration>,
    /// When packets passed last, as recorded, by their interface.
    interfaces: Vec<(u32, Timestamp)>,
    /// The time of the last packet as recorded, and the latest without steps.
    last: Option<(Timestamp, Timestamp)>,
    gaps: VecDeque<(u32, Duration)>,
    packets: u64,
    steps: ClockSteps,
}

/// The steps of a clock.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct ClockSteps {
    count: u64,
    /// The number of the packet behind the largest one, how far it was, and whether back.
    largest: Option<(u64, Duration, bool)>,
}

impl Default for Clock {
    fn default() -> Self {
        Self {
            longest_silence: MAX_SILENCE,
            behind: Duration::ZERO,
            ahead: Duration::ZERO,
            not_undone: VecDeque::new(),
            interfaces: Vec::new(),
            last: None,
            gaps: VecDeque::new(),
            packets: 0,
            steps: ClockSteps::default(),
        }
    }
}

impl Clock {
    /// Of packets as they pass.
    pub fn live() -> Self {
        Self {
            longest_silence: Duration::MAX,
            ..Self::default()
        }
    }

    /// The time of the next packet, of this size on the wire, without the steps before it.
    #[inline]
    pub fn pass(&mut self, at: Timestamp, interface: u32, wire: u32) -> Timestamp {
        self.packets += 1;
        let Some((recorded, latest)) = self.last else {
            self.record_step(at, at, interface);
            return at;
        };
        // Not by the last packet of all: one of another interface may have passed behind the step, which
        // nothing could show there.
        let back_from = self
            .last_of(interface)
            .filter(|last| last.since(at) > OUT_OF_ORDER);
        let silence = at.since(recorded);
        if back_from.is_some() || silence > self.longest_silence || self.remove_undone(silence) {
            let gap = self.usual_gap(wire);
            self.step(back_from.unwrap_or(recorded), at, gap);
            let without = latest.after(gap);
            (self.behind, self.ahead) = (without.since(at), at.since(without));
        } else {
            if self.gaps.len() == GAPS {
                self.gaps.pop_front();
            }
            self.gaps.push_back((wire, silence));
        }
        let without = self.without_steps(at);
        self.record_step(at, without.max(latest), interface);
        without
    }

    /// A time of this clock without the steps so far.
    #[inline]
    pub fn without_steps(&self, at: Timestamp) -> Timestamp {
        at.after(self.behind).before(self.ahead)
    }

    /// The steps so far.
    pub fn steps(&self) -> ClockSteps {
        self.steps
    }

    /// Whether a silence is as long as the last steps back together. They are forgotten then.
    #[inline]
    fn remove_undone(&mut self, silence: Duration) -> bool {
        if silence < OUT_OF_ORDER || self.not_undone.is_empty() {
            return false;
        }
        let mut back = Duration::ZERO;
        for (index, step) in self.not_undone.iter().enumerate().rev() {
            back += *step;
            if silence.abs_diff(back) <= back / 8 {
                self.not_undone.truncate(index);
                return true;
            }
        }
        false
    }

    fn record_step(&mut self, recorded: Timestamp, latest: Timestamp, interface: u32) {
        self.last = Some((recorded, latest));
        let known = self.interfaces.iter_mut().find(|(known, _)| *known == interface);
        if let Some((_, last)) = known {
            *last = recorded;
        } else if self.interfaces.len() < INTERFACES {
            self.interfaces.push((interface, recorded));
        }
    }

    fn last_of(&self, interface: u32) -> Option<Timestamp> {
        let last = self.interfaces.iter().find(|(known, _)| *known == interface);
        last.map(|(_, last)| *last)
    }

    #[cold]
    fn step(&mut self, recorded: Timestamp, at: Timestamp, gap: Duration) {
        // The other interfaces have the same clock.
        self.interfaces.clear();
        let expected = recorded.after(gap);
        let (by, is_back) = match expected > at {
            true => (expected.since(at), true),
            false => (at.since(expected), false),
        };
        if is_back {
            if self.not_undone.len() == NOT_UNDONE {
                self.not_undone.pop_front();
            }
            self.not_undone.push_back(by);
        }
        self.steps.count += 1;
        if self.steps.largest.is_none_or(|(_, largest, _)| by > largest) {
            self.steps.largest = Some((self.packets, by, is_back));
        }
    }

    fn usual_gap(&self, wire: u32) -> Duration {
        let alike = self.gaps.iter().filter(|(size, _)| *size == wire);
        let mut gaps: Vec<Duration> = alike.map(|(_, gap)| *gap).collect();
        if gaps.is_empty() {
            gaps = self.gaps.iter().map(|(_, gap)| *gap).collect();
        }
        // One that was seen, and not the mean of two: questions and answers have each their own.
        gaps.sort_unstable();
        gaps.get(gaps.len() / 2).copied().unwrap_or_default()
    }
}

impl ClockSteps {
    /// What is said of them; nothing where there are none.
    pub fn warning(self, name: &str) -> Option<Warning> {
        let (packet, by, is_back) = self.largest?;
        let how = if is_back { "back" } else { "ahead" };
        let more = match self.count {
            1 => String::new(),
            count => format!(" (the largest of {count} steps)"),
        };
        let text = format!(
            "'{name}': the clock stepped {how} by {} before packet {packet}{more}; times after it are counted as if it had not, with the usual \
             time between packets in its place",
            span_text(by)
        );
        Some(Warning::new(WarningKind::ClockStep, text))
    }
}

/// Days where seconds are too many to be read.
fn span_text(span: Duration) -> String {
    match span.as_secs() / DAY {
        0 => format_duration(span),
        days => format!("{days} days"),
    }
}

/// How far a packet may be before the one before it: interfaces with several queues mix packets by less. A
/// clock that is set by NTP steps by more than 128 ms, and is slowed down otherwise.
const OUT_OF_ORDER: Duration = Duration::from_millis(100);
/// Silence that is believed.
const MAX_SILENCE: Duration = Duration::from_secs(7 * DAY);
const DAY: u64 = 86_400;
/// Steps back that are remembered, to recognise the step ahead that undoes them.
const NOT_UNDONE: usize = 16;
/// Times between packets kept.
const GAPS: usize = 64;
/// Interfaces of which the last packet is noted.
const INTERFACES: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(count: u64) -> Timestamp {
        Timestamp::from_nanos(count * 1_000_000)
    }

    #[test]
    fn a_step_is_found_where_another_interface_is_first_behind_it() {
        let mut clock = Clock::default();
        for at in [10_000, 10_010, 10_020] {
            clock.pass(millis(at), 0, 100);
        }
        clock.pass(millis(8_025), 1, 100);
        let next = clock.pass(millis(8_030), 0, 100);
        assert_eq!(next, millis(10_030));
        assert_eq!(clock.pass(millis(8_040), 1, 100), millis(10_040));
        assert_eq!(clock.steps().count, 1);
    }

    #[test]
    fn a_silence_of_weeks_is_a_step_in_a_file_and_a_silence_where_packets_pass() {
        let weeks = millis(30 * DAY * 1_000);
        for (mut clock, steps) in [(Clock::default(), 1), (Clock::live(), 0)] {
            clock.pass(millis(0), 0, 100);
            let after = clock.pass(weeks, 0, 100);
            assert_eq!((after == weeks, clock.steps().count), (steps == 0, steps));
        }
    }
}
