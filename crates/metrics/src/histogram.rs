//! Histograms with the buckets of both kinds that Prometheus and OTLP know: given bounds, and a constant
//! number for each doubling.

use std::time::Duration;

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// Time; shown in seconds.
    Time,
    /// Round trips that a client waited for; shown as they are.
    Turns,
}

/// How many values fell where. Sum and count are exact.
///
/// Memory: the given bounds, and at most a few hundred buckets of the other kind (eight for each doubling).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Histogram {
    quantity: Quantity,
    count: u64,
    /// In nanoseconds, or round trips.
    sum: u128,
    zeros: u64,
    /// How many are at most as large as each bound, and larger than the one before; last those beyond all.
    classic: Vec<u64>,
    /// Number of a bucket, and how many are in it; ordered by number. Bucket i ends at 2^(i / 8), included,
    /// and begins where i - 1 ends.
    exponential: Vec<(i32, u64)>,
}

/// Buckets for each doubling are 2 to the power of this: Prometheus's `schema`, OpenTelemetry's `scale`.
pub const SCHEMA: i32 = 3;

const BUCKETS_A_DOUBLING: i32 = 1 << SCHEMA;

impl Quantity {
    /// Upper bounds of the given buckets, ascending, in [`Quantity::unit`]. Those of times contain the ones
    /// that the OpenTelemetry conventions advise for `db.client.operation.duration`.
    pub const fn bounds(self) -> &'static [f64] {
        match self {
            Self::Time => &[
                0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5,
                5.0, 10.0,
            ],
            Self::Turns => &[
                0.0, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0,
            ],
        }
    }

    /// The unit as OpenTelemetry writes it.
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Time => "s",
            Self::Turns => "{turn}",
        }
    }

    /// A value in the unit, of one in nanoseconds or round trips.
    fn in_unit(self, value: u128) -> f64 {
        match self {
            // Whole seconds apart: a sum over months has more nanoseconds than a double has digits.
            Self::Time => (value / NANOS) as f64 + (value % NANOS) as f64 / NANOS as f64,
            Self::Turns => value as f64,
        }
    }
}

const NANOS: u128 = 1_000_000_000;

impl Histogram {
    /// An empty one.
    pub fn new(quantity: Quantity) -> Self {
        Self {
            quantity,
            count: 0,
            sum: 0,
            zeros: 0,
            classic: vec![0; quantity.bounds().len() + 1],
            exponential: Vec::new(),
        }
    }

    /// Adds a time. Of turns it would be meaningless.
    pub fn add_time(&mut self, time: Duration) {
        self.add(time.as_nanos());
    }

    /// Adds a number of round trips.
    pub fn add_turns(&mut self, turns: u64) {
        self.add(u128::from(turns));
    }

    fn add(&mut self, value: u128) {
        self.count += 1;
        self.sum += value;
        let shown = self.quantity.in_unit(value);
        let place = self.quantity.bounds().partition_point(|bound| *bound < shown);
        if let Some(bucket) = self.classic.get_mut(place) {
            *bucket += 1;
        }
        if value == 0 {
            self.zeros += 1;
        } else {
            self.count_in(bucket_of(shown), 1);
        }
    }

    fn count_in(&mut self, bucket: i32, more: u64) {
        match self
            .exponential
            .binary_search_by_key(&bucket, |(number, _)| *number)
        {
            Ok(place) => self.exponential[place].1 += more,
            Err(place) => self.exponential.insert(place, (bucket, more)),
        }
    }

    /// Adds all values of another of the same quantity.
    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.sum += other.sum;
        self.zeros += other.zeros;
        for (bucket, more) in self.classic.iter_mut().zip(&other.classic) {
            *bucket += more;
        }
        for (bucket, more) in &other.exponential {
            self.count_in(*bucket, *more);
        }
    }

    /// What is counted.
    pub const fn quantity(&self) -> Quantity {
        self.quantity
    }

    /// How many values.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Their sum, in the quantity's unit; exact but for the last digit of a double.
    pub fn sum(&self) -> f64 {
        self.quantity.in_unit(self.sum)
    }

    /// The sum in nanoseconds or round trips, exact.
    pub const fn exact_sum(&self) -> u128 {
        self.sum
    }

    /// How many are zero.
    pub const fn zeros(&self) -> u64 {
        self.zeros
    }

    /// How many lie above the bound before and at most at each of [`Quantity::bounds`]; last those beyond
    /// all.
    pub fn classic(&self) -> &[u64] {
        &self.classic
    }

    /// Buckets with something in them, by number: bucket i ends at 2^(i / 8), included, and begins where i -
    /// 1 ends. Zeros are in none.
    pub fn exponential(&self) -> &[(i32, u64)] {
        &self.exponential
    }
}

/// The bucket of a value above zero.
fn bucket_of(value: f64) -> i32 {
    // The logarithm rounds; at the bounds themselves, which round trips often are, the neighbour may be
    // right.
    let near = (value.log2() * f64::from(BUCKETS_A_DOUBLING)).ceil() as i32;
    if value <= end_of(near - 1) {
        near - 1
    } else if value > end_of(near) {
        near + 1
    } else {
        near
    }
}

/// Where a bucket ends.
fn end_of(bucket: i32) -> f64 {
    (f64::from(bucket) / f64::from(BUCKETS_A_DOUBLING)).exp2()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_two_end_their_buckets() {
        for exponent in -20..20_i32 {
            assert_eq!(
                bucket_of(f64::from(exponent).exp2()),
                exponent * BUCKETS_A_DOUBLING
            );
        }
        assert_eq!(bucket_of(1.000_001), 1);
    }

    #[test]
    fn every_value_is_in_its_bucket() {
        for nanoseconds in (0..40).map(|power| 3_u64.pow(power)) {
            let value = nanoseconds as f64 / 1e9;
            let bucket = bucket_of(value);
            assert!(value <= end_of(bucket) && value > end_of(bucket - 1), "{value}");
        }
    }

    #[test]
    fn bounds_are_included() {
        let mut histogram = Histogram::new(Quantity::Time);
        histogram.add_time(Duration::from_millis(1));
        histogram.add_time(Duration::from_nanos(1_000_001));
        histogram.add_time(Duration::from_secs(11));
        let found: Vec<usize> = (0..histogram.classic().len())
            .filter(|&place| histogram.classic()[place] > 0)
            .collect();
        assert_eq!(found, [3, 4, 16]);
        assert_eq!(histogram.exact_sum(), 11_002_000_001);
    }

    #[test]
    fn sums_of_months_keep_their_microseconds() {
        let mut histogram = Histogram::new(Quantity::Time);
        histogram.add_time(Duration::new(10_000_000, 1_000));
        assert!((histogram.sum() - 10_000_000.000_001).abs() < 1e-8);
    }
}
