//! Random numbers identical to those of pgbench 15 and later for a given seed.
//!
//! The generator is xoroshiro128** (Blackman, Vigna 2018), seeded by SplitMix64 (Steele, Lea, Flood
//! 2014).

use std::f64::consts::PI;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Random {
    one: u64,
    other: u64,
}

pub(super) struct Seeds {
    pub client: Random,
    /// For the choice of scripts. pgbench draws these per thread, so the order of scripts differs.
    pub choosing: Random,
    /// The value of `default_seed`, equal for all clients.
    pub hashing: i64,
}

impl Seeds {
    /// One sequence seeds each client, then `default_seed`.
    pub fn new(seed: u64, client: u32, clients: u32) -> Self {
        let mut base = Random::new(seed);
        let mut seeds = (0..clients.max(1)).map(|_| base.draw());
        let own = seeds.nth(client as usize).unwrap_or(seed);
        seeds.for_each(drop);
        let hashing = base.draw() as i64;
        Self {
            client: Random::new(own),
            choosing: Random::new(own.rotate_left(32)),
            hashing,
        }
    }
}

impl Random {
    pub fn new(seed: u64) -> Self {
        let mut state = seed;
        let mut mixed = || {
            state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let value = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            value ^ (value >> 31)
        };
        Self {
            one: mixed(),
            other: mixed(),
        }
    }

    pub fn draw(&mut self) -> u64 {
        let (one, other) = (self.one, self.one ^ self.other);
        self.one = one.rotate_left(24) ^ other ^ (other << 16);
        self.other = other.rotate_left(37);
        one.wrapping_mul(5).rotate_left(7).wrapping_mul(9)
    }

    /// Uniform from 0 to `most`, inclusive, by rejection.
    pub fn up_to(&mut self, most: u64) -> u64 {
        if most == 0 {
            return 0;
        }
        loop {
            let drawn = self.draw() >> most.leading_zeros();
            if drawn <= most {
                return drawn;
            }
        }
    }

    /// Uniform from `low` to `high`, inclusive; requires `low` <= `high`.
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        low.wrapping_add(self.up_to(high.wrapping_sub(low) as u64) as i64)
    }

    /// Uniform in [0, 1).
    fn share(&mut self) -> f64 {
        (self.draw() >> 12) as f64 / (1_u64 << 52) as f64
    }

    /// As [`Random::between`], with exponentially falling density, down to `exp(-parameter)` at the
    /// end.
    pub fn exponential(&mut self, low: i64, high: i64, parameter: f64) -> i64 {
        let cut = (-parameter).exp();
        let uniform = 1.0 - self.share();
        let share = -(cut + (1.0 - cut) * uniform).ln() / parameter;
        at_share(low, high, share)
    }

    /// As [`Random::between`], from a normal distribution cut at `parameter` standard deviations.
    pub fn gaussian(&mut self, low: i64, high: i64, parameter: f64) -> i64 {
        loop {
            let (one, other) = (1.0 - self.share(), 1.0 - self.share());
            let deviation = (-2.0 * one.ln()).sqrt() * (2.0 * PI * other).sin();
            if (-parameter..parameter).contains(&deviation) {
                return at_share(low, high, (deviation + parameter) / (parameter * 2.0));
            }
        }
    }

    /// As [`Random::between`], the k-th value with frequency `1 / k^exponent`, by rejection (Luc
    /// Devroye, Non-Uniform Random Variate Generation, Springer 1986, page 550).
    pub fn zipfian(&mut self, low: i64, high: i64, exponent: f64) -> i64 {
        let count = high - low + 1;
        if count <= 1 {
            return low;
        }
        let bound = 2_f64.powf(exponent - 1.0);
        loop {
            let (one, other) = (self.share(), self.share());
            let rank = one.powf(-1.0 / (exponent - 1.0)).floor();
            let ratio = (1.0 + 1.0 / rank).powf(exponent - 1.0);
            if other * rank * (ratio - 1.0) / (bound - 1.0) <= ratio / bound && rank <= count as f64 {
                return low - 1 + rank as i64;
            }
        }
    }
}

fn at_share(low: i64, high: i64, share: f64) -> i64 {
    low + ((high - low + 1) as f64 * share) as i64
}

/// Position of `value` in a permutation of 0 to `size` - 1, chosen by `seed`; equal to pgbench's
/// `permute()`. `size` is at least 1.
///
/// Six rounds, each a bijection: the lower power-of-two part is multiplied by an odd number, mixed
/// and rotated; then the same from the upper end; then an offset rotates all.
pub(super) fn permute(value: i64, size: i64, seed: i64) -> i64 {
    if size < 2 {
        return 0;
    }
    let mut random = Random::new(seed as u64);
    let size = size as u64;
    let bits = size.ilog2();
    let mask = (1_u64 << bits) - 1;
    let round_of = |value: u64, random: &mut Random| {
        let factor = (random.draw() & mask) | 1;
        let mixed = random.draw() & mask;
        if value > mask {
            return value;
        }
        let value = (value.wrapping_mul(factor) ^ mixed) & mask;
        ((value << 1) & mask) | (value >> (bits - 1))
    };
    let mut at = value as u64 % size;
    for _ in 0..6 {
        at = round_of(at, &mut random);
        at = size - 1 - round_of(size - 1 - at, &mut random);
        at = (at + random.up_to(size - 1)) % size;
    }
    at as i64
}

/// FNV-1a of the eight bytes of `value`, least significant first.
pub(super) fn fnv1a(value: i64, seed: i64) -> i64 {
    let basis = 0xcbf2_9ce4_8422_2325 ^ seed as u64;
    let hash = value.to_le_bytes().iter().fold(basis, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    hash as i64
}

/// MurmurHash64A (Appleby) of the eight bytes of `value`.
pub(super) fn murmur2(value: i64, seed: i64) -> i64 {
    const FACTOR: u64 = 0xc6a4_a793_5bd1_e995;
    const SHIFT: u32 = 47;
    let mut word = (value as u64).wrapping_mul(FACTOR);
    word = (word ^ (word >> SHIFT)).wrapping_mul(FACTOR);
    let mut hash = seed as u64 ^ FACTOR.wrapping_mul(8);
    hash = (hash ^ word).wrapping_mul(FACTOR);
    hash = (hash ^ (hash >> SHIFT)).wrapping_mul(FACTOR);
    (hash ^ (hash >> SHIFT)) as i64
}
