//! The time of travel, and its variation.

use super::draws::Draws;
use model::{Timestamp, parse_duration};
use std::fmt;
use std::time::Duration;

/// How the time of travel of each packet varies, in each direction.
///
/// Text form `2ms` or `2ms:uniform`, `2ms:normal`. Packets are never reordered: one that would overtake the
/// one before it arrives with it. On a busy link the mean is therefore above the round trip requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Jitter {
    /// Maximum deviation (uniform) or standard deviation (normal).
    pub size: Duration,
    /// How deviations are distributed.
    pub distribution: JitterDistribution,
}

/// How deviations from the time of travel are distributed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JitterDistribution {
    /// Every deviation from `-size` to `+size` is equally likely.
    Uniform,
    /// Normal with mean 0, cut at four standard deviations and where the time of travel would be below 0.
    Normal,
}

impl JitterDistribution {
    /// All of them, and their names.
    const ALL: [(Self, &str); 2] = [(Self::Uniform, "uniform"), (Self::Normal, "normal")];

    /// Its name in the text form.
    pub fn name(self) -> &'static str {
        Self::ALL
            .into_iter()
            .find(|(distribution, _)| *distribution == self)
            .map_or("", |(_, name)| name)
    }
}

impl Jitter {
    /// Reads the text form; `None` if it is not understood.
    pub fn parse(text: &str) -> Option<Self> {
        let (size, name) = text.split_once(':').unwrap_or((text, "uniform"));
        let (distribution, _) = JitterDistribution::ALL
            .into_iter()
            .find(|(_, known)| *known == name)?;
        let size = parse_duration(size).ok()?;
        Some(Self { size, distribution })
    }

    /// Nanoseconds to add to the time of travel of one packet.
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
        formatter.write_str(&crate::description::exact_duration(self.size))?;
        match self.distribution {
            JitterDistribution::Uniform => Ok(()),
            JitterDistribution::Normal => write!(formatter, ":{}", self.distribution.name()),
        }
    }
}

/// Lets packets travel.
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

    /// The time of travel without deviation.
    pub const fn base(&self) -> Duration {
        self.base
    }

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
