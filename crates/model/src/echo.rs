//! What echo measured: round trips of messages of given sizes, and rates.

use crate::{BitRate, Direction, Distribution};
use std::time::Duration;

/// Round trips of one size of request and reply, on a number of streams at once.
///
/// A round trip is from right before the request was handed to the kernel until right after the reply's last
/// byte was read: both one ways and both machines' handling of it. Tools that report half of it (qperf's
/// `tcp_lat`) say "one way".
#[derive(Debug, Clone, PartialEq)]
pub struct EchoOutcome {
    /// Payload bytes of a request.
    pub request_bytes: u64,
    /// Payload bytes of a reply.
    pub reply_bytes: u64,
    /// Streams at once, each one TCP connection with one request in flight at any time.
    pub streams: u32,
    /// Whether both sides polled for messages instead of sleeping until they came.
    pub spin: bool,
    /// Round trips whose reply this side found by polling a little before it would have slept: those have no
    /// wake-up of this side in them. Not counted where `spin` is set, which has none in any.
    pub polled: u64,
    /// Spread of the round trips.
    pub spread: Distribution,
    /// Over which they were counted, the warm-up before not included.
    pub elapsed: Duration,
    /// Round trips a second of all streams.
    pub per_second: f64,
    /// Processor time that this side used for them, of its sending and receiving threads.
    pub client_processor: Duration,
    /// Processor time that the process on the other side used meanwhile, by its own account; `None` if it
    /// could not be asked. With other clients at the same time theirs is in it: `other_clients`.
    pub server_processor: Option<Duration>,
    /// Clients that the other side served at the same time.
    pub other_clients: u32,
    /// The kernel's minimum round trip of the streams (`tcpi_min_rtt`): of packets, without the wake-ups of
    /// both processes.
    pub kernel_rtt: Option<Duration>,
    /// Packets that this side sent again.
    pub retransmitted: u64,
    /// Streams that broke.
    pub errors: u64,
}

impl EchoOutcome {
    /// Processor time of this side per round trip; `None` without one.
    pub fn client_processor_each(&self) -> Option<Duration> {
        each(self.client_processor, self.spread.count)
    }

    /// Processor time of the other side per round trip; `None` if it is not known.
    pub fn server_processor_each(&self) -> Option<Duration> {
        each(self.server_processor?, self.spread.count)
    }
}

fn each(total: Duration, count: u64) -> Option<Duration> {
    let nanos = total.as_nanos().checked_div(u128::from(count))?;
    u64::try_from(nanos).ok().map(Duration::from_nanos)
}

/// The rate of one direction, and what round trips took while the direction was full.
#[derive(Debug, Clone, PartialEq)]
pub struct BulkOutcome {
    /// Which way the bytes went.
    pub direction: Direction,
    /// Payload bytes that arrived while they were counted.
    pub payload_bytes: u64,
    /// Over which they were counted, by the receiver's clock: the beginning, in which TCP finds its rate, is
    /// left out.
    pub elapsed: Duration,
    /// Payload over time; `None` if nothing arrived. Headers come on top of it: some 3 to 5 % on the wire.
    pub rate: Option<BitRate>,
    /// Packets sent again; `None` if the other side sent.
    pub retransmitted: Option<u64>,
    /// Round trips before it, with nothing else on the way.
    pub idle: Distribution,
    /// Round trips at the same time: what they take longer is the queue's delay.
    pub loaded: Distribution,
    /// Processor time that this side used meanwhile.
    pub client_processor: Duration,
    /// Processor time of the other side's process, by its own account.
    pub server_processor: Option<Duration>,
}

impl BulkOutcome {
    /// How much longer the median round trip was while the bytes were transferred; `None` if nothing was
    /// measured, zero when it was not.
    pub fn queue_delay(&self) -> Option<Duration> {
        Some(self.loaded.p50?.saturating_sub(self.idle.p50?))
    }
}
