//! Operations kept as examples of their name.

use super::ReplayTotals;
use model::{PredictedExamples, PredictedOperation, Share, Unexplained};
use std::time::Duration;

/// Evenly chosen operations of one name on one target, plus the longest.
#[derive(Debug, Clone, Default)]
pub(crate) struct Examples {
    kept: Vec<PredictedOperation>,
    /// Of all operations, with the unexplained part as an absolute value.
    measured: Duration,
    unexplained: Duration,
    longest: PredictedOperation,
    /// One in 2^`every` operations is kept.
    every: u32,
    seen: u64,
}

impl Examples {
    pub(crate) fn add(&mut self, whole: &ReplayTotals) {
        let one = PredictedOperation {
            measured: whole.measured,
            predicted: whole.duration,
            unexplained_ns: whole.unexplained,
            turns: whole.turns,
            without: (!whole.is_saving_open).then(|| whole.duration.saturating_sub(whole.saved)),
        };
        self.measured = self.measured.saturating_add(one.measured);
        let unexplained = Duration::from_nanos(one.unexplained_ns.unsigned_abs());
        self.unexplained = self.unexplained.saturating_add(unexplained);
        if one.measured >= self.longest.measured {
            self.longest = one;
        }
        if self.seen.trailing_zeros() >= self.every {
            self.kept.push(one);
        }
        self.seen += 1;
        if self.kept.len() >= MAX_KEPT_OPERATIONS {
            let mut place = 0;
            self.kept.retain(|_| {
                place += 1;
                place % 2 == 1
            });
            self.every += 1;
        }
    }

    pub(crate) fn unexplained(&self) -> Option<Unexplained> {
        let mut each: Vec<i64> = self.kept.iter().map(|one| one.unexplained_ns).collect();
        each.sort_unstable();
        let median_ns = *each.get(each.len().checked_sub(1)? / 2)?;
        let share = self.unexplained.as_secs_f64() / self.measured.as_secs_f64();
        share.is_finite().then_some(Unexplained { median_ns, share })
    }

    pub(crate) fn finish(&mut self) -> Option<PredictedExamples> {
        let mut kept = std::mem::take(&mut self.kept);
        kept.sort_by_key(|one| one.predicted);
        let typical = typical(&kept)?;
        let is_alike = |one: &&PredictedOperation| {
            one.turns <= typical.turns.saturating_mul(2) && typical.turns <= one.turns.saturating_mul(2)
        };
        let alike = kept.iter().filter(is_alike).count();
        Some(PredictedExamples {
            typical,
            longest: self.longest,
            alike: Share::of_counts(alike as u64, kept.len() as u64)?,
        })
    }
}

/// The nearest to the median duration, within the middle third, with the median number of round trips.
fn typical(by_duration: &[PredictedOperation]) -> Option<PredictedOperation> {
    let middle = by_duration.len().checked_sub(1)? / 2;
    let mut turns: Vec<u64> = by_duration.iter().map(|one| one.turns).collect();
    turns.sort_unstable();
    let third = by_duration.len() / 3;
    let middle_third = third..by_duration.len() - third;
    let from_median = |&place: &usize| {
        (
            by_duration[place].turns.abs_diff(turns[middle]),
            place.abs_diff(middle),
        )
    };
    middle_third
        .min_by_key(from_median)
        .map(|place| by_duration[place])
}

const MAX_KEPT_OPERATIONS: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn one_long_operation_of_many_makes_the_others_no_less_alike() {
        let mut examples = Examples::default();
        for turns in std::iter::repeat_n(4, 95).chain([12]) {
            examples.add(&ReplayTotals {
                measured: Duration::from_millis(turns),
                turns,
                ..ReplayTotals::default()
            });
        }
        let found = examples.finish().map(|found| (found.typical.turns, found.alike));
        assert_eq!(found, Share::of_counts(95, 96).map(|alike| (4, alike)));
    }

    #[test]
    fn the_typical_operation_has_a_typical_number_of_round_trips() {
        let mut examples = Examples::default();
        for (milliseconds, turns) in [(90, 2), (95, 3), (98, 2), (100, 5), (101, 2), (105, 3), (110, 2)] {
            examples.add(&ReplayTotals {
                duration: Duration::from_millis(milliseconds),
                turns,
                ..ReplayTotals::default()
            });
        }
        let typical = examples.finish().map(|found| found.typical);
        assert_eq!(
            typical.map(|one| (one.predicted, one.turns)),
            Some((Duration::from_millis(98), 2))
        );
    }

    #[test]
    fn of_very_many_operations_the_median_is_near_and_belongs_to_one() {
        let mut examples = Examples::default();
        for number in 0..100_000_u64 {
            examples.add(&ReplayTotals {
                duration: Duration::from_micros(10 * number),
                measured: Duration::from_micros(number),
                turns: number,
                ..ReplayTotals::default()
            });
        }
        assert!(examples.kept.len() < MAX_KEPT_OPERATIONS);
        let found = examples.finish();
        let typical = found.map(|found| found.typical).unwrap_or_default();
        assert!(
            (49_000..51_000).contains(&typical.turns),
            "{}: not near the middle",
            typical.turns
        );
        assert_eq!(typical.predicted, 10 * typical.measured);
        assert_eq!(found.map(|found| found.longest.turns), Some(99_999));
    }
}
