//! Costs of the levels on the current data and processor.

use crate::CompressionLevel;
use model::Timestamp;
use std::time::Duration;

#[derive(Debug, Default)]
pub(super) struct Experience {
    levels: [Known; 10],
}

#[derive(Debug, Clone, Copy, Default)]
struct Known {
    at: Timestamp,
    payload: f64,
    bytes: f64,
    seconds: f64,
}

#[derive(Debug, Clone, Copy)]
struct Cost {
    /// Codec seconds per payload byte.
    codec: f64,
    /// Compressed bytes per payload byte.
    left: f64,
}

impl Experience {
    pub(super) fn learn(
        &mut self,
        at: Timestamp,
        level: CompressionLevel,
        payload: usize,
        bytes: usize,
        took: Duration,
    ) {
        let Some(known) = self.levels.get_mut(usize::from(level.number())) else {
            return;
        };
        let kept = if known.is_fresh(at) {
            1.0 - (payload as f64 / HORIZON).min(1.0)
        } else {
            0.0
        };
        known.at = at;
        known.payload = known.payload * kept + payload as f64;
        known.bytes = known.bytes * kept + bytes as f64;
        known.seconds = known.seconds * kept + took.as_secs_f64();
    }

    pub(super) fn rested(&mut self, unused: Duration) {
        for known in &mut self.levels {
            known.at = known.at.after(unused);
        }
    }

    /// The cheapest level on a lane of `rate` bytes per second; `level` unless another is clearly
    /// cheaper.
    pub(super) fn cheapest(&self, at: Timestamp, level: CompressionLevel, rate: f64) -> CompressionLevel {
        let cost = |level: CompressionLevel| self.cost(at, level).on(rate);
        let best = CompressionLevel::ALL
            .into_iter()
            .min_by(|&one, &other| cost(one).total_cmp(&cost(other)));
        best.filter(|&best| cost(best) < cost(level) * WORTH_A_CHANGE)
            .unwrap_or(level)
    }

    pub(super) fn is_cheaper(
        &self,
        at: Timestamp,
        one: CompressionLevel,
        other: CompressionLevel,
        rate: f64,
    ) -> bool {
        self.cost(at, one).on(rate) < self.cost(at, other).on(rate) * WORTH_A_CHANGE
    }

    /// The measured cost, or that of the nearest measured level scaled by the usual ratio.
    fn cost(&self, at: Timestamp, level: CompressionLevel) -> Cost {
        let number = usize::from(level.number());
        let usual = usual(number);
        if level == CompressionLevel::OFF {
            return usual;
        }
        let fresh = self
            .levels
            .iter()
            .enumerate()
            .skip(1)
            .filter(|(_, known)| known.is_fresh(at));
        let Some((nearest, known)) = fresh.min_by_key(|(other, _)| other.abs_diff(number)) else {
            return usual;
        };
        let (there, compared) = (known.cost(), self::usual(nearest));
        if there.left > HARDLY_SMALLER {
            return Cost {
                codec: there.codec * usual.codec / compared.codec,
                left: there.left,
            };
        }
        Cost {
            codec: there.codec * usual.codec / compared.codec,
            left: there.left * usual.left / compared.left,
        }
    }
}

impl Known {
    fn is_fresh(&self, at: Timestamp) -> bool {
        self.payload > 0.0 && at.since(self.at) < FRESH
    }

    fn cost(&self) -> Cost {
        Cost {
            codec: self.seconds / self.payload,
            left: self.bytes / self.payload,
        }
    }
}

impl Cost {
    /// Seconds per payload byte. Codec and lane overlap within the lane's buffer, and processor
    /// time is not free, so the shorter of the two counts a little.
    fn on(self, rate: f64) -> f64 {
        let lane = self.left / rate.max(1.0);
        self.codec.max(lane) + 0.1 * self.codec.min(lane)
    }
}

/// Text and numbers, measured as in measurements/2026-11-21-2cpu-linux-6.18.44/tunnel-levels.txt.
fn usual(number: usize) -> Cost {
    let (nanoseconds, left) = USUAL.get(number).copied().unwrap_or((0.0, 1.0));
    Cost {
        codec: nanoseconds * 1e-9,
        left,
    }
}

const USUAL: [(f64, f64); 10] = [
    (0.0, 1.0),
    (2.4, 0.43),
    (2.9, 0.30),
    (3.1, 0.285),
    (3.6, 0.27),
    (9.8, 0.255),
    (13.0, 0.245),
    (17.0, 0.24),
    (22.0, 0.235),
    (31.0, 0.23),
];

/// In payload bytes, the memory of the averages.
const HORIZON: f64 = 1024.0 * 1024.0;
const FRESH: Duration = Duration::from_secs(20);
/// Levels do not differ on incompressible data.
const HARDLY_SMALLER: f64 = 0.9;
/// Maximum cost of another level relative to the current.
const WORTH_A_CHANGE: f64 = 0.97;
