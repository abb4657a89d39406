//! Travel time and jitter.

use super::draws::Draws;
use model::{Timestamp, parse_duration};
use std::fmt;
use std::time::Duration;

/// Variation of each packet's travel time.
///
/// Text form `2ms` or `2ms:uniform`, `2ms:normal`. A packet that would overtake arrives with the
/// previous one, so on a busy link the mean exceeds the requested round-trip time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Jitter {
    /// Maximum deviation (uniform) or standard deviation (normal).
    pub size: Duration,
    /// Distribution of the deviations.
    pub distribution: JitterDistribution,
}

/// Distribution of deviations from the travel time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JitterDistribution {
    /// Uniform from `-size` to `+size`.
    Uniform,
    /// Normal, cut at four standard deviations and at a travel time of 0.
    Normal,
}

impl JitterDistribution {
    const ALL: [(Self, &str); 2] = [(Self::Uniform, "uniform"), (Self::Normal, "normal")];

    /// The name in the text form.
    pub fn name(self) -> &'static str {
        Self::ALL
            .into_iter()
            .find(|(distribution, _)| *distribution == self)
            .map_or("", |(_, name)| name)
    }
}

impl Jitter {
    /// Parses the text form; returns `None` if invalid.
    pub fn parse(text: &str) -> Option<Self> {
        let (size, name) = text.split_once(':').unwrap_or((text, "uniform"));
        let (distribution, _) = JitterDistribution::ALL
            .into_iter()
            .find(|(_, known)| *known == name)?;
        let size = parse_duration(size).ok()?;
        Some(Self { size, distribution })
    }

    /// In nanoseconds, for one packet.
    fn deviation(&self, draws: &mut Draws) -> f64 {
        let size = self.size.as_nanos() as f64;
        match self.distribution {
            JitterDistribution::Uniform => size * (2.0 * draws.draw_fraction() - 1.0),
            JitterDistribution::Normal => {
                // Box and Muller, 1958.
                let radius = (-2.0 * (1.0 - draws.draw_fraction()).ln()).sqrt();
                let angle = std::f64::consts::TAU * draws.draw_fraction();
                size * (radius * angle.cos()).clamp(-4.0, 4.0)
            }
        }
    }
}

impl fmt::Display for Jitter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&crate::exact::exact_duration(self.size))?;
        match self.distribution {
            JitterDistribution::Uniform => Ok(()),
            JitterDistribution::Normal => write!(formatter, ":{}", self.distribution.name()),
        }
    }
}

/// Delays packets by their travel time.
#[derive(Debug, Clone)]
pub struct Delay {
    base: Duration,
    jitter: Option<(Jitter, Draws)>,
    last_arrival: Timestamp,
}

impl Delay {
    /// `base` for each packet, with the deviations of `jitter`.
    pub fn new(base: Duration, jitter: Option<Jitter>, seed: u64) -> Self {
        Self {
            base,
            jitter: jitter.map(|jitter| (jitter, Draws::new(seed, PURPOSE))),
            last_arrival: Timestamp::from_nanos(0),
        }
    }

    /// Travel time without deviation.
    pub const fn base(&self) -> Duration {
        self.base
    }

    #[inline]
    pub(super) fn pass(&mut self, at: Timestamp) -> Timestamp {
        let Some((jitter, draws)) = &mut self.jitter else {
            return at.after(self.base);
        };
        let travel = (self.base.as_nanos() as f64 + jitter.deviation(draws)).max(0.0);
        self.last_arrival = self
            .last_arrival
            .max(at.after(Duration::from_nanos(travel as u64)));
        self.last_arrival
    }
}

const PURPOSE: u64 = 2;
