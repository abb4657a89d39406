//! Arithmetic of `split`: a workload measured at some numbers of clients, on another link.
//!
//! In a closed loop a transaction of one of `c` clients takes `c / throughput`. For one client that
//! is client + network + server, with network as round trips times rtt: [`shares`].
//!
//! A run without distance cannot be extrapolated: after idle time, processors sleep, caches hold
//! other data, and requests arrive singly, so the same work takes longer. It is therefore measured
//! with clients that pause for the additional rtt; [`elsewhere`] adds the effects that a pause
//! cannot show.

mod elsewhere;
mod interval;

pub use elsewhere::{Elsewhere, Forecast, PausedWorkload, pause_towards};
pub use interval::forecast;

use std::time::Duration;

/// Parts of a transaction's time; they sum to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shares {
    pub client: Duration,
    pub network: Duration,
    /// Server work, and waits for processors on either side.
    pub server: Duration,
}

/// Splits a transaction's time. If round trips under load took longer than the whole transaction,
/// network is cut to the time that client leaves.
pub fn shares(transaction: Duration, turns: f64, round_trip: Duration, client: Duration) -> Shares {
    let client = client.min(transaction);
    let network = span(turns * round_trip.as_secs_f64()).min(transaction - client);
    Shares {
        client,
        network,
        server: transaction - client - network,
    }
}

/// Echo round-trip time at two numbers of streams, each with one message always in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EchoedRoundTrips {
    pub alone: Duration,
    /// With `streams` streams, as many as the workload has clients.
    pub together: Duration,
    /// There is at least one.
    pub streams: u32,
}

impl EchoedRoundTrips {
    /// Round-trip time at the message rate of `clients`, each with `turns` round trips per
    /// `transaction`.
    ///
    /// All streams of an echo wait for the network and its packet processing; of the clients, only
    /// those not waiting for the server. By Little's law `n` of them are in flight, with n / round
    /// trip(n) equal to that rate. The round-trip time is interpolated linearly between the two
    /// measured numbers of streams.
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

const MIN_SECONDS: f64 = 1e-9;

#[cfg(test)]
mod tests {
    use super::*;

    fn micros(micros: f64) -> Duration {
        Duration::from_nanos((micros * 1e3).round() as u64)
    }

    #[test]
    fn clients_that_wait_for_the_server_do_not_crowd_the_network() {
        // The echo takes 23 us of a processor per message: 64 streams wait 1.5 ms.
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
        // A link without a rate limit: the message rate does not matter.
        let long = EchoedRoundTrips {
            alone: micros(20_000.0),
            together: micros(20_010.0),
            streams: 64,
        };
        assert!(long.under(64, 2.0, micros(50_000.0)).abs_diff(micros(20_005.0)) < micros(6.0));
        // One client, and the kernel's round-trip time, which is the same for all.
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
