//! Histograms with both kinds of buckets of Prometheus and OTLP: explicit bounds, and a constant
//! number per doubling.

use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// Is exported in seconds.
    Time,
    /// Round trips that a client waited for.
    Turns,
}

/// Sum and count are exact.
///
/// Holds the explicit bounds, and at most a few hundred exponential buckets (eight per doubling).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Histogram {
    quantity: Quantity,
    count: u64,
    /// In nanoseconds, or round trips.
    sum: u128,
    zeros: u64,
    /// Count up to and including each bound, above the previous one; last, the rest.
    classic: Vec<u64>,
    /// Number of a bucket and count, in order. Bucket i ends at 2^(i / 8), inclusive, and begins
    /// where i - 1 ends.
    exponential: Vec<(i32, u64)>,
}

/// Buckets per doubling as a power of two: Prometheus's `schema`, OpenTelemetry's `scale`.
pub const SCHEMA: i32 = 3;

const BUCKETS_A_DOUBLING: i32 = 1 << SCHEMA;

impl Quantity {
    /// Upper bounds, ascending, in [`Quantity::unit`]. Those of times include the ones that the
    /// OpenTelemetry conventions advise for `db.client.operation.duration`.
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

    /// As written in OpenTelemetry.
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Time => "s",
            Self::Turns => "{turn}",
        }
    }

    /// Converts nanoseconds or round trips to the unit.
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

    /// Must only be called for [`Quantity::Time`].
    pub fn add_time(&mut self, time: Duration) {
        self.add(time.as_nanos());
    }

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

    /// `other` must have the same quantity.
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

    pub const fn quantity(&self) -> Quantity {
        self.quantity
    }

    pub const fn count(&self) -> u64 {
        self.count
    }

    /// In the quantity's unit; exact except for the last digit of a double.
    pub fn sum(&self) -> f64 {
        self.quantity.in_unit(self.sum)
    }

    /// In nanoseconds or round trips, exact.
    pub const fn exact_sum(&self) -> u128 {
        self.sum
    }

    pub const fn zeros(&self) -> u64 {
        self.zeros
    }

    /// Count up to and including each of [`Quantity::bounds`], above the previous one; last, the
    /// rest.
    pub fn classic(&self) -> &[u64] {
        &self.classic
    }

    /// Non-empty buckets by number: bucket i ends at 2^(i / 8), inclusive, and begins where i - 1
    /// ends. Zeros are in no bucket.
    pub fn exponential(&self) -> &[(i32, u64)] {
        &self.exponential
    }
}

/// `value` must be above zero.
fn bucket_of(value: f64) -> i32 {
    // The logarithm rounds. At the bounds, which round trips often hit, the neighbour may be right.
    let near = (value.log2() * f64::from(BUCKETS_A_DOUBLING)).ceil() as i32;
    if value <= end_of(near - 1) {
        near - 1
    } else if value > end_of(near) {
        near + 1
    } else {
        near
    }
}

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
