//! Rounds of load and echo in turn, and their results.

use super::Args;
use crate::split::{Round, RoundTripProbe, RoundTripSample, SplitBench, Visit};
use anyhow::{Context, Result};
use model::{Interval, RoundTripSource, SplitBase, SplitOutcome, SplitPrediction, Warning, median};
use pipeline::progress::{ProgressSink, StderrProgress};
use predict::split::{EchoedRoundTrips, Elsewhere, Forecast, MeasuredWorkload, Shares, shares};
use probe::echo::Echo;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// What was measured.
#[derive(Debug)]
pub struct SplitMeasurement {
    /// Requested numbers of clients.
    clients: Vec<u32>,
    /// Payload bytes of a turn's request and reply.
    pub sizes: [u32; 2],
    /// Round trip of packets between here and the server, without the wake-ups of processes.
    packets: Duration,
    rounds: Vec<(Round, Nears)>,
}

/// Round trips at each number of clients, and at one.
type Nears = Vec<(u32, RoundTripSample)>;

/// Measures all rounds.
///
/// # Errors
/// When the server or the echo does not answer.
pub fn measure(
    args: &Args,
    bench: &SplitBench,
    distance: &RoundTripProbe,
    stop: &AtomicBool,
) -> Result<SplitMeasurement> {
    let first = bench.round(&[1], bench.address, stop)?;
    let sizes = sizes(
        first
            .of(1)
            .context("the run was ended before anything was measured")?,
    );
    let packets = crate::split::packet_round_trip(&bench.target, stop)?;
    let stations = bench.stations();
    let mut asked = bench.clients.clone();
    if !asked.contains(&1) {
        asked.insert(0, 1);
    }
    let mut rounds = Vec::new();
    for number in 1..=args.rounds {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        StderrProgress.status(&format!("round {number} of {}", args.rounds));
        let round = bench.round(&stations, bench.address, stop);
        let ask = |&streams: &u32| Ok((streams, distance.ask(sizes, streams, bench.visit, stop)?));
        let nears: Result<Nears> = asked.iter().map(ask).collect();
        match (round, nears) {
            (Ok(round), Ok(nears)) => rounds.push((round, nears)),
            // A round that was cut short has no result.
            _ if stop.load(Ordering::Relaxed) => break,
            (Err(error), _) | (_, Err(error)) => return Err(error),
        }
    }
    StderrProgress.status("");
    anyhow::ensure!(
        !rounds.is_empty(),
        "the run was ended before a round was complete"
    );
    Ok(SplitMeasurement {
        clients: bench.clients.clone(),
        sizes,
        packets,
        rounds,
    })
}

/// Payload bytes of a turn each way.
fn sizes(visit: &Visit) -> [u32; 2] {
    visit.payload_bytes.map(|bytes| {
        let each = (bytes / visit.turns.max(1.0)).round();
        (each as u32).clamp(1, probe::echo::MOST_BYTES)
    })
}

impl SplitMeasurement {
    /// Where the time of a transaction goes, at each requested number of clients.
    pub fn points(&self, distance: &RoundTripProbe) -> Vec<SplitOutcome> {
        let point = |&clients: &u32| self.point(clients, distance.source());
        self.clients.iter().filter_map(point).collect()
    }

    fn point(&self, clients: u32, source: RoundTripSource) -> Option<SplitOutcome> {
        let mut visits: Vec<(&Visit, RoundTripSample)> = self.visits(clients).collect();
        visits.sort_by_key(|(visit, _)| visit.transaction);
        let split: Vec<Shares> = visits
            .iter()
            .map(|(visit, near)| {
                let handling = near.client_processor.mul_f64(visit.turns);
                let client = visit.client_processor.saturating_sub(handling);
                shares(visit.transaction, visit.turns, near.round_trip, client)
            })
            .collect();
        // All medians are those of one round, or of the same two: each part's own median could be another round's, and they would not add up.
        let middle = visits.len().checked_sub(1)? / 2;
        let (visit, _) = visits[middle];
        let of_middle = |figure: &dyn Fn(usize) -> Duration| median([middle, visits.len() / 2].map(figure));
        let of = |part: fn(&Shares) -> Duration| {
            Interval::around(of_middle(&|at| part(&split[at]))?, split.iter().map(part))
        };
        Some(SplitOutcome {
            clients,
            transactions: visits.iter().map(|(visit, _)| visit.transactions).sum(),
            errors: visits.iter().map(|(visit, _)| visit.errors).sum(),
            spread: visit.spread,
            turns: visit.turns,
            payload_bytes: visit.payload_bytes,
            round_trip: Interval::around(
                of_middle(&|at| visits[at].1.round_trip)?,
                visits.iter().map(|(_, near)| near.round_trip),
            )?,
            source,
            transaction: Interval::of(visits.iter().map(|(visit, _)| visit.transaction))?,
            client: of(|shares| shares.client)?,
            network: of(|shares| shares.network)?,
            server: of(|shares| shares.server)?,
        })
    }

    /// From each round, the visit to this many clients, and the round trip at the rate of its turns.
    fn visits(&self, clients: u32) -> impl Iterator<Item = (&Visit, RoundTripSample)> {
        self.rounds.iter().filter_map(move |(round, nears)| {
            let of = |wanted: u32| nears.iter().find(|(streams, _)| *streams == wanted);
            let (visit, (_, together)) = (round.of(clients)?, *of(clients)?);
            let echoed = EchoedRoundTrips {
                alone: of(1)?.1.round_trip,
                together: together.round_trip,
                streams: clients,
            };
            let near = RoundTripSample {
                round_trip: echoed.under(clients, visit.turns, visit.transaction),
                ..together
            };
            Some((visit, near))
        })
    }

    /// From each round, the basis of predictions for the places of other echoes: a round trip of theirs, wake-ups of
    /// both processes included, replaces one here.
    fn workloads_by_echo(&self) -> Vec<MeasuredWorkload> {
        let of_round = |(round, nears): &(Round, Nears)| {
            let alone = nears.iter().find(|(streams, _)| *streams == 1)?.1;
            workload(round, alone.round_trip)
        };
        self.rounds.iter().filter_map(of_round).collect()
    }

    /// The same for other links: their round trip replaces that of packets here, and the wake-ups of both processes
    /// stay.
    fn workloads_by_packets(&self) -> Vec<MeasuredWorkload> {
        let of_round = |(round, _): &(Round, Nears)| workload(round, self.packets);
        self.rounds.iter().filter_map(of_round).collect()
    }

    /// The throughput over the requested links, and at the requested echoes.
    ///
    /// # Errors
    /// When an echo does not answer.
    pub fn predictions(&self, args: &Args, stop: &AtomicBool) -> Result<Vec<SplitPrediction>> {
        let by_packets = self.workloads_by_packets();
        let mut predictions = Vec::new();
        for link in args.links() {
            let there = Elsewhere {
                round_trip: link.rtt,
                rate: link.rate,
            };
            let place: Arc<str> = link.to_string().into();
            for &clients in &self.clients {
                predictions.extend(predict(&by_packets, clients, &there, &place, SplitBase::Direct));
            }
        }
        let by_echo = self.workloads_by_echo();
        for address in &args.link_echo {
            let echo = Echo::connect(&super::arguments::echo_target(address)?)?;
            let place: Arc<str> = format!("echo {address}").into();
            for &clients in &self.clients {
                let near = crate::split::ask(&echo, self.sizes, clients, args.visit, stop)?;
                let there = Elsewhere {
                    round_trip: near.round_trip,
                    rate: [None, None],
                };
                predictions.extend(predict(&by_echo, clients, &there, &place, SplitBase::Direct));
            }
        }
        Ok(predictions)
    }

    /// What a reader of the figures must know.
    pub fn warnings(&self, distance: &RoundTripProbe) -> Vec<Warning> {
        let mut texts = Vec::new();
        let visits = || self.rounds.iter().flat_map(|(round, _)| &round.visits);
        let errors: u64 = visits().map(|visit| visit.errors).sum();
        if let Some(error) = visits().find_map(|visit| visit.error.as_ref()) {
            texts.push(format!(
                "{} failed, in no figure; the first: {error}",
                model::counted(errors, "transaction", "transactions")
            ));
        }
        if distance.source() == RoundTripSource::Kernel {
            texts.push(
                "round trips are the kernel's, without wake-ups and waiting: the server's share is too long; \
                 start `longwire echo --listen` on its host and give --echo"
                    .to_owned(),
            );
        }
        texts.into_iter().map(|text| Warning { text }).collect()
    }
}

/// The basis of predictions, from one round.
pub fn workload(round: &Round, alone: Duration) -> Option<MeasuredWorkload> {
    let last = round.visits.last()?;
    MeasuredWorkload::new(round.points(), last.turns, alone, last.payload_bytes)
}

/// The median of the rounds' predictions.
pub fn predict(
    workloads: &[MeasuredWorkload],
    clients: u32,
    there: &Elsewhere,
    place: &Arc<str>,
    base: SplitBase,
) -> Option<SplitPrediction> {
    let forecasts: Vec<Forecast> = workloads
        .iter()
        .map(|workload| workload.elsewhere(clients, there))
        .collect();
    Some(SplitPrediction {
        place: Arc::clone(place),
        base,
        round_trip: there.round_trip,
        clients,
        transaction: Interval::of(forecasts.iter().map(|forecast| forecast.transaction))?,
        bound_by: forecasts.first()?.bound_by,
        measured: None,
    })
}
