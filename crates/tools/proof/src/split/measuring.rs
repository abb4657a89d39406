//! Alternating rounds of load and echo, and their results.

use super::SplitPlan;
use super::distance::{RoundTripProbe, RoundTripSample, packet_round_trip};
use super::places::{Pausing, Place, stations};
use super::rounds::{Round, SplitBench, Station, Visit};
use anyhow::{Context, Result};
use model::{
    Interval, PerDirection, RoundTripSource, SplitBase, SplitOutcome, SplitPrediction, Warning, WarningKind,
    median,
};
use pipeline::progress::ProgressSink;
use predict::split::{EchoedRoundTrips, Shares, shares};
use report::outcome::SplitReport;
use std::time::Duration;
use sys::StopToken;

#[derive(Debug)]
pub struct SplitMeasurement {
    clients: Vec<u32>,
    places: Vec<Place>,
    rounds: Vec<(Round, Nears)>,
}

/// Round trips at each client count, and at one client.
type Nears = Vec<(u32, RoundTripSample)>;

/// # Errors
/// If the server or an echo cannot be measured, or `stop` is set before a round is complete.
pub fn measure(
    plan: &SplitPlan,
    bench: &SplitBench,
    distance: &RoundTripProbe,
    progress: &dyn ProgressSink,
    stop: &StopToken,
) -> Result<SplitMeasurement> {
    let one = Station::direct(1);
    let first = bench.round(&[one], bench.address, stop)?;
    let first = first
        .at(one)
        .context("the run was ended before anything was measured")?;
    let sizes = sizes(first);
    let pausing = Pausing {
        turns: first.turns,
        visit: bench.visit,
    };
    let places = places(plan, bench, distance, sizes, pausing, stop)?;
    let stations = stations(bench, &places);
    let mut asked = bench.clients.clone();
    if !asked.contains(&1) {
        asked.insert(0, 1);
    }
    let mut rounds = Vec::new();
    for number in 1..=plan.rounds {
        if stop.is_stopped() {
            break;
        }
        progress.status(&format!("round {number} of {}", plan.rounds));
        let round = bench.round(&stations, bench.address, stop);
        let ask = |&streams: &u32| Ok((streams, distance.measure_rtt(sizes, streams, bench.visit, stop)?));
        let nears: Result<Nears> = asked.iter().map(ask).collect();
        match (round, nears) {
            (Ok(round), Ok(nears)) => rounds.push((round, nears)),
            // Interrupted rounds have no result.
            _ if stop.is_stopped() => break,
            (Err(error), _) | (_, Err(error)) => return Err(error),
        }
    }
    progress.status("");
    anyhow::ensure!(
        !rounds.is_empty(),
        "the run was ended before a round was complete"
    );
    Ok(SplitMeasurement {
        clients: bench.clients.clone(),
        places,
        rounds,
    })
}

fn places(
    plan: &SplitPlan,
    bench: &SplitBench,
    distance: &RoundTripProbe,
    sizes: PerDirection<u32>,
    pausing: Pausing,
    stop: &StopToken,
) -> Result<Vec<Place>> {
    let packets = packet_round_trip(&bench.target, stop)?;
    let behind = |link| Place::behind(link, packets, pausing);
    let mut places: Vec<Place> = plan.links.iter().map(behind).collect();
    if !plan.echoes.is_empty() {
        let alone = distance.measure_rtt(sizes, 1, bench.visit, stop)?.round_trip;
        for (address, echo) in &plan.echoes {
            places.push(Place::of_echo(address, echo, sizes, alone, bench, pausing, stop)?);
        }
    }
    Ok(places)
}

/// Payload bytes per round trip, each way.
fn sizes(visit: &Visit) -> PerDirection<u32> {
    visit.payload_bytes.map(|bytes| {
        let each = (bytes / visit.turns.max(1.0)).round();
        (each as u32).clamp(1, probe::echo::MAX_BYTES)
    })
}

impl SplitMeasurement {
    pub fn report(
        &self,
        work: String,
        plan: &SplitPlan,
        bench: &SplitBench,
        distance: &RoundTripProbe,
    ) -> SplitReport {
        SplitReport {
            work,
            server: bench.target.server(),
            rounds: plan.rounds,
            visit: bench.visit,
            points: self.points(distance),
            predictions: self.predictions(),
            proofs: Vec::new(),
            links: Vec::new(),
            warnings: self.warnings(distance),
        }
    }

    /// Breakdown of transaction time per client count.
    fn points(&self, distance: &RoundTripProbe) -> Vec<SplitOutcome> {
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
        // All medians come from the same one or two rounds: medians of the parts taken separately
        // would not add up.
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
            transaction: Interval::from_rounds(visits.iter().map(|(visit, _)| visit.transaction))?,
            client: of(|shares| shares.client)?,
            network: of(|shares| shares.network)?,
            server: of(|shares| shares.server)?,
        })
    }

    /// For each round, the visit with this many clients and a round-trip time at the same rate.
    fn visits(&self, clients: u32) -> impl Iterator<Item = (&Visit, RoundTripSample)> {
        self.rounds.iter().filter_map(move |(round, nears)| {
            let of = |wanted: u32| nears.iter().find(|(streams, _)| *streams == wanted);
            let (visit, (_, together)) = (round.at(Station::direct(clients))?, *of(clients)?);
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

    fn predictions(&self) -> Vec<SplitPrediction> {
        let rounds: Vec<&Round> = self.rounds.iter().map(|(round, _)| round).collect();
        let of_place = |place: &Place| {
            let predict = |&clients: &u32| place.predict(&rounds, clients, SplitBase::Direct);
            self.clients.iter().map(predict).collect::<Vec<_>>()
        };
        self.places.iter().flat_map(of_place).collect()
    }

    fn warnings(&self, distance: &RoundTripProbe) -> Vec<Warning> {
        let mut warnings = Vec::new();
        let visits = || self.rounds.iter().flat_map(|(round, _)| round.visits());
        let errors: u64 = visits().map(|visit| visit.errors).sum();
        if let Some(error) = visits().find_map(|visit| visit.error.as_ref()) {
            let failed = model::counted(errors, "transaction", "transactions");
            let text = format!("{failed} failed, in no figure; the first: {error}");
            warnings.push(Warning::new(WarningKind::OperationsFailed, text));
        }
        if distance.source() == RoundTripSource::Kernel {
            warnings.push(Warning::new(
                WarningKind::RoundTripBiased,
                "round-trip times are the kernel's, without wake-ups and waiting, which count as server time; \
                 start `longwire echo --listen` on its host and give --echo",
            ));
        }
        warnings
    }
}
