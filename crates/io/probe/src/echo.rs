//! Echo measures TCP round trips with messages of given sizes, and transfer rates, between two
//! longwires.
//!
//! A [`Listener`] answers every request with a reply. The client sends requests on one or many
//! streams ([`measure`]), or fills one direction at the same time ([`bulk()`]). After the
//! [`greeting`] a stream carries only requests and replies, so sizes are exact.
//!
//! A thread with one stream uses blocking calls and polls briefly before it sleeps where that pays
//! ([`sys::spin`]). Many streams share one epoll loop per core. No allocation, lock or write
//! happens per message. A round trip costs one clock read (about 40 ns), and two more while
//! polling.

mod answering;
mod bulk;
mod client;
mod error;
mod greeting;
mod greeting_poll;
mod listener;
mod pool;
mod site;
mod stream;
mod trips;
mod usage;

pub use bulk::bulk;
pub use client::{Echo, floor, measure};
pub use error::EchoError;
pub use listener::{Listener, ListenerOptions};

use model::Direction;
use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EchoPlan {
    /// 1 to [`MAX_BYTES`] payload bytes.
    pub request: u32,
    pub reply: u32,
    /// 1 to [`MAX_STREAMS`] parallel streams.
    pub streams: u32,
    /// Does not include the warm-up.
    pub duration: Duration,
    pub spin: Spin,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spin {
    /// Sleeps, so that each wake-up is part of the round trip, as in an application.
    Never,
    /// Polls briefly before sleeping, while that pays ([`sys::spin`]). Only for threads with one
    /// stream.
    WhilePaying,
    /// Polls until a message arrives. Takes one processor, so a listener must be started with
    /// permission.
    Always,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BulkPlan {
    pub direction: Direction,
    pub duration: Duration,
    /// Payload bytes of the requests sent at the same time.
    pub request: u32,
    /// Payload bytes of their replies.
    pub reply: u32,
}

pub const DEFAULT_PORT: u16 = 7717;
/// Maximum payload bytes of a message. Does not affect memory: messages are sent and read in parts.
pub const MAX_BYTES: u32 = 64 * 1024 * 1024;
pub const MAX_STREAMS: u32 = 1024;

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// For connecting and greeting.
const GREETING: Duration = Duration::from_secs(5);
