//! Compares settings by the ratios of adjacent jobs, so that drift of the machine affects both.

use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    pub median: f64,
    /// 95 % interval of the true median; less certain below [`MIN_PAIRS`] pairs.
    bounds: [f64; 2],
    pairs: usize,
}

impl Ratio {
    /// Divides the first time of each pair by the second.
    pub fn from_pairs(pairs: impl IntoIterator<Item = [Duration; 2]>) -> Option<Self> {
        let seconds = |time: Duration| time.as_secs_f64().max(EPSILON);
        let ratio = |[one, other]: [Duration; 2]| seconds(one) / seconds(other);
        let mut ratios: Vec<f64> = pairs.into_iter().map(ratio).collect();
        ratios.sort_by(f64::total_cmp);
        let count = ratios.len();
        let last = count.checked_sub(1)?;
        // Each of n values is equally likely above and below the median, so n/2 are above it, with
        // a standard deviation of half the root of n.
        let place = ((count as f64 - SURE * (count as f64).sqrt()) / 2.0).max(0.0) as usize;
        let at = |place: usize| ratios.get(place).copied();
        Some(Self {
            median: model::median_number(ratios.iter().copied())?,
            bounds: [at(place)?, at(last - place)?],
            pairs: count,
        })
    }

    /// True if the first is hardly slower, or not significantly slower.
    pub fn is_as_good(&self) -> bool {
        self.median <= AS_GOOD || (self.pairs >= MIN_PAIRS && self.least() <= 1.0)
    }

    pub fn is_surely_beyond(&self, factor: f64) -> bool {
        self.least() > factor
    }

    pub fn is_surely_within(&self, factor: f64) -> bool {
        self.most() <= factor
    }

    const fn least(&self) -> f64 {
        let [least, _] = self.bounds;
        least
    }

    const fn most(&self) -> f64 {
        let [_, most] = self.bounds;
        most
    }
}

/// Up to this ratio a setting is as good, even if certainly slower.
const AS_GOOD: f64 = 1.03;
/// With fewer, an interval that contains 1 is meaningless.
const MIN_PAIRS: usize = 5;
/// Standard deviations of a 95 % interval.
const SURE: f64 = 1.96;
const EPSILON: f64 = 1e-9;

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(of: &[[u64; 2]]) -> Ratio {
        let pairs = of.iter().map(|pair| pair.map(Duration::from_micros));
        Ratio::from_pairs(pairs).expect("pairs")
    }

    #[test]
    fn what_is_always_slower_is_surely_slower() {
        let found = ratio(&[[110, 100], [220, 200], [330, 300], [111, 100], [120, 100]]);
        assert!((found.median - 1.1).abs() < 1e-9);
        assert!(found.is_surely_beyond(1.05) && !found.is_as_good());
    }

    #[test]
    fn a_machine_that_gets_slower_changes_no_ratio() {
        let pairs: Vec<[u64; 2]> = (1..=20).map(|pace| [102 * pace, 100 * pace]).collect();
        let found = ratio(&pairs);
        assert!(found.is_surely_within(1.03) && found.is_as_good(), "{found:?}");
    }

    #[test]
    fn what_scatters_more_than_it_differs_is_as_good_but_not_surely() {
        let pairs: Vec<[u64; 2]> = (0..20).map(|turn| [100 + turn % 5 * 10, 110]).collect();
        let found = ratio(&pairs);
        assert!(found.is_as_good() && !found.is_surely_within(0.95), "{found:?}");
    }

    #[test]
    fn few_pairs_decide_by_their_median_alone() {
        let found = ratio(&[[100, 101], [130, 100]]);
        assert!(!found.is_as_good() && !found.is_surely_beyond(1.0));
        assert_eq!(Ratio::from_pairs([]), None);
    }
}
