//! A rate with a queue: packets are serialised one after another.

use super::drop_cause::DropCause;
use model::{BitRate, ByteCount, Timestamp};
use std::time::Duration;

/// A token bucket of `rate` in wire bytes with a queue. `burst` is credit saved while idle; without
/// it every packet takes its serialisation time.
#[derive(Debug, Clone)]
pub struct TokenBucket {
    rate: u64,
    queue: Option<u64>,
    /// Time in which the credit accrues.
    burst: Duration,
    /// When all accepted bytes are serialised, rounded down to nanoseconds.
    paid_at: Timestamp,
    /// Remainder of the rounding in `remainder / rate` ns, so that errors do not add up.
    remainder: u64,
}

impl TokenBucket {
    /// An idle bucket with room for `queue` bytes (unlimited if `None`).
    pub fn new(rate: BitRate, burst: Option<ByteCount>, queue: Option<ByteCount>) -> Self {
        Self {
            rate: rate.as_bits_per_second(),
            queue: queue.map(ByteCount::as_bytes),
            burst: burst.map_or(Duration::ZERO, |burst| rate.time_for(burst.as_bytes())),
            paid_at: Timestamp::from_nanos(0),
            remainder: 0,
        }
    }

    /// Packets accepted earlier keep their times.
    pub(crate) fn set_rate(&mut self, rate: BitRate) {
        debug_assert!(self.burst.is_zero(), "a burst is time at the earlier rate");
        self.rate = rate.as_bits_per_second();
        self.remainder = 0;
    }

    /// When the last bit of the packet is serialised. A packet is dropped if it and the waiting
    /// bytes, including the rest of the current packet, exceed the queue. An idle link accepts any
    /// packet.
    #[inline]
    pub(super) fn pass(&mut self, at: Timestamp, wire_bytes: u32) -> Result<Timestamp, DropCause> {
        let waiting = self.waiting_bytes(at);
        if waiting > 0
            && self
                .queue
                .is_some_and(|queue| waiting + u64::from(wire_bytes) > queue)
        {
            return Err(DropCause::Queue);
        }
        if at > self.paid_at {
            (self.paid_at, self.remainder) = (at, 0);
        }
        // At most 2^32 * 8e9 + 1e12, which is below u128 and, for packets up to 2 GB, below u64.
        let work = u128::from(wire_bytes) * NANOSECOND_BITS + u128::from(self.remainder);
        let (span, remainder) = match u64::try_from(work) {
            Ok(work) => (work / self.rate, work % self.rate),
            Err(_) => (
                (work / u128::from(self.rate)) as u64,
                (work % u128::from(self.rate)) as u64,
            ),
        };
        self.remainder = remainder;
        self.paid_at = self.paid_at.after(Duration::from_nanos(span));
        Ok(self.free_at().max(at))
    }

    /// Bytes not yet serialised at `at`, rounded up.
    pub(crate) fn waiting_bytes(&self, at: Timestamp) -> u64 {
        let bits_times_nanos = self.free_at().since(at).as_nanos() * u128::from(self.rate);
        u64::try_from(bits_times_nanos.div_ceil(NANOSECOND_BITS)).unwrap_or(u64::MAX)
    }

    /// When all accepted bytes are serialised; the credit is used first.
    pub(crate) fn free_at(&self) -> Timestamp {
        let burst = u64::try_from(self.burst.as_nanos()).unwrap_or(u64::MAX);
        Timestamp::from_nanos(self.paid_at.as_nanos().saturating_sub(burst))
    }
}

/// Bits in a byte times nanoseconds in a second.
const NANOSECOND_BITS: u128 = 8_000_000_000;
