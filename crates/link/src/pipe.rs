//! One direction of a link: packets are serialised one after another, then travel.

use model::{BitRate, ByteCount, Timestamp};
use std::time::Duration;

/// One direction of a link, as arithmetic: it holds no packets, it tells when each arrives.
///
/// Calling order: [`Pipe::accept`] for each packet, in the order of time. All connections that share the link share
/// the pipe: that is what makes its rate the link's and not each connection's.
#[derive(Debug, Clone)]
pub struct Pipe {
    delay: Duration,
    rate: Option<BitRate>,
    queue: Option<u64>,
    /// When the last accepted packet is serialised, rounded down to the nanosecond.
    free_at: Timestamp,
    /// What the rounding left out, in parts of a nanosecond: `remainder / rate` ns, so that rounding never adds up.
    remainder: u64,
}

/// What becomes of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Passage {
    /// It leaves the queue at the first time (its last bit is serialised) and is at the other end at the second.
    Arrives {
        /// When it is serialised.
        departs: Timestamp,
        /// When it is at the other end.
        arrives: Timestamp,
    },
    /// The queue had no room for it.
    Dropped,
}

impl Pipe {
    /// An empty pipe: `delay` one way, `rate` in wire bytes (unlimited when absent), `queue` bytes of room (without
    /// bound when absent).
    pub const fn new(delay: Duration, rate: Option<BitRate>, queue: Option<ByteCount>) -> Self {
        let queue = match queue {
            Some(queue) => Some(queue.as_bytes()),
            None => None,
        };
        Self {
            delay,
            rate,
            queue,
            free_at: Timestamp::from_nanos(0),
            remainder: 0,
        }
    }

    /// Takes a packet of `wire_bytes` at `at`, which must not be earlier than the packet before it.
    ///
    /// 1. A packet is dropped when the bytes waiting, the rest of the one being serialised included, and its own
    ///    would exceed the queue. An idle pipe takes any packet.
    /// 2. Its serialisation begins when the one before it is serialised, and takes `wire_bytes / rate`.
    /// 3. It arrives one delay later.
    pub fn accept(&mut self, at: Timestamp, wire_bytes: u32) -> Passage {
        let Some(rate) = self.rate else {
            return Passage::Arrives {
                departs: at,
                arrives: at.after(self.delay),
            };
        };
        let rate = rate.as_bits_per_second();
        let busy = at < self.free_at;
        if busy
            && self
                .queue
                .is_some_and(|queue| self.waiting_bytes(at) + u64::from(wire_bytes) > queue)
        {
            return Passage::Dropped;
        }
        if at > self.free_at {
            (self.free_at, self.remainder) = (at, 0);
        }
        // At most 2^32 * 8e9 + 1e12, which is below u128 and, for packets up to 2 GB, below u64.
        let work = u128::from(wire_bytes) * 8_000_000_000 + u128::from(self.remainder);
        let (span, remainder) = match u64::try_from(work) {
            Ok(work) => (work / rate, work % rate),
            Err(_) => ((work / u128::from(rate)) as u64, (work % u128::from(rate)) as u64),
        };
        self.remainder = remainder;
        self.free_at = self.free_at.after(Duration::from_nanos(span));
        Passage::Arrives {
            departs: self.free_at,
            arrives: self.free_at.after(self.delay),
        }
    }

    /// Bytes not yet serialised at `at`, rounded up; zero without a rate.
    pub fn waiting_bytes(&self, at: Timestamp) -> u64 {
        let rate = self.rate.map_or(0, BitRate::as_bits_per_second);
        let bits_times_nanos = self.free_at.since(at).as_nanos() * u128::from(rate);
        u64::try_from(bits_times_nanos.div_ceil(8_000_000_000)).unwrap_or(u64::MAX)
    }

    /// Whether packets never wait here: there is no rate to wait for.
    pub const fn is_unlimited(&self) -> bool {
        self.rate.is_none()
    }

    /// The time a minimal packet takes, serialisation apart.
    pub const fn delay(&self) -> Duration {
        self.delay
    }
}
