//! Durations of operations with and without the link's delay for some exchanges.

use crate::{DistributionBuilder, FindingKey, FindingKind};
use std::sync::Arc;
use std::time::Duration;

/// Operations with a link's delay for all exchanges, and without for some.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SparingOutcome {
    /// As requested: a statement, a kind of finding, or `control`, which spares nothing.
    pub spared: String,
    /// Round-trip time of the link; the longest of several.
    pub rtt: Duration,
    /// Proved by this, if longwire chose it.
    pub finding: Option<FindingKey>,
    /// Saving of one operation by that finding's price.
    pub promised: Option<Duration>,
    /// Why nothing of it was spared.
    pub unspared: Option<String>,
    /// Executions in operations without the delay.
    pub executions: SparedExecutions,
    /// By name; only those with removable executions, except of a control.
    pub operations: Vec<SparedOperation>,
    /// Connections that are encrypted, or in a protocol that longwire does not decode.
    pub unreadable: u64,
}

/// Executions of spared statements, or connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SparedExecutions {
    /// All of them.
    pub all: u64,
    /// Those that the remedy removes: all but the first of an operation.
    pub removable: u64,
    /// Removable ones that passed without delay.
    pub spared: u64,
    /// Removable ones beside bytes on their way.
    pub not_at_rest: u64,
}

/// Operations of one name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SparedOperation {
    /// Common name.
    pub name: Arc<str>,
    /// Durations with the delay for all exchanges.
    pub with: DistributionBuilder,
    /// Durations with spared exchanges.
    pub without: DistributionBuilder,
    /// Operations that were only partly with or without, beside others, or broken off.
    pub mixed: u64,
    /// The most round trips of one operation that passed without delay.
    pub max_removed: u64,
}

/// A difference of medians, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SavedTime {
    /// The difference.
    pub saves_ns: i64,
    /// Bounds, with at least 95 % probability.
    pub bounds_ns: [i64; 2],
}

impl SparingOutcome {
    /// Request for a run that spares nothing.
    pub const CONTROL: &str = "control";

    /// Why it proves nothing.
    pub fn refusal(&self) -> Option<String> {
        let SparedExecutions {
            removable, spared, ..
        } = self.executions;
        let spares_connecting = FindingKind::from_name(&self.spared) == Some(FindingKind::Reconnect);
        match () {
            () if self.unspared.is_some() => self.unspared.clone(),
            () if self.spared == Self::CONTROL => None,
            () if self.unreadable > 0 && (removable == 0 || spares_connecting) => Some(UNREADABLE.to_owned()),
            () if removable == 0 && self.promised.is_some() => {
                Some("no operation with it was seen in its turn".to_owned())
            }
            () if removable == 0 => Some("none was seen that could be removed".to_owned()),
            () if spared * 10 < removable * 9 => Some(format!(
                "only {spared} of {removable} could be spared, too few for a difference"
            )),
            () => None,
        }
    }

    /// Whether an operation's difference is more than the delay that was removed from it.
    pub fn exceeds_delay(&self, operation: &SparedOperation, saved: SavedTime) -> bool {
        let each = self.rtt + MAX_WAKE_UP;
        let most = each.saturating_mul(u32::try_from(operation.max_removed).unwrap_or(u32::MAX));
        let is_control = self.spared == Self::CONTROL;
        !is_control && saved.bounds_ns[0] > i64::try_from(most.as_nanos()).unwrap_or(i64::MAX)
    }
}

impl SavedTime {
    /// Half of a symmetric interval that has the bounds.
    pub fn margin(self) -> Duration {
        let [low, high] = self.bounds_ns;
        Duration::from_nanos((self.saves_ns - low).max(high - self.saves_ns).unsigned_abs())
    }
}

impl SparedOperation {
    /// Without any operation yet.
    pub const fn new(name: Arc<str>) -> Self {
        Self {
            name,
            with: DistributionBuilder::new(),
            without: DistributionBuilder::new(),
            mixed: 0,
            max_removed: 0,
        }
    }

    /// The medians with and without the delay.
    pub fn medians(&self) -> [Option<Duration>; 2] {
        [&self.with, &self.without].map(|arm| arm.clone().percentile(50))
    }

    /// Why no difference is stated: below 6 operations with or without, and with over 10 % mixed ones:
    /// those are longer than others, so without them the medians are too low.
    pub fn refusal(&self) -> Option<&'static str> {
        let counts = [self.with.count(), self.without.count()];
        match () {
            () if counts.iter().any(|count| *count < MIN_OPERATIONS) => {
                Some("fewer than 6 operations with the delay, or without")
            }
            () if self.mixed * 10 > counts.iter().sum() => {
                Some("over 10 % of the operations were partly with the delay")
            }
            () => None,
        }
    }

    /// `None` with a [`SparedOperation::refusal`]. The bounds of both medians
    /// ([`DistributionBuilder::median_range`]) add as independent errors do.
    pub fn saved(&self) -> Option<SavedTime> {
        if self.refusal().is_some() {
            return None;
        }
        let of = |arm: &DistributionBuilder| {
            let mut arm = arm.clone();
            let nanoseconds = |span: Duration| i64::try_from(span.as_nanos()).unwrap_or(i64::MAX);
            let [low, high] = arm.median_range()?.map(nanoseconds);
            Some([low, nanoseconds(arm.percentile(50)?), high])
        };
        let [with, without] = [of(&self.with)?, of(&self.without)?];
        let saves_ns = with[1] - without[1];
        let both = |one: i64, other: i64| (one as f64).hypot(other as f64).ceil() as i64;
        Some(SavedTime {
            saves_ns,
            bounds_ns: [
                saves_ns - both(with[1] - with[0], without[2] - without[1]),
                saves_ns + both(with[2] - with[1], without[1] - without[0]),
            ],
        })
    }
}

/// From as many on the range of a median is known.
const MIN_OPERATIONS: u64 = 6;
/// After a shorter rest client and server compute faster, too: up to 2 ms (docs/prediction.md).
const MAX_WAKE_UP: Duration = Duration::from_millis(2);
const UNREADABLE: &str = "connections are encrypted, or in a protocol that longwire does not decode: run the application without TLS \
                         (sslmode=disable)";

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    fn operation(with: impl Iterator<Item = u64>, without: impl Iterator<Item = u64>) -> SparedOperation {
        let mut operation = SparedOperation::new(Arc::from("GET /"));
        with.for_each(|span| operation.with.add(ms(span)));
        without.for_each(|span| operation.without.add(ms(span)));
        operation
    }

    #[test]
    fn the_difference_of_medians_has_the_errors_of_both() {
        let saved = operation(800..830, 96..126).saved().expect("30 each");
        assert_eq!(saved.saves_ns, 704_000_000);
        let [low, high] = saved.bounds_ns;
        assert!(low < saved.saves_ns && saved.saves_ns < high && high - low < 20_000_000);
        let nothing = operation(90..120, 91..121).saved().expect("30 each");
        let [low, high] = nothing.bounds_ns;
        assert!(low <= 0 && high >= 0);
        assert_eq!(operation(90..120, 91..96).saved(), None);
        let mut partly = operation(800..830, 96..126);
        partly.mixed = 6;
        assert!(partly.saved().is_some());
        partly.mixed = 7;
        assert_eq!(partly.saved(), None);
    }

    #[test]
    fn a_difference_larger_than_the_removed_delay_is_known() {
        let outcome = SparingOutcome {
            rtt: ms(20),
            ..SparingOutcome::default()
        };
        let mut orders = operation(800..830, 96..126);
        let saved = orders.saved().expect("30 each");
        for (round_trips, exceeds) in [(35, false), (32, false), (31, true)] {
            orders.max_removed = round_trips;
            assert_eq!(outcome.exceeds_delay(&orders, saved), exceeds, "{round_trips}");
        }
    }

    #[test]
    fn too_few_spared_executions_prove_nothing() {
        let mut outcome = SparingOutcome {
            spared: "select ?".to_owned(),
            ..SparingOutcome::default()
        };
        assert!(outcome.refusal().is_some_and(|why| why.contains("none was seen")));
        outcome.executions = SparedExecutions {
            all: 200,
            removable: 190,
            spared: 100,
            not_at_rest: 90,
        };
        assert!(
            outcome
                .refusal()
                .is_some_and(|why| why.starts_with("only 100 of 190"))
        );
        outcome.executions.spared = 180;
        outcome.unreadable = 1;
        assert_eq!(outcome.refusal(), None);
        outcome.spared = "reconnect".to_owned();
        assert!(outcome.refusal().is_some_and(|why| why.contains("encrypted")));
    }
}
