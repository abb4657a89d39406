//! What the two ends of a tunnel say to each other.
//!
//! A *lane* is one connection between the ends; it carries many *streams*, each one database connection. What
//! a stream's sender reads is cut into *chunks*, each compressed with the context that all chunks of that
//! direction of the lane share, and sent as a frame. This crate round trips bytes into frames and back;
//! sockets, keys and clocks are `tunnel_io`'s.
//!
//! Start reading at [`lane`].

#![forbid(unsafe_code)]

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

/// Most bytes of a stream in one chunk: bounds what a decompressor may make of one frame, and how long a
/// small message waits behind a large one.
pub const MAX_CHUNK_BYTES: usize = 32 * 1024;
