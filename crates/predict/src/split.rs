//! A workload measured at some numbers of clients, elsewhere: the arithmetic of `split`.
//!
//! In a closed loop a transaction of one of `c` clients takes `c / throughput`. For one client that is client + network +
//! server, and network is turns times the round trip, both ways of it.
//!
//! What is near (client, server, and both machines' handling of packets) is taken as one station, whose throughput with
//! `n` transactions in it is the one measured with `n` clients and no distance (a flow-equivalent station: Chandy, Herzog
//! and Woo, 1975). What a distance adds is a delay before it, in which clients do not delay each other, and a link with a rate
//! is a queue each way. The throughput of this closed network is known exactly (product form; Buzen's convolution,
//! computed in logarithms so that nothing overflows). So one client is plain addition, many clients at a small distance are
//! bound by what the near side can do, and many at a large one by the distance.

use link::TCP_HEADER_BYTES;
use model::{BitRate, BoundBy, LinkRates};
use std::time::Duration;

/// What a transaction takes with a given number of clients and no distance but the one that was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConcurrencyPoint {
    /// Clients, each with one transaction after another.
    pub clients: u32,
    /// Clients divided by transactions a second.
    pub transaction: Duration,
}

/// What was measured.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredWorkload {
    /// At least one point. Between points the time of a transaction is taken to grow linearly.
    points: Vec<ConcurrencyPoint>,
    /// Turns of a transaction, mean.
    pub turns: f64,
    /// Round trip there of messages of the workload's sizes by one client alone, both ways.
    pub round_trip: Duration,
    /// Payload of a transaction to the server and from it.
    pub payload_bytes: [f64; 2],
}

/// Another place for the same client and server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Elsewhere {
    /// Round trip of messages of the workload's sizes, both ways.
    pub round_trip: Duration,
    /// Rate of the link to the server and from it, in wire bytes; absent when unlimited.
    pub rate: LinkRates,
}

/// What a transaction would take elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Forecast {
    /// Clients divided by transactions a second.
    pub transaction: Duration,
    /// What takes most of it.
    pub bound_by: BoundBy,
}

/// Where the time of a transaction goes; the parts sum to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shares {
    /// The client's own, before it sends.
    pub client: Duration,
    /// Turns times the round trip.
    pub network: Duration,
    /// The rest: the server's work, and waiting for processors on either side.
    pub server: Duration,
}

/// Splits a transaction of this many turns, given the round trip and the client's own time. Where round trips under load took
/// longer than the whole transaction, the network is cut to what the client leaves of it.
pub fn shares(transaction: Duration, turns: f64, round_trip: Duration, client: Duration) -> Shares {
    let client = client.min(transaction);
    let network = span(turns * round_trip.as_secs_f64()).min(transaction - client);
    Shares {
        client,
        network,
        server: transaction - client - network,
    }
}

/// Round trips of messages alone, measured by an echo at two numbers of streams that always have a message on its way.
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
    /// The round trip where messages come at the rate at which `clients` have turns, each `turns` of them in a `transaction`.
    ///
    /// All streams of an echo wait for the network and for the processors that handle its packets; of the clients only those that do not
    /// wait for the server. By Little's law `n` of them are under way, for which n / round trip(n) is that rate; between the two
    /// measured numbers of streams the round trip grows linearly.
    pub fn under(&self, clients: u32, turns: f64, transaction: Duration) -> Duration {
        let streams = f64::from(self.streams.max(1));
        let [alone, together] = [self.alone, self.together].map(|span| span.as_secs_f64());
        let rate = turns * f64::from(clients) / transaction.as_secs_f64().max(LEAST);
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

impl MeasuredWorkload {
    /// From measured points; absent when there is none. Points without clients or time are left out.
    pub fn new(
        points: impl IntoIterator<Item = ConcurrencyPoint>,
        turns: f64,
        round_trip: Duration,
        payload_bytes: [f64; 2],
    ) -> Option<Self> {
        let usable = |point: &ConcurrencyPoint| point.clients > 0 && !point.transaction.is_zero();
        let mut points: Vec<_> = points.into_iter().filter(usable).collect();
        points.sort_by_key(|point| point.clients);
        points.dedup_by_key(|point| point.clients);
        (!points.is_empty()).then_some(Self {
            points,
            turns,
            round_trip,
            payload_bytes,
        })
    }

    /// A transaction of one of `clients` clients elsewhere.
    pub fn elsewhere(&self, clients: u32, there: &Elsewhere) -> Forecast {
        let clients = clients.clamp(1, MOST_CLIENTS);
        let apart = self.turns * (there.round_trip.as_secs_f64() - self.round_trip.as_secs_f64());
        let nearer = apart.min(0.0);
        let near = |number: u32| (self.near(number) + nearer).max(LEAST);
        let queues = [0, 1].map(|way| self.serialisation(way, there.rate[way]));
        let mut all = station(clients, |number| f64::from(number) / near(number));
        all = beside(&all, &delay(clients, apart.max(0.0)));
        for queue in queues.into_iter().filter(|queue| *queue > 0.0) {
            all = beside(&all, &station(clients, |_| 1.0 / queue));
        }
        let per_second = throughput(&all);
        let transaction = f64::from(clients) / per_second;
        // By Little's law: this many of the clients are under way at any time.
        let away = apart.max(0.0);
        let queued = queues
            .map(|queue| queue * per_second)
            .into_iter()
            .fold(0.0, f64::max);
        let bound_by = if queued > SATURATED && queued > away * per_second / f64::from(clients) {
            BoundBy::Rate
        } else if self.turns * there.round_trip.as_secs_f64() > transaction / 2.0 {
            BoundBy::RoundTrips
        } else {
            BoundBy::Server
        };
        Forecast {
            transaction: span(transaction),
            bound_by,
        }
    }

    /// Seconds of a transaction with `clients` at once and no further distance.
    fn near(&self, clients: u32) -> f64 {
        let seconds = |point: &ConcurrencyPoint| point.transaction.as_secs_f64();
        let after = self.points.partition_point(|point| point.clients < clients);
        match (
            after.checked_sub(1).and_then(|before| self.points.get(before)),
            self.points.get(after),
        ) {
            (Some(before), Some(after)) => {
                let along = f64::from(clients - before.clients) / f64::from(after.clients - before.clients);
                seconds(before) + along * (seconds(after) - seconds(before))
            }
            // Fewer clients than were measured: at least one takes as long as one of them alone would, which is not known.
            (None, Some(after)) => seconds(after),
            // More than were measured: what the near side did then, it goes on doing.
            (Some(last), None) => seconds(last) * f64::from(clients) / f64::from(last.clients),
            (None, None) => LEAST,
        }
    }

    /// Seconds that a transaction's bytes take one way.
    fn serialisation(&self, way: usize, rate: Option<BitRate>) -> f64 {
        let Some(rate) = rate else { return 0.0 };
        let payload = self.payload_bytes[way];
        let turns = self.turns.max(1.0);
        let packets = turns * (payload / turns / FULL_PACKET).ceil().max(1.0);
        let wire = payload + packets * f64::from(TCP_HEADER_BYTES);
        wire * 8.0 / rate.as_bits_per_second() as f64
    }
}

/// Logarithms of what each number of transactions in a station weighs; of a station with these rates.
fn station(clients: u32, rate: impl Fn(u32) -> f64) -> Vec<f64> {
    let mut weights = vec![0.0];
    let mut sum = 0.0;
    for number in 1..=clients {
        sum -= rate(number).ln();
        weights.push(sum);
    }
    weights
}

/// Of a delay, in which no client waits for another.
fn delay(clients: u32, seconds: f64) -> Vec<f64> {
    station(clients, |number| f64::from(number) / seconds)
}

/// Of two stations together: the convolution.
fn beside(one: &[f64], other: &[f64]) -> Vec<f64> {
    let sum = |count: usize| {
        let terms = one.iter().take(count + 1).zip(other.iter().take(count + 1).rev());
        let terms: Vec<f64> = terms.map(|(one, other)| one + other).collect();
        let greatest = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        greatest + terms.iter().map(|term| (term - greatest).exp()).sum::<f64>().ln()
    };
    (0..one.len()).map(sum).collect()
}

/// Transactions a second with all clients.
fn throughput(weights: &[f64]) -> f64 {
    match weights {
        [.., before, last] => (before - last).exp(),
        _ => 0.0,
    }
}

fn span(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX)
}

/// Payload of a full packet: Ethernet's mtu less headers.
const FULL_PACKET: f64 = 1448.0;
/// Shortest time, in seconds, that anything is assumed to take.
const LEAST: f64 = 1e-9;
/// The arithmetic grows with the square of it.
const MOST_CLIENTS: u32 = 2_000;
/// Of a link's rate in use, from which on it is what bounds.
const SATURATED: f64 = 0.9;

#[cfg(test)]
mod tests {
    use super::*;

    fn micros(micros: f64) -> Duration {
        Duration::from_nanos((micros * 1e3).round() as u64)
    }

    fn at(clients: u32, per_second: f64) -> ConcurrencyPoint {
        ConcurrencyPoint {
            clients,
            transaction: span(f64::from(clients) / per_second),
        }
    }

    fn per_second(workload: &MeasuredWorkload, clients: u32, there: &Elsewhere) -> f64 {
        f64::from(clients) / workload.elsewhere(clients, there).transaction.as_secs_f64()
    }

    fn away(round_trip: Duration) -> Elsewhere {
        Elsewhere {
            round_trip,
            rate: [None, None],
        }
    }

    /// `select 1` on loopback: 5.16 us one way, 36,938 a second by one client; 1,575,989 by 64.
    fn published() -> MeasuredWorkload {
        let points = [at(1, 36_938.0), at(64, 1_575_989.0)];
        MeasuredWorkload::new(points, 1.0, micros(2.0 * 5.16), [20.0, 60.0]).expect("points")
    }

    #[test]
    fn the_published_split_and_prediction_of_one_client() {
        let whole = span(1.0 / 36_938.0);
        let shares = shares(whole, 1.0, micros(2.0 * 5.16), Duration::ZERO);
        assert!(shares.server.abs_diff(micros(16.75)) < micros(0.01), "{shares:?}");
        assert_eq!(shares.client + shares.network + shares.server, whole);
        // 13.6 us one way: predicted 22,753 a second, as published (measured: 24,725).
        let predicted = per_second(&published(), 1, &away(micros(2.0 * 13.6)));
        assert!((predicted - 22_753.0).abs() < 5.0, "{predicted}");
    }

    #[test]
    fn the_published_prediction_of_64_clients() {
        // 61.8 us one way: predicted 455,192, measured 466,738.
        let predicted = per_second(&published(), 64, &away(micros(2.0 * 61.8)));
        assert!((predicted / 466_738.0 - 1.0).abs() < 0.05, "{predicted}");
    }

    #[test]
    fn one_client_is_plain_addition() {
        let points = [at(1, 10_000.0), at(64, 30_000.0)];
        let workload = MeasuredWorkload::new(points, 3.0, micros(20.0), [60.0, 180.0]).expect("points");
        let there = workload.elsewhere(1, &away(micros(5_020.0)));
        assert!(
            there.transaction.abs_diff(micros(100.0 + 15_000.0)) < micros(0.1),
            "{there:?}"
        );
        assert_eq!(there.bound_by, BoundBy::RoundTrips);
        let nearer = workload.elsewhere(1, &away(micros(10.0)));
        assert!(
            nearer.transaction.abs_diff(micros(70.0)) < micros(0.1),
            "{nearer:?}"
        );
        // 180 bytes in three packets: 336 bytes on the wire, 2688 us at 1 Mbit/s; 216 bytes and 1728 us up.
        let slow = Elsewhere {
            round_trip: micros(20.0),
            rate: [BitRate::from_bits_per_second(1_000_000); 2],
        };
        let slow = workload.elsewhere(1, &slow);
        assert!(
            slow.transaction.abs_diff(micros(100.0 + 1728.0 + 2688.0)) < micros(0.1),
            "{slow:?}"
        );
    }

    #[test]
    fn many_clients_are_bound_by_the_near_side_the_rate_or_the_distance() {
        let points = [
            at(1, 10_000.0),
            at(2, 19_000.0),
            at(4, 28_000.0),
            at(64, 30_000.0),
        ];
        let workload = MeasuredWorkload::new(points, 1.0, micros(20.0), [50.0, 100.0]).expect("points");
        let same = per_second(&workload, 64, &away(micros(20.0)));
        assert!((same - 30_000.0).abs() < 1.0, "nothing moved: {same}");
        let near = per_second(&workload, 64, &away(micros(1_020.0)));
        assert!(near > 29_000.0 && near <= 30_000.0, "saturated: {near}");
        let far = per_second(&workload, 64, &away(micros(20_020.0)));
        assert!((far / (64.0 / 0.020_11) - 1.0).abs() < 0.01, "distance: {far}");
        let slow = Elsewhere {
            round_trip: micros(1_020.0),
            rate: [None, BitRate::from_bits_per_second(1_216_000)],
        };
        let slow = workload.elsewhere(64, &slow);
        assert_eq!(slow.bound_by, BoundBy::Rate);
        assert!(
            slow.transaction.abs_diff(micros(64_000.0)) < micros(100.0),
            "{slow:?}"
        );
    }

    #[test]
    fn throughput_never_grows_with_distance_and_never_beats_its_bounds() {
        let points = [
            at(1, 10_000.0),
            at(2, 19_000.0),
            at(8, 29_000.0),
            at(64, 29_000.0),
        ];
        let workload = MeasuredWorkload::new(points, 2.0, micros(20.0), [50.0, 100.0]).expect("points");
        for clients in [1, 3, 64, 200] {
            let mut last = f64::INFINITY;
            for millis in 0..60 {
                let rtt = micros(20.0 + 1e3 * f64::from(millis));
                let rate = per_second(&workload, clients, &away(rtt));
                assert!(
                    rate <= last * (1.0 + 1e-9),
                    "{clients} at {millis} ms: {rate} after {last}"
                );
                assert!(rate <= 29_000.0 * 1.0001, "{clients} at {millis} ms: {rate}");
                let alone = f64::from(clients) / (2.0 * (rtt - micros(20.0)).as_secs_f64() + 1e-4);
                assert!(
                    rate <= alone * 1.0001,
                    "{clients} at {millis} ms: {rate} of {alone}"
                );
                last = rate;
            }
        }
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
        // As fast as the echo itself: all 64 are under way. At 97 % of that: some.
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
        assert_eq!(MeasuredWorkload::new([], 1.0, Duration::ZERO, [0.0, 0.0]), None);
        let shares = shares(micros(100.0), 1.0, micros(500.0), micros(30.0));
        assert_eq!((shares.client, shares.network), (micros(30.0), micros(70.0)));
        assert_eq!(shares.server, Duration::ZERO);
    }
}
