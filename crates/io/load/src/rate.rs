use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// Positive, at most [`Rate::MAX`] per second.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Rate(f64);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a rate is a number of operations per second above 0, up to 10000000, for example 250 or 0.5")]
pub struct RateError;

impl Rate {
    /// More than one machine can send.
    pub const MAX: f64 = 1e7;

    pub fn per_second(count: f64) -> Result<Self, RateError> {
        if count > 0.0 && count <= Self::MAX {
            Ok(Self(count))
        } else {
            Err(RateError)
        }
    }

    pub const fn count_per_second(self) -> f64 {
        self.0
    }

    pub const fn as_per_second(self) -> f64 {
        self.0
    }

    pub fn interval(self) -> Duration {
        Duration::try_from_secs_f64(1.0 / self.0).unwrap_or(Duration::MAX)
    }
}

impl FromStr for Rate {
    type Err = RateError;

    fn from_str(text: &str) -> Result<Self, RateError> {
        Self::per_second(text.trim().parse().map_err(|_| RateError)?)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_a_number_above_none() {
        assert_eq!(
            "250".parse::<Rate>().map(Rate::interval),
            Ok(Duration::from_millis(4))
        );
        assert_eq!(
            "0.5".parse::<Rate>().map(Rate::interval),
            Ok(Duration::from_secs(2))
        );
        for wrong in ["0", "-1", "NaN", "inf", "1e9", "", "fast", "10/s"] {
            assert_eq!(wrong.parse::<Rate>(), Err(RateError), "{wrong}");
        }
    }
}
