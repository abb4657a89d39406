//! Pseudorandom numbers, equal for the same seed on every machine.

/// SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014).
#[derive(Debug, Clone)]
pub struct Draws {
    state: u64,
}

impl Draws {
    /// Sequences with different `purpose` are independent.
    pub const fn new(seed: u64, purpose: u64) -> Self {
        Self {
            state: mix(seed ^ mix(purpose.wrapping_add(GOLDEN))),
        }
    }

    /// The next draw, uniform over 64 bits.
    pub const fn draw(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GOLDEN);
        mix(self.state)
    }

    /// The next draw as a fraction from 0, below 1.
    pub fn draw_fraction(&mut self) -> f64 {
        (self.draw() >> 11) as f64 / (1u64 << 53) as f64
    }
}

const fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
