//! Start times in an open loop.

use super::super::Rate;
use std::time::{Duration, Instant};

/// A Poisson process, for independent users as in pgbench's `--rate`. Times depend only on the
/// seed.
#[derive(Debug)]
pub(crate) struct Arrivals {
    next: Instant,
    mean: f64,
    state: u64,
}

impl Arrivals {
    /// The share of `clients` out of `all` in `rate`, from `start` on.
    pub fn new(rate: Rate, clients: usize, all: usize, start: Instant, seed: u64) -> Self {
        let share = clients.max(1) as f64 / all.max(1) as f64;
        let mut arrivals = Self {
            next: start,
            mean: 1.0 / (rate.count_per_second() * share),
            state: seed,
        };
        arrivals.advance();
        arrivals
    }

    pub const fn next(&self) -> Instant {
        self.next
    }

    pub fn advance(&mut self) {
        // 53 bits, plus one: above 0, at most 1.
        let drawn = ((self.draw() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
        let pause = Duration::try_from_secs_f64(-drawn.ln() * self.mean).unwrap_or(MAX_DURATION);
        self.next = self.next.checked_add(pause).unwrap_or(self.next + MAX_DURATION);
    }

    /// Number of starts before `end`: exact up to [`COUNTED`], then estimated from the rate.
    pub fn before(mut self, end: Instant) -> u64 {
        let mut count = 0;
        while self.next < end {
            if count == COUNTED {
                return count + (end.duration_since(self.next).as_secs_f64() / self.mean) as u64;
            }
            count += 1;
            self.advance();
        }
        count
    }

    /// SplitMix64 (Steele, Lea, Flood 2014).
    fn draw(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }
}

const MAX_DURATION: Duration = Duration::from_secs(365 * 24 * 3600);
const COUNTED: u64 = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_come_as_the_rate_says_and_the_same_for_the_same_seed() {
        let rate = Rate::per_second(1000.0).expect("a rate");
        let start = Instant::now();
        let count = |seed| Arrivals::new(rate, 1, 4, start, seed).before(start + Duration::from_secs(100));
        // 25,000 expected, standard deviation 158.
        assert!((24_200..=25_800).contains(&count(1)), "{}", count(1));
        assert_eq!(count(1), count(1));
        assert_ne!(count(1), count(2));
    }

    #[test]
    fn a_backlog_of_years_is_counted_at_once() {
        let rate = Rate::per_second(1e6).expect("a rate");
        let start = Instant::now();
        let count = Arrivals::new(rate, 1, 1, start, 1).before(start + Duration::from_secs(1_000_000));
        assert!((count as f64 / 1e12 - 1.0).abs() < 0.01, "{count}");
    }
}
