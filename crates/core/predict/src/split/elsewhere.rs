//! Predicts a workload elsewhere from a measurement with pausing clients.
//!
//! A pause before each request delays it as distance does. It does not show three effects:
//!
//! 1. Distances with longer pauses than a visit allows. The rest is added; if transactions wait for each
//!    other's rows, their whole time could grow with distance instead.
//! 2. A nearer place: one client gains the shorter rtt, but many clients still wait for the server.
//! 3. A link's rate: a queue in each direction. The throughput of this closed network is known exactly
//!    (product form; Buzen's convolution, in logarithms against overflow). Its service times vary more than
//!    packets of one size, so it is the upper bound; the slowest part alone is the lower bound.

use super::{MIN_SECONDS, span};
use link::TCP_HEADER_BYTES;
use model::{BitRate, BoundBy, Direction, LinkRates, PerDirection};
use std::time::Duration;

/// Measured with clients that pause before each request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PausedWorkload {
    pub clients: u32,
    pub pause: Duration,
    /// Clients divided by transactions per second, pauses included.
    pub transaction: Duration,
    pub turns: f64,
    /// Without the added pause.
    pub round_trip: Duration,
    /// Payload per transaction to and from the server.
    pub payload_bytes: PerDirection<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Elsewhere {
    /// Round-trip time, measured like [`PausedWorkload::round_trip`].
    pub round_trip: Duration,
    /// In wire bytes to and from the server; `None` if the link is unlimited.
    pub rate: LinkRates,
}

/// Transaction time elsewhere, from one round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Forecast {
    pub transaction: Duration,
    pub low: Duration,
    pub high: Duration,
    pub bound_by: BoundBy,
}

/// Pause for measuring a place: the additional rtt, as far as a transaction's pauses fit into part
/// of a visit.
pub fn pause_towards(there: Duration, here: Duration, turns: f64, visit: Duration) -> Duration {
    let longest = visit.mul_f64(MAX_VISIT_SHARE / turns.max(1.0));
    there.saturating_sub(here).min(longest)
}

impl PausedWorkload {
    pub fn elsewhere(&self, there: &Elsewhere) -> Forecast {
        let apart = self.turns * (there.round_trip.as_secs_f64() - self.round_trip.as_secs_f64());
        let mut distance = self.at_distance(apart);
        distance.high += self.spacing(there);
        let queues = PerDirection::from_fn(|direction| self.serialisation(direction, there.rate[direction]));
        let behind = self.behind(distance, queues);
        let round_trips = self.turns * there.round_trip.as_secs_f64();
        let bound_by = if behind.queued > behind.middle / 2.0 {
            BoundBy::Rate
        } else if round_trips > behind.middle / 2.0 {
            BoundBy::RoundTrips
        } else {
            BoundBy::Server
        };
        Forecast {
            transaction: span(behind.middle),
            low: span(behind.low),
            high: span(behind.high),
            bound_by,
        }
    }

    /// Seconds per transaction with `apart` seconds of additional distance instead of its pauses.
    fn at_distance(&self, apart: f64) -> Bounds {
        let measured = self.transaction.as_secs_f64().max(MIN_SECONDS);
        let paused = self.turns * self.pause.as_secs_f64();
        let missing = apart - paused;
        let middle = (measured + missing).max(MIN_SECONDS);
        let [low, high] = match missing {
            _ if self.clients == 1 => [middle, middle],
            missing if missing > 0.0 && paused > 0.0 => [measured.max(apart), measured * apart / paused],
            missing if missing > 0.0 => [measured.max(apart), middle],
            _ => [middle, measured],
        };
        Bounds {
            low,
            middle,
            high,
            queued: 0.0,
        }
    }

    /// Seconds by which a server's BBR, which no client sees, may space out replies of several packets.
    fn spacing(&self, there: &Elsewhere) -> f64 {
        let full = (self.payload_bytes[Direction::ServerToClient] / FULL_PACKET).floor();
        let farther = there.round_trip.saturating_sub(self.round_trip);
        full.min(self.turns) * farther.as_secs_f64() * SPACING
    }

    /// The same over a link with these seconds per transaction and direction in queues.
    fn behind(&self, distance: Bounds, queues: PerDirection<f64>) -> Bounds {
        let slowest = queues.into_iter().fold(0.0, f64::max);
        if slowest <= 0.0 {
            return distance;
        }
        let clients = self.clients.clamp(1, MAX_CLIENTS);
        let through = |apart: f64| {
            let mut all = delay(clients, apart);
            for queue in queues.into_iter().filter(|queue| *queue > 0.0) {
                all = beside(&all, &station(clients, |_| 1.0 / queue));
            }
            f64::from(clients) / throughput(&all)
        };
        let middle = through(distance.middle);
        let least = match clients {
            1 => middle,
            _ => distance.low.max(f64::from(clients) * slowest),
        };
        Bounds {
            low: least,
            middle,
            high: through(distance.high),
            queued: middle - distance.middle,
        }
    }

    fn serialisation(&self, direction: Direction, rate: Option<BitRate>) -> f64 {
        let Some(rate) = rate else { return 0.0 };
        let payload = self.payload_bytes[direction];
        let turns = self.turns.max(1.0);
        let packets = turns * (payload / turns / FULL_PACKET).ceil().max(1.0);
        let wire = payload + packets * f64::from(TCP_HEADER_BYTES);
        wire * 8.0 / rate.as_bits_per_second() as f64
    }
}

#[derive(Debug, Clone, Copy)]
struct Bounds {
    low: f64,
    middle: f64,
    high: f64,
    /// Part of the middle spent in the link's queues.
    queued: f64,
}

/// Logarithmic weights of each number of transactions in a station with these rates.
fn station(clients: u32, rate: impl Fn(u32) -> f64) -> Vec<f64> {
    let mut weights = vec![0.0];
    let mut sum = 0.0;
    for number in 1..=clients {
        sum -= rate(number).ln();
        weights.push(sum);
    }
    weights
}

/// For a delay, in which clients do not wait for each other.
fn delay(clients: u32, seconds: f64) -> Vec<f64> {
    station(clients, |number| f64::from(number) / seconds)
}

fn beside(one: &[f64], other: &[f64]) -> Vec<f64> {
    let sum = |count: usize| {
        let terms = one.iter().take(count + 1).zip(other.iter().take(count + 1).rev());
        let terms: Vec<f64> = terms.map(|(one, other)| one + other).collect();
        let greatest = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        greatest + terms.iter().map(|term| (term - greatest).exp()).sum::<f64>().ln()
    };
    (0..one.len()).map(sum).collect()
}

fn throughput(weights: &[f64]) -> f64 {
    match weights {
        [.., before, last] => (before - last).exp(),
        _ => 0.0,
    }
}

/// Payload of a full packet: Ethernet's mtu less headers.
const FULL_PACKET: f64 = 1448.0;
/// Of a round trip: one over BBR's first gain, 2.89.
const SPACING: f64 = 0.35;
/// The arithmetic grows with its square.
const MAX_CLIENTS: u32 = 2_000;
/// Share of a visit that one transaction's pauses may take.
const MAX_VISIT_SHARE: f64 = 0.25;

#[cfg(test)]
mod tests {
    use super::*;

    fn micros(micros: f64) -> Duration {
        Duration::from_nanos((micros * 1e3).round() as u64)
    }

    fn workload(clients: u32, per_second: f64) -> PausedWorkload {
        PausedWorkload {
            clients,
            pause: Duration::ZERO,
            transaction: span(f64::from(clients) / per_second),
            turns: 1.0,
            round_trip: micros(20.0),
            payload_bytes: PerDirection::new(50.0, 100.0),
        }
    }

    fn away(round_trip: Duration) -> Elsewhere {
        Elsewhere {
            round_trip,
            rate: PerDirection::default(),
        }
    }

    fn close(span: Duration, to: f64) -> bool {
        span.abs_diff(micros(to)) < micros(0.1)
    }

    #[test]
    fn the_published_prediction_of_one_client() {
        // `select 1` on loopback: 5.16 us one way, 36,938 per second. At 13.6 us one way: predicted
        // 22,753, as published (measured: 24,725).
        let published = PausedWorkload {
            round_trip: micros(2.0 * 5.16),
            payload_bytes: PerDirection::new(20.0, 60.0),
            ..workload(1, 36_938.0)
        };
        let predicted = published.elsewhere(&away(micros(2.0 * 13.6)));
        assert!(close(predicted.transaction, 1e6 / 22_753.0), "{predicted:?}");
    }

    #[test]
    fn one_client_is_plain_addition() {
        let one = PausedWorkload {
            turns: 3.0,
            payload_bytes: PerDirection::new(60.0, 180.0),
            ..workload(1, 10_000.0)
        };
        let there = one.elsewhere(&away(micros(5_020.0)));
        assert!(close(there.transaction, 100.0 + 15_000.0), "{there:?}");
        assert_eq!((there.low, there.high), (there.transaction, there.transaction));
        assert_eq!(there.bound_by, BoundBy::RoundTrips);
        let nearer = one.elsewhere(&away(micros(10.0)));
        assert!(close(nearer.transaction, 70.0), "{nearer:?}");
        // 180 bytes in three packets: 336 bytes on the wire, 2688 us at 1 Mbit/s; 216 bytes and
        // 1728 us up.
        let slow = one.elsewhere(&Elsewhere {
            round_trip: micros(20.0),
            rate: PerDirection::splat(BitRate::from_bits_per_second(1_000_000)),
        });
        assert!(close(slow.transaction, 100.0 + 1728.0 + 2688.0), "{slow:?}");
        assert_eq!((slow.low, slow.high), (slow.transaction, slow.transaction));
    }

    #[test]
    fn what_was_measured_with_pauses_of_the_distance_is_the_prediction() {
        // Without distance: 30,000 per second; with pauses of 1 ms: at most 22,000.
        let paused = PausedWorkload {
            pause: micros(1_000.0),
            ..workload(64, 22_000.0)
        };
        let there = paused.elsewhere(&away(micros(1_020.0)));
        let same = paused.transaction;
        assert_eq!((there.transaction, there.low, there.high), (same, same, same));
        assert_eq!(there.bound_by, BoundBy::Server);
    }

    #[test]
    fn a_distance_beyond_the_longest_pause_is_added_or_all_of_it_grows() {
        let visit = Duration::from_secs(1);
        let pause = pause_towards(micros(1_000_020.0), micros(20.0), 2.5, visit);
        assert_eq!(
            pause,
            Duration::from_millis(100),
            "a tenth of a visit for each round trip"
        );
        assert_eq!(
            pause_towards(micros(5_020.0), micros(20.0), 1.0, visit),
            micros(5_000.0)
        );
        assert_eq!(
            pause_towards(micros(10.0), micros(20.0), 1.0, visit),
            Duration::ZERO
        );
        // 100 of 160 ms are pauses; the rest may be waits for rows, which are held longer
        // elsewhere.
        let held = PausedWorkload {
            pause,
            ..workload(16, 100.0)
        };
        let there = held.elsewhere(&away(micros(200_020.0)));
        assert!(close(there.low, 200_000.0), "{there:?}");
        assert!(close(there.transaction, 260_000.0), "{there:?}");
        assert!(close(there.high, 320_000.0), "{there:?}");
    }

    #[test]
    fn of_many_clients_it_is_not_known_how_many_gain_by_being_nearer() {
        let far = PausedWorkload {
            round_trip: micros(1_000.0),
            ..workload(64, 30_000.0)
        };
        let near = far.elsewhere(&away(micros(100.0)));
        assert!(close(near.high, 64e6 / 30_000.0), "{near:?}");
        assert!(close(near.low, 64e6 / 30_000.0 - 900.0), "{near:?}");
    }

    #[test]
    fn replies_of_several_packets_may_be_spaced_out() {
        let rows = PausedWorkload {
            payload_bytes: PerDirection::new(50.0, 11_000.0),
            ..workload(1, 10_000.0)
        };
        let there = rows.elsewhere(&away(micros(10_020.0)));
        assert!(close(there.transaction, 10_100.0), "{there:?}");
        assert!(close(there.high, 13_600.0), "{there:?}");
        let nearer = rows.elsewhere(&away(micros(10.0)));
        assert_eq!(nearer.high, nearer.transaction);
    }

    #[test]
    fn a_rate_bounds_many_clients() {
        let workload = workload(64, 30_000.0);
        let slow = workload.elsewhere(&Elsewhere {
            round_trip: micros(20.0),
            rate: PerDirection::new(None, BitRate::from_bits_per_second(1_216_000)),
        });
        assert_eq!(slow.bound_by, BoundBy::Rate);
        assert!(
            slow.transaction.abs_diff(micros(64_000.0)) < micros(100.0),
            "{slow:?}"
        );
        assert!(slow.low <= slow.transaction && slow.transaction <= slow.high);
        assert!(slow.high < micros(64_200.0), "{slow:?}");
    }

    #[test]
    fn throughput_never_grows_with_distance_and_never_beats_its_bounds() {
        let workload = PausedWorkload {
            turns: 2.0,
            ..workload(64, 29_000.0)
        };
        let rate = PerDirection::new(None, BitRate::from_bits_per_second(20_000_000));
        for rate in [LinkRates::default(), rate] {
            let mut last = Duration::ZERO;
            for millis in 0..60 {
                let rtt = micros(20.0 + 1e3 * f64::from(millis));
                let there = workload.elsewhere(&Elsewhere {
                    round_trip: rtt,
                    rate,
                });
                assert!(there.transaction >= last, "{millis} ms: {there:?} after {last:?}");
                assert!(
                    there.low <= there.transaction && there.transaction <= there.high,
                    "{there:?}"
                );
                assert!(there.transaction >= workload.transaction, "{there:?}");
                assert!(there.low >= 2 * (rtt - micros(20.0)), "{there:?}");
                last = there.transaction;
            }
        }
    }
}
