//! The protocol between the two ends of a tunnel.
//!
//! A *lane* is one connection between the ends; it carries many *streams*, each one database
//! connection. A stream's bytes are cut into *chunks*, each compressed with the shared context of
//! the lane's direction, and sent as a frame. Sockets, keys and clocks are in `tunnel_io`.
//!
//! Start reading at [`lane`].

#![deny(clippy::wildcard_enum_match_arm)]
#![forbid(unsafe_code)]

pub mod advise;
pub mod auto;
pub mod compressor;
pub mod frame;
pub mod lane;
pub mod level;
mod throughput_estimator;

pub use auto::Auto;
pub use compressor::{Coding, CompressError, Compressor, Decompressor, MAX_CHUNK_OVERHEAD};
pub use frame::{End, Isolation, LanePreferences, StreamId};
pub use lane::{Lane, LaneError, LaneEvent, Pick};
pub use level::{Codec, CompressionLevel, LevelChoice, ParseLevelError, Zstandard};

/// Bounds the output of one frame's decompression, and the time that a small message waits behind a
/// large one.
pub const MAX_CHUNK_BYTES: usize = 32 * 1024;
