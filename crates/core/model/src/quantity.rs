//! Units with their text forms.

use crate::PerDirection;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// A number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct ByteCount(u64);

impl ByteCount {
    /// From a number of bytes.
    pub const fn from_bytes(bytes: u64) -> Self {
        Self(bytes)
    }

    /// The number of bytes.
    pub const fn as_bytes(self) -> u64 {
        self.0
    }

    /// Parses `64KiB`, `10MB`, `1500B`, `4096`. `kB`, `MB`, `GB` are powers of 1000, `KiB`, `MiB`,
    /// `GiB` of 1024.
    ///
    /// # Errors
    /// Invalid number or unit, or an amount beyond 64 bits.
    pub fn parse(text: &str) -> Result<Self, ParseQuantityError> {
        let error = || {
            ParseQuantityError::new(
                "size",
                text,
                "use a number with B, kB, MB, GB, KiB, MiB or GiB, such as 64KiB",
            )
        };
        let (number, unit) = split_number(text).ok_or_else(error)?;
        let scale: f64 = match unit {
            "" | "B" | "b" => 1.0,
            "kB" | "KB" => 1e3,
            "MB" => 1e6,
            "GB" => 1e9,
            "KiB" | "k" | "K" => 1024.0,
            "MiB" | "m" | "M" => 1024.0 * 1024.0,
            "GiB" | "g" | "G" => 1024.0 * 1024.0 * 1024.0,
            _ => return Err(error()),
        };
        checked_scale(number, scale).map(Self).ok_or_else(error)
    }
}

impl fmt::Display for ByteCount {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0 as f64;
        match self.0 {
            0..1_000 => write!(formatter, "{} B", self.0),
            1_000..1_000_000 => write!(formatter, "{} kB", three_digits(bytes / 1e3)),
            1_000_000..1_000_000_000 => write!(formatter, "{} MB", three_digits(bytes / 1e6)),
            _ => write!(formatter, "{} GB", three_digits(bytes / 1e9)),
        }
    }
}

/// Rates of a link, where limited.
pub type LinkRates = PerDirection<Option<BitRate>>;

/// Bits per second, never zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u64")]
pub struct BitRate(u64);

impl BitRate {
    /// `rate` bits per second, unless zero.
    pub const fn from_bits_per_second(rate: u64) -> Option<Self> {
        if rate == 0 { None } else { Some(Self(rate)) }
    }

    /// The rate in bits per second.
    pub const fn as_bits_per_second(self) -> u64 {
        self.0
    }

    /// Time to send `bytes`, rounded up to nanoseconds.
    pub fn time_for(self, bytes: u64) -> Duration {
        let nanoseconds = (u128::from(bytes) * 8 * 1_000_000_000).div_ceil(u128::from(self.0));
        Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX))
    }

    /// Parses `10Mbit/s`, `10mbit`, `512kbit`, `1Gbit/s` (bits) and tc's `450kbps`, `1mbps`, also
    /// `450kB/s` (bytes per second), all in powers of 1000.
    ///
    /// # Errors
    /// Invalid number or unit, zero, or a rate beyond 64 bits.
    pub fn parse(text: &str) -> Result<Self, ParseQuantityError> {
        let error = || {
            ParseQuantityError::new(
                "rate",
                text,
                "use bit/s such as 10Mbit/s or 512kbit, or bytes/s such as 450kB/s",
            )
        };
        let (number, unit) = split_number(text).ok_or_else(error)?;
        let scale: f64 = match unit.to_ascii_lowercase().as_str() {
            "bit" | "bit/s" => 1.0,
            "kbit" | "kbit/s" => 1e3,
            "mbit" | "mbit/s" => 1e6,
            "gbit" | "gbit/s" => 1e9,
            "bps" | "b/s" => 8.0,
            "kbps" | "kb/s" => 8e3,
            "mbps" | "mb/s" => 8e6,
            "gbps" | "gb/s" => 8e9,
            _ => return Err(error()),
        };
        checked_scale(number, scale)
            .and_then(Self::from_bits_per_second)
            .ok_or_else(error)
    }
}

impl TryFrom<u64> for BitRate {
    type Error = &'static str;

    fn try_from(rate: u64) -> Result<Self, Self::Error> {
        Self::from_bits_per_second(rate).ok_or("a rate is not zero")
    }
}

impl fmt::Display for BitRate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = self.0 as f64;
        match self.0 {
            0..1_000 => write!(formatter, "{} bit/s", self.0),
            1_000..1_000_000 => write!(formatter, "{} kbit/s", three_digits(rate / 1e3)),
            1_000_000..1_000_000_000 => write!(formatter, "{} Mbit/s", three_digits(rate / 1e6)),
            _ => write!(formatter, "{} Gbit/s", three_digits(rate / 1e9)),
        }
    }
}

/// A part of a whole from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default, Serialize)]
pub struct Share(f64);

/// Constructors refuse NaN, so equality is total.
impl Eq for Share {}

impl Share {
    /// `part` of `whole`, at most 1; `None` if the whole is zero.
    pub fn from_parts(part: Duration, whole: Duration) -> Option<Self> {
        (!whole.is_zero()).then(|| Self((part.as_secs_f64() / whole.as_secs_f64()).min(1.0)))
    }

    /// `part` of `whole`, at most 1; `None` if the whole is zero.
    pub fn of_counts(part: u64, whole: u64) -> Option<Self> {
        (whole > 0).then(|| Self((part as f64 / whole as f64).min(1.0)))
    }

    /// Share of this value; `None` unless it is 0 to 1.
    pub fn of_fraction(fraction: f64) -> Option<Self> {
        (0.0..=1.0).contains(&fraction).then_some(Self(fraction))
    }

    /// The value from 0 to 1.
    pub const fn as_fraction(self) -> f64 {
        self.0
    }
}

impl fmt::Display for Share {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:.0} %", self.0 * 100.0)
    }
}

/// Why a text is not a quantity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseQuantityError {
    what: &'static str,
    text: String,
    hint: &'static str,
}

impl ParseQuantityError {
    pub(crate) fn new(what: &'static str, text: &str, hint: &'static str) -> Self {
        Self {
            what,
            text: text.to_owned(),
            hint,
        }
    }
}

impl fmt::Display for ParseQuantityError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "'{}' is not a {}: {}", self.text, self.what, self.hint)
    }
}

impl std::error::Error for ParseQuantityError {}

/// Parses `250ns`, `20us`, `1.5ms`, `2s`, `3min`, `1h`; a bare number only if `0`.
///
/// # Errors
/// Invalid number or unit, missing unit, or a span beyond 64 bits of nanoseconds.
pub fn parse_duration(text: &str) -> Result<Duration, ParseQuantityError> {
    let error = || {
        ParseQuantityError::new(
            "duration",
            text,
            "give a number with its unit: ns, us, ms, s, min or h, such as 40ms",
        )
    };
    let (number, unit) = split_number(text).ok_or_else(error)?;
    let scale: f64 = match unit {
        "ns" => 1.0,
        "us" | "µs" | "μs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "min" | "m" => 60e9,
        "h" => 3600e9,
        "" if number == 0.0 => 1.0,
        _ => return Err(error()),
    };
    checked_scale(number, scale)
        .map(Duration::from_nanos)
        .ok_or_else(error)
}

/// A number with its noun, such as `1 turn` or `27 turns`.
pub fn counted(count: u64, singular: &str, plural: &str) -> String {
    match count {
        1 => format!("1 {singular}"),
        _ => format!("{count} {plural}"),
    }
}

/// Formats three significant digits, such as `5.16 us`.
pub fn format_duration(span: Duration) -> String {
    let nanoseconds = span.as_nanos() as f64;
    if nanoseconds < 1e3 {
        format!("{} ns", span.as_nanos())
    } else if nanoseconds < 999_500.0 {
        format!("{} us", three_digits(nanoseconds / 1e3))
    } else if nanoseconds < 999_500_000.0 {
        format!("{} ms", three_digits(nanoseconds / 1e6))
    } else {
        format!("{} s", three_digits(nanoseconds / 1e9))
    }
}

fn three_digits(number: f64) -> String {
    if number < 9.995 {
        format!("{number:.2}")
    } else if number < 99.95 {
        format!("{number:.1}")
    } else {
        format!("{number:.0}")
    }
}

fn split_number(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let number: f64 = text[..end].parse().ok()?;
    Some((number, text[end..].trim_start()))
}

fn checked_scale(number: f64, scale: f64) -> Option<u64> {
    let scaled = (number * scale).round();
    (scaled >= 0.0 && scaled < u64::MAX as f64).then_some(scaled as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_need_a_unit() {
        assert_eq!(parse_duration("40ms"), Ok(Duration::from_millis(40)));
        assert_eq!(parse_duration("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(parse_duration("0"), Ok(Duration::ZERO));
        for bad in [
            "40",
            "",
            "ms",
            "-1ms",
            "4 parsecs",
            "1e400s",
            "99999999999h",
            "1.2.3ms",
        ] {
            assert!(parse_duration(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn rates_tell_bits_from_bytes() {
        let bits = |text| BitRate::parse(text).map(BitRate::as_bits_per_second);
        assert_eq!(bits("10Mbit/s"), Ok(10_000_000));
        assert_eq!(bits("10mbit"), Ok(10_000_000));
        assert_eq!(bits("450kbps"), Ok(3_600_000));
        assert_eq!(bits("450kB/s"), Ok(3_600_000));
        assert!(bits("0mbit").is_err());
        assert!(bits("10").is_err());
    }

    #[test]
    fn sizes_tell_1000_from_1024() {
        let bytes = |text| ByteCount::parse(text).map(ByteCount::as_bytes);
        assert_eq!(bytes("64KiB"), Ok(65_536));
        assert_eq!(bytes("64kB"), Ok(64_000));
        assert_eq!(bytes("1500"), Ok(1500));
        assert!(bytes("10 apples").is_err());
    }

    #[test]
    fn durations_show_three_digits() {
        let shown = |nanoseconds| format_duration(Duration::from_nanos(nanoseconds));
        assert_eq!(shown(950), "950 ns");
        assert_eq!(shown(5_160), "5.16 us");
        assert_eq!(shown(12_300_000), "12.3 ms");
        assert_eq!(shown(1_099_300_000), "1.10 s");
        assert_eq!(shown(999_700), "1.00 ms");
    }

    #[test]
    fn time_for_rounds_up_and_never_overflows() {
        let rate = BitRate::parse("1kB/s").expect("valid");
        assert_eq!(rate.time_for(50), Duration::from_millis(50));
        assert_eq!(BitRate(3).time_for(u64::MAX), Duration::from_nanos(u64::MAX));
    }
}
