//! Packets lost at random, each independently of the others.

use super::draws::Draws;
use super::drop_cause::DropCause;
use model::Timestamp;
use std::fmt;

/// Share of lost packets in parts per billion: 0 < share < 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LossShare(u32);

const ALL: u32 = 1_000_000_000;

impl LossShare {
    /// From parts per billion; `None` for 0 and for all.
    pub const fn from_parts_per_billion(parts: u32) -> Option<Self> {
        if parts == 0 || parts >= ALL {
            None
        } else {
            Some(Self(parts))
        }
    }

    /// Above 0 and below 1.
    pub fn as_fraction(self) -> f64 {
        f64::from(self.0) / f64::from(ALL)
    }

    /// Parses a percentage such as `0.1%`, above 0 and below 100.
    pub fn parse(text: &str) -> Option<Self> {
        let percent: f64 = text.strip_suffix('%')?.trim_end().parse().ok()?;
        let parts = percent * f64::from(ALL / 100);
        (0.0..f64::from(ALL))
            .contains(&parts)
            .then(|| Self::from_parts_per_billion(parts.round() as u32))
            .flatten()
    }
}

impl fmt::Display for LossShare {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (self.0 / (ALL / 100), self.0 % (ALL / 100));
        let digits = format!("{rest:07}");
        let digits = digits.trim_end_matches('0');
        if digits.is_empty() {
            write!(formatter, "{whole}%")
        } else {
            write!(formatter, "{whole}.{digits}%")
        }
    }
}

/// Drops packets at random, depending only on seed and number.
#[derive(Debug, Clone)]
pub struct Loss {
    draws: Draws,
    /// A draw below it is a loss.
    threshold: u64,
}

impl Loss {
    /// Drops `share` of all packets.
    pub fn new(share: LossShare, seed: u64) -> Self {
        let threshold = (u128::from(share.0) << 64) / u128::from(ALL);
        Self {
            draws: Draws::new(seed, PURPOSE),
            threshold: u64::try_from(threshold).unwrap_or(u64::MAX),
        }
    }

    #[inline]
    pub(super) const fn pass(&mut self, at: Timestamp) -> Result<Timestamp, DropCause> {
        if self.draws.draw() < self.threshold {
            Err(DropCause::Loss)
        } else {
            Ok(at)
        }
    }
}

const PURPOSE: u64 = 1;
