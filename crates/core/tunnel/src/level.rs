//! Compression levels 0 to 9, as users know them.

use std::fmt;
use std::str::FromStr;

/// 0 is off, 1 fastest, 9 smallest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct CompressionLevel(u8);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Codec {
    Off,
    Zstd(Zstandard),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Zstandard {
    /// Lower values are faster and larger, also below 0.
    pub effort: i32,
    /// Bytes of history as a power of two, also kept by the receiver.
    pub window_log: u32,
    /// Entries of the match table as a power of two; `None` for the level's default.
    pub hash_log: Option<u32>,
}

impl Zstandard {
    const fn new(effort: i32, window_log: u32) -> Self {
        Self {
            effort,
            window_log,
            hash_log: None,
        }
    }
}

impl CompressionLevel {
    pub const OFF: Self = Self(0);

    pub const ALL: [Self; 10] = [
        Self(0),
        Self(1),
        Self(2),
        Self(3),
        Self(4),
        Self(5),
        Self(6),
        Self(7),
        Self(8),
        Self(9),
    ];

    /// Returns `None` above 9.
    pub const fn from_number(number: u8) -> Option<Self> {
        if number <= 9 { Some(Self(number)) } else { None }
    }

    pub const fn number(self) -> u8 {
        self.0
    }

    /// See docs/tunnel.md for compression ratios and reasons.
    pub const fn codec(self) -> Codec {
        match self.0 {
            0 => Codec::Off,
            1 => Codec::Zstd(Zstandard::new(-2, 22)),
            2 => Codec::Zstd(Zstandard::new(1, 22)),
            3 => Codec::Zstd(Zstandard {
                hash_log: Some(17),
                ..Zstandard::new(1, 22)
            }),
            4 => Codec::Zstd(Zstandard::new(3, 22)),
            5 => Codec::Zstd(Zstandard::new(6, 22)),
            6 => Codec::Zstd(Zstandard::new(7, 23)),
            7 => Codec::Zstd(Zstandard::new(9, 23)),
            8 => Codec::Zstd(Zstandard::new(10, 23)),
            _ => Codec::Zstd(Zstandard::new(11, 23)),
        }
    }
}

impl fmt::Display for CompressionLevel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, formatter)
    }
}

impl FromStr for CompressionLevel {
    type Err = ParseLevelError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse()
            .ok()
            .and_then(Self::from_number)
            .ok_or_else(|| ParseLevelError {
                text: text.to_owned(),
            })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LevelChoice {
    Fixed(CompressionLevel),
    /// Continuously chosen per direction from measurements.
    #[default]
    Auto,
}

impl fmt::Display for LevelChoice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(level) => fmt::Display::fmt(level, formatter),
            Self::Auto => formatter.write_str("auto"),
        }
    }
}

impl FromStr for LevelChoice {
    type Err = ParseLevelError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "auto" {
            return Ok(Self::Auto);
        }
        text.parse().map(Self::Fixed)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is not a level: 0 (off) to 9 (smallest), or auto")]
pub struct ParseLevelError {
    text: String,
}
