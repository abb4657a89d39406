//! How much work is spent on compression: levels 0 to 9, as users know them.

use std::fmt;
use std::str::FromStr;

/// How hard to compress: 0 off, 1 fastest, 9 smallest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct CompressionLevel(u8);

/// What compresses at a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Codec {
    /// Nothing: bytes go as they are.
    Off,
    /// Zstandard.
    Zstd(Zstandard),
}

/// How Zstandard compresses at a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Zstandard {
    /// Its own level; below 0 faster and larger the lower it is.
    pub effort: i32,
    /// How far back a chunk may repeat what went before, as a power of two of bytes. The receiver keeps as
    /// much.
    pub window_log: u32,
    /// Entries of the table that finds repetitions, as a power of two, where it is not what its own level
    /// has.
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
    /// Level 0: bytes go as they are.
    pub const OFF: Self = Self(0);

    /// Every level, smallest first.
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

    /// The level of this number; absent above 9.
    pub const fn from_number(number: u8) -> Option<Self> {
        if number <= 9 { Some(Self(number)) } else { None }
    }

    /// Its number, 0 to 9.
    pub const fn number(self) -> u8 {
        self.0
    }

    /// What compresses at this level: docs/tunnel.md has what each makes of rows, and why it is this one.
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

/// A level that stays, or one that follows link, data and processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LevelChoice {
    /// Always this one.
    Fixed(CompressionLevel),
    /// Chosen per direction from what is measured, again and again.
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

/// The text is not a level.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is not a level: 0 (off) to 9 (smallest), or auto")]
pub struct ParseLevelError {
    text: String,
}
