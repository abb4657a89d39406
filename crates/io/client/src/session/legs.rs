//! Legs of opening a session, without gaps.

use super::connection::PassedTraffic;
use model::{Leg, PerDirection, Phase, Timestamp};
use std::time::Duration;

#[derive(Debug)]
pub(super) struct Legs {
    began: Timestamp,
    ended: Timestamp,
    passed: PassedTraffic,
    legs: Vec<Leg>,
}

impl Legs {
    pub const fn begin(at: Timestamp) -> Self {
        Self {
            began: at,
            ended: at,
            passed: PassedTraffic {
                turns: 0,
                bytes: PerDirection::splat(0),
            },
            legs: Vec::new(),
        }
    }

    /// Ends a leg at `at`, with the traffic until then; the next one begins there. Beyond
    /// [`MAX_LEGS`], all is counted in the last.
    pub fn end(&mut self, name: &str, phase: Phase, at: Timestamp, passed: PassedTraffic) {
        let at = at.max(self.ended);
        let bytes = passed.bytes.zip(self.passed.bytes);
        let leg = Leg {
            name: name.into(),
            phase,
            duration: at.since(self.ended),
            turns: passed.turns.saturating_sub(self.passed.turns),
            payload_bytes: bytes.map(|(now, before)| now.saturating_sub(before)),
            remedy: None,
            saves_turns: 0,
        };
        match self.legs.get_mut(MAX_LEGS - 1) {
            Some(last) => {
                last.duration += leg.duration;
                last.turns += leg.turns;
                let bytes = last.payload_bytes.zip(leg.payload_bytes);
                last.payload_bytes = bytes.map(|(own, more)| own + more);
            }
            None => self.legs.push(leg),
        }
        self.ended = at;
        self.passed = passed;
    }

    pub fn remedy(&mut self, saves_turns: u64, text: &str) {
        if let Some(leg) = self.legs.last_mut() {
            leg.remedy = Some(text.into());
            leg.saves_turns = saves_turns.min(leg.turns);
        }
    }

    pub fn as_slice(&self) -> &[Leg] {
        &self.legs
    }

    pub const fn span(&self) -> (Timestamp, Timestamp) {
        (self.began, self.ended)
    }

    pub fn total(&self) -> Duration {
        self.ended.since(self.began)
    }
}

/// No login of any server has half as many.
const MAX_LEGS: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn legs_sum_to_the_whole_however_many_there_are() {
        let at = |nanos: u64| Timestamp::from_nanos(1000 + nanos);
        let mut legs = Legs::begin(at(0));
        for step in 1..=200_u64 {
            let passed = PassedTraffic {
                turns: step,
                bytes: PerDirection::new(2 * step, 3 * step),
            };
            legs.end("leg", Phase::Login, at(step * 7), passed);
        }
        assert_eq!(legs.as_slice().len(), MAX_LEGS);
        let sum: Duration = legs.as_slice().iter().map(|leg| leg.duration).sum();
        assert_eq!((sum, legs.total()), (Duration::from_nanos(1400), sum));
        let turns: u64 = legs.as_slice().iter().map(|leg| leg.turns).sum();
        assert_eq!(turns, 200);
    }

    #[test]
    fn a_stamp_that_goes_back_makes_a_leg_of_no_time() {
        let mut legs = Legs::begin(Timestamp::from_nanos(10));
        legs.end(
            "one",
            Phase::Connect,
            Timestamp::from_nanos(20),
            PassedTraffic::default(),
        );
        legs.end(
            "two",
            Phase::Connect,
            Timestamp::from_nanos(15),
            PassedTraffic::default(),
        );
        let durations: Vec<_> = legs
            .as_slice()
            .iter()
            .map(|leg| leg.duration.as_nanos())
            .collect();
        assert_eq!(durations, [10, 0]);
    }
}
