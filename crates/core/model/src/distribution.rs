//! Percentiles of durations in bounded memory.

use crate::{Distribution, Nanos};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Collects durations and returns their [`Distribution`].
///
/// Exact up to 4096 samples. Further samples are counted in buckets with a middle at most 0.1 %
/// from any sample; minimum, maximum, sum and count stay exact. Memory grows with the number of
/// *different* buckets, at most 27,000.
///
/// A percentile is the nearest rank: the smallest sample with at least that share of samples at or
/// below it. The median of an even number of samples is the mean of the middle two.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "Vec<(u64, u64)>", into = "Vec<(u64, u64)>")]
pub struct DistributionBuilder {
    count: u64,
    sum: u128,
    min: u64,
    max: u64,
    recent: Vec<u64>,
    /// Sorted buckets and counts, empty while `recent` suffices.
    buckets: Vec<(u16, u64)>,
}

impl From<DistributionBuilder> for Vec<(u64, u64)> {
    /// Samples in nanoseconds with their counts, to be kept.
    fn from(builder: DistributionBuilder) -> Self {
        let samples = builder.samples();
        samples
            .map(|(sample, count)| (Nanos::from(sample).get(), count))
            .collect()
    }
}

impl From<Vec<(u64, u64)>> for DistributionBuilder {
    fn from(kept: Vec<(u64, u64)>) -> Self {
        let mut builder = Self::new();
        for (sample, count) in kept {
            (0..count).for_each(|_| builder.add(Duration::from_nanos(sample)));
        }
        builder
    }
}

impl DistributionBuilder {
    /// Creates an empty builder.
    pub const fn new() -> Self {
        Self {
            count: 0,
            sum: 0,
            min: 0,
            max: 0,
            recent: Vec::new(),
            buckets: Vec::new(),
        }
    }

    /// Adds one sample, at most 584 years.
    pub fn add(&mut self, sample: Duration) {
        let sample = u64::try_from(sample.as_nanos()).unwrap_or(u64::MAX);
        self.min = if self.count == 0 {
            sample
        } else {
            self.min.min(sample)
        };
        self.max = self.max.max(sample);
        self.count += 1;
        self.sum += u128::from(sample);
        self.recent.push(sample);
        if self.recent.len() > EXACT_SAMPLES {
            self.move_to_buckets();
        }
    }

    /// Adds all samples, exactly if both are few.
    pub fn merge(&mut self, mut other: Self) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            *self = other;
            return;
        }
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.count += other.count;
        self.sum += other.sum;
        self.recent.append(&mut other.recent);
        if !self.buckets.is_empty() || !other.buckets.is_empty() || self.recent.len() > EXACT_SAMPLES {
            self.move_to_buckets();
            self.add_buckets(&other.buckets);
        }
    }

    fn add_buckets(&mut self, others: &[(u16, u64)]) {
        for &(bucket, count) in others {
            match self.buckets.binary_search_by_key(&bucket, |(number, _)| *number) {
                Ok(index) => self.buckets[index].1 += count,
                Err(index) => self.buckets.insert(index, (bucket, count)),
            }
        }
    }

    /// The samples with their counts, to be stored and added again; bucket middles if there are
    /// many.
    fn samples(&self) -> impl Iterator<Item = (Duration, u64)> + '_ {
        let exact = self.recent.iter().map(|&sample| (sample, 1));
        let counted = self
            .buckets
            .iter()
            .map(|&(bucket, count)| (bucket_middle(bucket).clamp(self.min, self.max), count));
        exact
            .chain(counted)
            .map(|(sample, count)| (Duration::from_nanos(sample), count))
    }

    /// Number of added samples.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Exact sum of all samples.
    pub fn sum(&self) -> Duration {
        let seconds = u64::try_from(self.sum / 1_000_000_000).unwrap_or(u64::MAX);
        Duration::new(seconds, (self.sum % 1_000_000_000) as u32)
    }

    /// Mean, rounded down to nanoseconds, if there are samples.
    pub fn mean(&self) -> Option<Duration> {
        let mean = self.sum.checked_div(u128::from(self.count))?;
        Some(Duration::from_nanos(u64::try_from(mean).unwrap_or(u64::MAX)))
    }

    /// Nearest rank of `percent` (50 is the median), even with few samples.
    /// [`DistributionBuilder::distribution`] withholds uncertain percentiles instead.
    pub fn percentile(&mut self, percent: u8) -> Option<Duration> {
        if self.count == 0 {
            return None;
        }
        if self.buckets.is_empty() {
            // Calls repeat while samples arrive; a stable sort exploits that most are sorted.
            self.recent.sort();
        } else {
            self.move_to_buckets();
        }
        let rank = (u128::from(self.count) * u128::from(percent.min(100)))
            .div_ceil(100)
            .max(1) as u64;
        let value = self.at_rank(rank)?;
        let next = match percent {
            50 => self.at_rank(self.count / 2 + 1)?,
            _ => value,
        };
        Some(Duration::from_nanos(value.midpoint(next)))
    }

    /// Samples between which the median of the source lies with at least 95 % probability, if they
    /// are independent of each other. From their ranks, so of any distribution; `None` below 6
    /// samples.
    pub fn median_range(&mut self) -> Option<[Duration; 2]> {
        self.percentile(50)?;
        let rank = (((self.count + 1) as f64 - 1.96 * (self.count as f64).sqrt()) / 2.0) as u64;
        let ends = [rank, self.count + 1 - rank].map(|end| self.at_rank(end.max(1)));
        let [low, high] = ends.map(|end| end.map(Duration::from_nanos));
        Some([low?, high?]).filter(|_| rank > 0)
    }

    /// `rank` starts at 1; samples must be sorted.
    fn at_rank(&self, rank: u64) -> Option<u64> {
        match self.buckets.is_empty() {
            true => self.recent.get((rank - 1) as usize).copied(),
            false => self.bucket_at(rank),
        }
    }

    /// The [`Distribution`], with uncertain percentiles withheld.
    pub fn distribution(&mut self) -> Distribution {
        let some = |nanoseconds: u64, count: u64| (count > 0).then(|| Duration::from_nanos(nanoseconds));
        let (min, max) = (some(self.min, self.count), some(self.max, self.count));
        Distribution {
            count: self.count,
            min,
            max,
            mean: self.mean(),
            p50: self.percentile(50),
            p90: self.percentile_with_evidence(90),
            p95: self.percentile_with_evidence(95),
            p99: self.percentile_with_evidence(99),
        }
    }

    /// `None` with fewer than ten samples beyond the percentile.
    fn percentile_with_evidence(&mut self, percent: u8) -> Option<Duration> {
        let beyond = u128::from(self.count) * u128::from(100 - percent) / 100;
        if beyond < SAMPLES_BEYOND {
            None
        } else {
            self.percentile(percent)
        }
    }

    fn bucket_at(&self, rank: u64) -> Option<u64> {
        let mut seen = 0;
        let (bucket, _) = self.buckets.iter().find(|(_, count)| {
            seen += count;
            seen >= rank
        })?;
        Some(bucket_middle(*bucket).clamp(self.min, self.max))
    }

    fn move_to_buckets(&mut self) {
        self.recent.sort_unstable();
        let old = std::mem::take(&mut self.buckets);
        let mut old = old.into_iter().peekable();
        let mut merged: Vec<(u16, u64)> = Vec::with_capacity(old.len() + 64);
        for sample in self.recent.drain(..) {
            let bucket = bucket_of(sample);
            while let Some(earlier) = old.next_if(|(number, _)| *number <= bucket) {
                merged.push(earlier);
            }
            match merged.last_mut() {
                Some((number, count)) if *number == bucket => *count += 1,
                _ => merged.push((bucket, 1)),
            }
        }
        merged.extend(old);
        self.buckets = merged;
    }
}

/// Median, of an even number the mean of the middle two.
pub fn median(durations: impl IntoIterator<Item = Duration>) -> Option<Duration> {
    let mut durations: Vec<Duration> = durations.into_iter().collect();
    durations.sort_unstable();
    let last = durations.len().checked_sub(1)?;
    let (lower, upper) = (durations.get(last / 2)?, durations.get(durations.len() / 2)?);
    Some(*lower + upper.saturating_sub(*lower) / 2)
}

/// Median of numbers, like [`median`].
pub fn median_number(numbers: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut numbers: Vec<f64> = numbers.into_iter().collect();
    numbers.sort_by(f64::total_cmp);
    let last = numbers.len().checked_sub(1)?;
    Some(f64::midpoint(
        *numbers.get(last / 2)?,
        *numbers.get(numbers.len() / 2)?,
    ))
}

const EXACT_SAMPLES: usize = 4096;
/// Samples required beyond a reported percentile.
const SAMPLES_BEYOND: u128 = 10;
/// Buckets per doubling: 2^9, so a bucket's middle is at most 2^-10 (0.098 %) from its ends.
const BUCKET_BITS: u32 = 9;

/// Values below 2^9 have a bucket each; above, each doubling is cut into 2^9 equal buckets.
fn bucket_of(value: u64) -> u16 {
    let shift = (u64::BITS - value.leading_zeros()).saturating_sub(BUCKET_BITS + 1);
    ((u64::from(shift) << BUCKET_BITS) + (value >> shift)) as u16
}

fn bucket_middle(bucket: u16) -> u64 {
    let bucket = u64::from(bucket);
    let shift = (bucket >> BUCKET_BITS).saturating_sub(1);
    let base = (bucket - (shift << BUCKET_BITS)) << shift;
    base + ((1 << shift) >> 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn builder(samples: impl IntoIterator<Item = u64>) -> DistributionBuilder {
        let mut builder = DistributionBuilder::new();
        samples
            .into_iter()
            .for_each(|sample| builder.add(Duration::from_nanos(sample)));
        builder
    }

    #[test]
    fn nothing_is_known_of_no_samples() {
        assert_eq!(DistributionBuilder::new().distribution(), Distribution::default());
    }

    #[test]
    fn the_range_of_the_median_has_it_in_95_of_100_cases() {
        assert_eq!(builder(1..6).median_range(), None);
        for count in (6..600).chain([3_000]) {
            let [low, high] = builder(1..=count).median_range().expect("enough samples");
            let [low, high] = [low, high].map(|end| end.as_nanos() as u64);
            // Chance that fewer than `low` of all samples are below the median, from the binomial.
            let mut ln = -(count as f64) * 2_f64.ln();
            let mut outside = ln.exp();
            for below in 1..low {
                ln += ((count - below + 1) as f64 / below as f64).ln();
                outside += ln.exp();
            }
            assert!(2.0 * outside <= 0.05, "{count}: {outside}");
            assert!(count < 100 || 2.0 * outside > 0.03, "{count}: {outside}");
            assert_eq!(low + high, count + 1);
        }
    }

    #[test]
    fn percentiles_are_nearest_ranks() {
        let mut few = builder([30, 10, 20, 40]);
        assert_eq!(few.percentile(49), Some(Duration::from_nanos(20)));
        assert_eq!(few.percentile(75), Some(Duration::from_nanos(30)));
        assert_eq!(few.percentile(100), Some(Duration::from_nanos(40)));
        assert_eq!(few.percentile(0), Some(Duration::from_nanos(10)));
        assert_eq!(few.mean(), Some(Duration::from_nanos(25)));
    }

    #[test]
    fn the_median_of_an_even_number_is_the_mean_of_the_two_in_the_middle() {
        let expected = |nanos| Some(Duration::from_nanos(nanos));
        let shown = |samples: &[u64]| builder(samples.iter().copied()).distribution().p50;
        assert_eq!(shown(&[304, 118]), expected(211));
        assert_eq!(shown(&[118]), expected(118));
        assert_eq!(shown(&[1, 304, 118]), expected(118));
        assert_eq!(shown(&[304, 118, 1, 900]), expected(211));
        assert_eq!(shown(&[u64::MAX, u64::MAX]), expected(u64::MAX));
        // Also with samples in buckets: half of them below 200, half above 300.
        let many = builder((0..3000).flat_map(|_| [100, 400])).distribution();
        assert_eq!(many.p50, expected(250));
        for samples in [&[304, 118][..], &[118], &[1, 304, 118], &[304, 118, 1, 900]] {
            let few = median(samples.iter().copied().map(Duration::from_nanos));
            assert_eq!(few, shown(samples));
        }
        assert_eq!(median([]), None);
    }

    #[test]
    fn samples_can_be_kept_and_added_again() {
        for count in [0, 10, 10_000] {
            let mut kept = builder((1..=count).map(|number| number * 1_000));
            let mut again = DistributionBuilder::from(Vec::from(kept.clone()));
            assert_eq!(again.count(), kept.count());
            assert_eq!(again.percentile(95), kept.percentile(95));
        }
    }

    #[test]
    fn merged_samples_are_those_of_one_builder() {
        for (one, other) in [
            (0, 10),
            (10, 0),
            (10, 20),
            (4000, 4000),
            (100, 10_000),
            (10_000, 100),
            (9000, 9000),
        ] {
            let sample = |number: u64| number * 7919 % 100_003;
            let mut merged = builder((0..one).map(sample));
            merged.merge(builder((one..one + other).map(sample)));
            let mut whole = builder((0..one + other).map(sample));
            assert_eq!(merged.distribution(), whole.distribution(), "{one} and {other}");
            assert_eq!(merged.sum(), whole.sum());
        }
    }

    #[test]
    fn percentiles_without_ten_samples_beyond_are_withheld() {
        let shown = |count| {
            let spread = builder(1..=count).distribution();
            (
                spread.p50.is_some(),
                spread.p90.is_some(),
                spread.p95.is_some(),
                spread.p99.is_some(),
            )
        };
        assert_eq!(shown(1), (true, false, false, false));
        assert_eq!(shown(99), (true, false, false, false));
        assert_eq!(shown(100), (true, true, false, false));
        assert_eq!(shown(200), (true, true, true, false));
        assert_eq!(shown(1000), (true, true, true, true));
    }

    #[test]
    fn buckets_are_within_a_thousandth_over_the_whole_range() {
        let mut value: u64 = 1;
        loop {
            let middle = bucket_middle(bucket_of(value));
            assert!(
                middle.abs_diff(value) as f64 <= value as f64 * 0.001,
                "{value} -> {middle}"
            );
            let Some(next) = value.checked_add(value / 97 + 1) else {
                break;
            };
            value = next;
        }
        assert_eq!(bucket_of(0), 0);
        assert_eq!(bucket_middle(bucket_of(511)), 511);
        assert!(bucket_middle(bucket_of(u64::MAX)) > u64::MAX / 1001 * 1000);
    }

    #[test]
    fn many_samples_agree_with_sorting_them() {
        let mut state: u64 = 1;
        let mut samples: Vec<u64> = (0..100_000)
            .map(|_| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                1_000 + (state >> 33) % 1_000_000 * ((state >> 20) % 100)
            })
            .collect();
        let mut built = builder(samples.iter().copied());
        samples.sort_unstable();
        for percent in [1, 5, 50, 90, 95, 99, 100] {
            let exact = samples[samples.len() * usize::from(percent) / 100 - 1] as f64;
            let told = built.percentile(percent).expect("samples").as_nanos() as f64;
            assert!(
                (told - exact).abs() <= exact * 0.001,
                "p{percent}: {told} for {exact}"
            );
        }
        assert_eq!(
            built.sum().as_nanos(),
            samples.iter().map(|&sample| u128::from(sample)).sum::<u128>()
        );
        assert_eq!(
            built.distribution().max,
            samples.last().map(|&max| Duration::from_nanos(max))
        );
    }
}
