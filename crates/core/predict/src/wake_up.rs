//! Cost of computing after a longer rest than measured.
//!
//! Over a longer link client and server rest longer between messages. Processors go to sleep and
//! caches are overwritten, so the same work takes longer, as its data must be loaded again:
//! docs/prediction.md#waking-up.
//!
//! A shared processor rests less than each of its users. Common data stays loaded then; data of one
//! connection does not.

use crate::calibration::CalibratedCurve;
use model::{CalibratedFactor, Nanos, PerSide, Side};
use std::time::Duration;

#[expect(
    clippy::large_enum_variant,
    reason = "a predictor holds one, and it stays `Copy`"
)]
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum WakeUp {
    #[default]
    Assumed,
    None,
    /// Measured by `longwire calibrate`; a side without a curve as assumed.
    Calibrated(PerSide<Option<CalibratedCurve>>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rest {
    pub measured: Nanos,
    /// Rest of the side itself on the target.
    pub own: Nanos,
    /// Rest of its processor, `None` if not shared.
    pub processor: Option<Nanos>,
}

/// Additional time for some work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Waking {
    pub expected: Nanos,
    pub low: Nanos,
    pub high: Nanos,
}

impl WakeUp {
    pub fn waking(&self, side: Side, work: Nanos, rest: Rest) -> Waking {
        let longer = rest.own.saturating_sub(rest.measured);
        self.scaled(side, longer, || allowance(work, rest))
    }

    /// On a processor of its own, after a rest of `own`.
    pub fn after_rest(&self, side: Side, work: &RestedWork, own: Nanos) -> Waking {
        let longer = own.saturating_sub(work.rested);
        self.scaled(side, longer, || work.allowance(own))
    }

    fn scaled(&self, side: Side, longer: Nanos, allowance: impl Fn() -> Nanos) -> Waking {
        let factor = match self {
            Self::None => return Waking::default(),
            Self::Assumed => ASSUMED,
            Self::Calibrated(curves) => curves[side].as_ref().map_or(ASSUMED, |curve| curve.at(longer)),
        };
        let allowance = allowance();
        let times = |factor: f64| match factor {
            0.0 => Nanos::ZERO,
            1.0 => allowance,
            _ => Nanos::from_f64((allowance.as_f64() * factor).max(0.0)),
        };
        Waking {
            expected: times(factor.factor),
            low: times(factor.factor_low),
            high: times(factor.factor_high),
        }
    }

    /// Additional error per round trip that no curve contains.
    pub fn sleep(self) -> Duration {
        let measured = match self {
            Self::Assumed | Self::None => 0,
            Self::Calibrated(curves) => {
                let curves = curves.iter().flatten();
                curves.filter(|curve| curve.is_whole()).count() as u32
            }
        };
        SLEEP * (3 - measured) / 3
    }
}

/// Some work and the rest before it, as measured.
#[derive(Debug, Clone, Copy)]
pub struct RestedWork {
    rested: Nanos,
    coldness: f64,
    /// Additional nanoseconds if all is cold.
    most: f64,
}

impl RestedWork {
    pub fn new(work: Nanos, rested: Nanos) -> Self {
        Self {
            rested,
            coldness: coldness(rested),
            most: most_for(work),
        }
    }

    pub const fn rested(&self) -> Nanos {
        self.rested
    }

    fn allowance(&self, own: Nanos) -> Nanos {
        Nanos::from_f64(self.colder(own) * self.most)
    }

    fn colder(&self, rested: Nanos) -> f64 {
        (coldness(rested) - self.coldness).max(0.0)
    }
}

pub(crate) fn allowance(work: Nanos, rest: Rest) -> Nanos {
    let of = RestedWork::new(work, rest.measured);
    let Some(rested) = rest.processor.filter(|rested| *rested < rest.own) else {
        return of.allowance(rest.own);
    };
    let apart = at_most(work.as_f64() * OWN_FACTOR, MAX_CONNECTION_ALLOWANCE).min(of.most);
    Nanos::from_f64(of.colder(rest.own) * apart + of.colder(rested) * (of.most - apart))
}

/// Cache state after a rest: 0 is warm, 1 is cold.
fn coldness(rested: Nanos) -> f64 {
    let rested = rested.as_f64();
    rested / (rested + HALF_COLD.as_nanos() as f64)
}

/// Maximum additional time of `work`, in nanoseconds.
fn most_for(work: Nanos) -> f64 {
    at_most(work.as_f64() * COLD_FACTOR, MAX_ALLOWANCE)
}

/// Saturates `nanos` smoothly at `most`.
fn at_most(nanos: f64, most: Duration) -> f64 {
    let most = most.as_nanos() as f64;
    nanos * most / (nanos + most)
}

/// Rest that has half of the effect.
pub const HALF_COLD: Duration = Duration::from_micros(6_000);
/// Maximum for short work, as a multiple of it.
pub const COLD_FACTOR: f64 = 3.5;
/// Limit for long work: by then all data is loaded.
pub const MAX_ALLOWANCE: Duration = Duration::from_millis(2);
/// Part of [`COLD_FACTOR`] loaded per connection.
pub const OWN_FACTOR: f64 = 1.5;
/// Limit of the per-connection part for long work.
pub const MAX_CONNECTION_ALLOWANCE: Duration = Duration::from_micros(150);

/// Nine in ten programs are within.
pub const ASSUMED: CalibratedFactor = CalibratedFactor {
    factor: 1.0,
    factor_low: 0.0,
    factor_high: 2.0,
};
/// Additional error per round trip: the processors of client, server and link sleep deeper.
const SLEEP: Duration = Duration::from_micros(150);

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn allowance(work: u64, measured: u64, own: u64, processor: Option<u64>) -> u64 {
        let work = Nanos::new(work);
        let rest = Rest {
            measured: Nanos::new(measured),
            own: Nanos::new(own),
            processor: processor.map(Nanos::new),
        };
        assert_eq!(WakeUp::None.waking(Side::Server, work, rest), Waking::default());
        WakeUp::Assumed.waking(Side::Server, work, rest).expected.get()
    }

    #[test]
    fn who_rests_no_longer_needs_no_longer() {
        assert_eq!(allowance(MS, 5 * MS, 5 * MS, None), 0);
        assert_eq!(allowance(MS, 5 * MS, MS, Some(0)), 0);
        assert_eq!(allowance(0, 0, 20 * MS, None), 0);
    }

    #[test]
    fn the_allowance_grows_with_the_rest_and_with_the_work_up_to_a_limit() {
        assert!(allowance(100_000, 0, 5 * MS, None) < allowance(100_000, 0, 20 * MS, None));
        assert!(allowance(100_000, 0, 20 * MS, None) < allowance(200_000, 0, 20 * MS, None));
        assert!(allowance(100_000, 20 * MS, 40 * MS, None) < allowance(100_000, 0, 20 * MS, None) / 4);
        assert!(allowance(u64::MAX, 0, u64::MAX, None) <= MAX_ALLOWANCE.as_nanos() as u64);
    }

    #[test]
    fn a_processor_that_others_keep_awake_leaves_what_is_a_connections_own() {
        let alone = allowance(400_000, 0, 20 * MS, None);
        assert_eq!(allowance(400_000, 0, 20 * MS, Some(20 * MS)), alone);
        let busy = allowance(400_000, 0, 20 * MS, Some(0));
        assert!(busy < alone / 4 && busy <= MAX_CONNECTION_ALLOWANCE.as_nanos() as u64);
        assert!((busy..alone).contains(&allowance(400_000, 0, 20 * MS, Some(MS))));
    }

    #[test]
    fn at_most_it_is_twice_as_much_also_on_a_shared_processor() {
        let rest = Rest {
            measured: Nanos::ZERO,
            own: Nanos::new(20 * MS),
            processor: Some(Nanos::new(MS)),
        };
        let Waking { expected, low, high } = WakeUp::Assumed.waking(Side::Server, Nanos::new(400_000), rest);
        assert!(
            low.is_zero() && high.get().abs_diff(2 * expected.get()) <= 1,
            "{expected:?} {high:?}"
        );
    }
}
