//! A workload measured at some numbers of clients, elsewhere: the arithmetic of `split`.
//!
//! In a closed loop a transaction of one of `c` clients takes `c / throughput`. For one client that is
//! client + network + server, and network is round trips times the round-trip time, both ways of it: [`shares`].
//!
//! How long it takes elsewhere is not derived from a run without distance: requests that come after a rest
//! find a processor asleep and caches used by others, and come one by one instead of many at once, so that
//! the same work takes longer the less hurried it is. It is measured with clients that pause for the further
//! round trip, and [`elsewhere`] adds to that what a pause cannot show.

mod elsewhere;
mod interval;

pub use elsewhere::{Elsewhere, Forecast, PausedWorkload, pause_towards};
pub use interval::forecast;

use std::time::Duration;

/// Where the time of a transaction goes; the parts sum to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shares {
    /// The client's own, before it sends.
    pub client: Duration,
    /// Round trips times the round trip.
    pub network: Duration,
    /// The rest: the server's work, and waiting for processors on either side.
    pub server: Duration,
}

/// Splits a transaction of this many round trips, given the round trip and the client's own time. Where round
/// trips under load took longer than the whole transaction, the network is cut to what the client leaves of
/// it.
pub fn shares(transaction: Duration, turns: f64, round_trip: Duration, client: Duration) -> Shares {
    let client = client.min(transaction);
    let network = span(turns * round_trip.as_secs_f64()).min(transaction - client);
    Shares {
        client,
        network,
        server: transaction - client - network,
    }
}

/// Round trips of messages alone, measured by an echo at two numbers of streams that always have a message on
/// its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EchoedRoundTrips {
    /// With one stream.
    pub alone: Duration,
    /// With `streams` of them: as many as the workload has clients.
    pub together: Duration,
    /// At least one.
    pub streams: u32,
}

impl EchoedRoundTrips {
    /// The round trip where messages come at the rate at which `clients` have round trips, each `turns` of
    /// them in a `transaction`.
    ///
    /// All streams of an echo wait for the network and for the processors that handle its packets; of the
    /// clients only those that do not wait for the server. By Little's law `n` of them are in progress, for
    /// which n / round trip(n) is that rate; between the two measured numbers of streams the round trip grows
    /// linearly.
    pub fn under(&self, clients: u32, turns: f64, transaction: Duration) -> Duration {
        let streams = f64::from(self.streams.max(1));
        let [alone, together] = [self.alone, self.together].map(|span| span.as_secs_f64());
        let rate = turns * f64::from(clients) / transaction.as_secs_f64().max(MIN_SECONDS);
        let growth = ((together - alone) / (streams - 1.0).max(1.0)).max(0.0);
        let unsaturated = 1.0 - rate * growth;
        let under_way = if unsaturated > 0.0 {
            rate * (alone - growth) / unsaturated
        } else {
            streams
        };
        span(alone + growth * (under_way.clamp(1.0, streams) - 1.0))
    }
}

fn span(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX)
}

/// Shortest time, in seconds, that anything is assumed to take.
const MIN_SECONDS: f64 = 1e-9;

#[cfg(test)]
mod tests {
    use super::*;

    fn micros(micros: f64) -> Duration {
        Duration::from_nanos((micros * 1e3).round() as u64)
    }

    #[test]
    fn clients_that_wait_for_the_server_do_not_crowd_the_network() {
        // An echo of 23 us of one processor a message: 64 streams wait 1.5 ms for it.
        let echo = EchoedRoundTrips {
            alone: micros(37.0),
            together: micros(1_507.0),
            streams: 64,
        };
        assert_eq!(echo.under(64, 1.0, micros(5_193.0)), micros(37.0));
        // As fast as the echo itself: all 64 are in progress. At 97 % of that: some.
        assert!(echo.under(64, 1.0, micros(1_507.0)).abs_diff(micros(1_507.0)) < micros(1.0));
        assert_eq!(echo.under(64, 1.0, micros(700.0)), micros(1_507.0));
        let some = echo.under(64, 2.0, micros(3_100.0));
        assert!(some > micros(200.0) && some < micros(1_000.0), "{some:?}");
        // A link without a limit of its own: the rate of messages does not matter.
        let long = EchoedRoundTrips {
            alone: micros(20_000.0),
            together: micros(20_010.0),
            streams: 64,
        };
        assert!(long.under(64, 2.0, micros(50_000.0)).abs_diff(micros(20_005.0)) < micros(6.0));
        // One client, and the kernel's round trip, which is the same for all.
        for streams in [1, 64] {
            let same = EchoedRoundTrips {
                alone: micros(50.0),
                together: micros(50.0),
                streams,
            };
            assert_eq!(same.under(streams, 3.0, micros(400.0)), micros(50.0));
        }
    }

    #[test]
    fn what_cannot_be_is_not_made_up() {
        let shares = shares(micros(100.0), 1.0, micros(500.0), micros(30.0));
        assert_eq!((shares.client, shares.network), (micros(30.0), micros(70.0)));
        assert_eq!(shares.server, Duration::ZERO);
    }
}
