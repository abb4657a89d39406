//! Echo: TCP round trips of messages of given sizes, and rates, between two longwires.
//!
//! One side listens ([`Listener`]) and answers every request with a reply; the other asks on one or many
//! streams ([`measure`]), or fills one direction ([`bulk()`]) and asks at the same time. What the two say to
//! each other first is in [`greeting`]; afterwards a stream carries requests and replies and nothing else, so
//! that sizes are what was requested.
//!
//! The measured path is as short as the system allows: one stream a thread sends and receives with blocking
//! calls, polling a little before it sleeps where that pays ([`sys::spin`]); many streams share one epoll
//! loop a core, which has no time to sleep; nothing is allocated, locked or written per message. A round trip
//! costs one reading of the clock (about 40 ns), and two more while it polls.
//!
//! Start reading at [`measure`], on the other side at [`Listener::serve`].

mod answering;
mod bulk;
mod client;
mod error;
mod greeting;
mod greeting_poll;
mod listener;
mod pool;
mod stream;
mod trips;
mod usage;

pub use bulk::bulk;
pub use client::{Echo, floor, measure};
pub use error::EchoError;
pub use listener::{Listener, ListenerOptions};

use model::Direction;
use std::time::Duration;

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EchoPlan {
    /// Payload bytes of a request, 1 to [`MAX_BYTES`].
    pub request: u32,
    /// Payload bytes of a reply, likewise.
    pub reply: u32,
    /// Streams at once, 1 to [`MAX_STREAMS`].
    pub streams: u32,
    /// How long round trips are counted; a warm-up comes before.
    pub duration: Duration,
    /// How both sides wait for messages.
    pub spin: Spin,
}

/// How a side of echo waits for a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spin {
    /// Asleep: each wake-up is in the round trip, as in an application's.
    Never,
    /// Polling for a short time before it sleeps, while that pays ([`sys::spin`]). Only where a thread has
    /// one stream.
    WhilePaying,
    /// Polling until it comes: no wake-ups, one processor each. A listener does so only where it was started
    /// that way.
    Always,
}

/// What is measured of a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BulkPlan {
    /// Which way the bytes go.
    pub direction: Direction,
    /// How long they are counted.
    pub duration: Duration,
    /// Payload bytes of the requests sent at the same time.
    pub request: u32,
    /// Payload bytes of their replies.
    pub reply: u32,
}

/// The port when none is named.
pub const DEFAULT_PORT: u16 = 7717;
/// Payload bytes of a message at most. Memory does not depend on it: messages are sent and read in parts.
pub const MAX_BYTES: u32 = 64 * 1024 * 1024;
/// Streams of one client at most.
pub const MAX_STREAMS: u32 = 1024;

/// How long a connection may take to be made and greeted.
const GREETING: Duration = Duration::from_secs(5);
