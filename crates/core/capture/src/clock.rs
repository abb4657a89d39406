//! Removes steps of the capturing clock, backwards or far ahead. Packets after a step keep their
//! order and distances.
//!
//! 1. A step back is a packet more than [`OUT_OF_ORDER`] before its predecessor on the same interface.
//!    Interfaces of one host are written out of order; packets of one interface by far less.
//! 2. A step ahead is a silence of more than [`MAX_SILENCE`] in a file. In a live capture a silence is real.
//! 3. A silence as long as the last steps back, within an eighth, undoes them: the clock was set right.
//! 4. The time between the two packets of a step is unknown. The median for packets of the same size is
//!    used, else that of all packets.

use model::{Timestamp, Warning, WarningKind, format_duration};
use std::collections::VecDeque;
use std::time::Duration;

#[derive(Debug)]
pub(crate) struct Clock {
    longest_silence: Duration,
    /// Added to recorded times. At most one of this and `ahead` is not zero.
    behind: Duration,
    /// Subtracted from recorded times.
    ahead: Duration,
    not_undone: VecDeque<Duration>,
    interfaces: Vec<(u32, Timestamp)>,
    /// Recorded time of the last packet, and the latest time without steps.
    last: Option<(Timestamp, Timestamp)>,
    gaps: VecDeque<(u32, Duration)>,
    packets: u64,
    steps: ClockSteps,
}

#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct ClockSteps {
    count: u64,
    /// Number of the packet after the step, its size, and whether it was back.
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
    pub fn live() -> Self {
        Self {
            longest_silence: Duration::MAX,
            ..Self::default()
        }
    }

    #[inline]
    pub fn pass(&mut self, at: Timestamp, interface: u32, wire: u32) -> Timestamp {
        self.packets += 1;
        let Some((recorded, latest)) = self.last else {
            self.record_step(at, at, interface);
            return at;
        };
        // Compared with the same interface only: a packet of another one may have passed after the
        // step without showing it.
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

    #[inline]
    pub fn without_steps(&self, at: Timestamp) -> Timestamp {
        at.after(self.behind).before(self.ahead)
    }

    pub fn steps(&self) -> ClockSteps {
        self.steps
    }

    /// Whether a silence undoes the last steps back. Removes them if so.
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
        // A real gap rather than the mean of two: requests and replies have different gaps.
        gaps.sort_unstable();
        gaps.get(gaps.len() / 2).copied().unwrap_or_default()
    }
}

impl ClockSteps {
    pub fn warning(self, name: &str) -> Option<Warning> {
        let (packet, by, is_back) = self.largest?;
        let how = if is_back { "back" } else { "ahead" };
        let more = match self.count {
            1 => String::new(),
            count => format!(" (the largest of {count} steps)"),
        };
        let text = format!(
            "'{name}': the clock stepped {how} by {} before packet {packet}{more}. The step is replaced by the usual time between packets",
            span_text(by)
        );
        Some(Warning::new(WarningKind::ClockStep, text))
    }
}

fn span_text(span: Duration) -> String {
    match span.as_secs() / DAY {
        0 => format_duration(span),
        days => format!("{days} days"),
    }
}

/// Interfaces with several queues mix packets by less. NTP steps a clock by more than 128 ms, and
/// slews it otherwise.
const OUT_OF_ORDER: Duration = Duration::from_millis(100);
const MAX_SILENCE: Duration = Duration::from_secs(7 * DAY);
const DAY: u64 = 86_400;
const NOT_UNDONE: usize = 16;
const GAPS: usize = 64;
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
