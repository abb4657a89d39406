//! Histograms of packet lateness, and percentiles of sums of two.

/// Counts spans of nanoseconds in buckets at most 1.6 % wide.
#[derive(Debug, Clone)]
pub(super) struct Lateness {
    buckets: Box<[u64; BUCKETS]>,
    count: u64,
}

impl Lateness {
    pub(super) fn new() -> Self {
        Self {
            buckets: Box::new([0; BUCKETS]),
            count: 0,
        }
    }

    pub(super) fn add(&mut self, nanoseconds: u64) {
        self.buckets[bucket(nanoseconds)] += 1;
        self.count += 1;
    }

    pub(super) const fn count(&self) -> u64 {
        self.count
    }

    fn filled(&self) -> Vec<(u64, f64)> {
        let filled = self.buckets.iter().enumerate().filter(|(_, count)| **count > 0);
        filled
            .map(|(number, count)| (middle(number), *count as f64 / self.count as f64))
            .collect()
    }
}

/// Percentiles of a round trip's lateness, if both ways are independent. `None` if one has no
/// samples.
pub(super) fn percentiles_of_sum(there: &Lateness, back: &Lateness, percents: [f64; 2]) -> Option<[u64; 2]> {
    let (there, back) = (there.filled(), back.filled());
    let mut sums: Vec<(u64, f64)> = there
        .iter()
        .flat_map(|(first, share)| {
            back.iter()
                .map(move |(second, other)| (first + second, share * other))
        })
        .collect();
    sums.sort_unstable_by_key(|(sum, _)| *sum);
    let last = sums.last()?.0;
    Some(percents.map(|percent| {
        let mut seen = 0.0;
        let found = sums.iter().find(|(_, share)| {
            seen += share;
            seen >= percent / 100.0
        });
        found.map_or(last, |(sum, _)| *sum)
    }))
}

/// Exact below 64, then with 64 buckets for each doubling.
fn bucket(nanoseconds: u64) -> usize {
    let top = 63 - nanoseconds.max(1).leading_zeros();
    let shift = top.saturating_sub(FINE_BITS);
    let number = (u64::from(shift) << FINE_BITS) + (nanoseconds >> shift);
    usize::try_from(number).map_or(BUCKETS - 1, |number| number.min(BUCKETS - 1))
}

fn middle(bucket: usize) -> u64 {
    let number = bucket as u64;
    let shift = (number >> FINE_BITS).saturating_sub(1);
    ((number - (shift << FINE_BITS)) << shift) + ((1 << shift) >> 1)
}

const FINE_BITS: u32 = 6;
/// Up to 36 minutes, which longer ones count as.
const BUCKETS: usize = 36 << FINE_BITS;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_holds_what_is_near_its_middle() {
        for exponent in 0..40 {
            for step in 0..50_u64 {
                let value = (1_u64 << exponent) + (step << exponent) / 50;
                let middle = middle(bucket(value));
                assert!(
                    middle.abs_diff(value) * 64 <= value,
                    "{value} in the bucket of {middle}"
                );
            }
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn percentiles_of_a_sum() {
        let (mut there, mut back) = (Lateness::new(), Lateness::new());
        for _ in 0..90 {
            there.add(10);
        }
        for _ in 0..10 {
            there.add(60);
        }
        back.add(1);
        assert_eq!(percentiles_of_sum(&there, &back, [50.0, 99.0]), Some([11, 61]));
        assert_eq!(percentiles_of_sum(&there, &Lateness::new(), [50.0, 99.0]), None);
    }
}
