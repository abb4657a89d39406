//! Verifies predictions over emulated links.

use super::SplitPlan;
use super::place::ClientSite;
use super::places::{Pausing, Place, stations};
use super::rounds::{Round, SplitBench, Station};
use crate::backend::Backend;
use anyhow::{Context, Result};
use link::LinkDescription;
use model::SplitBase;
use pipeline::progress::ProgressSink;
use report::outcome::SplitReport;
use std::time::Duration;
use sys::StopToken;

/// Measures the workload over each link. Predictions come from rounds over the same link without
/// delay but with pauses, so that both include the emulator's overhead and CPU use.
///
/// # Errors
/// If a link cannot be made, or the server cannot be measured behind it.
pub fn prove(
    plan: &SplitPlan,
    bench: &SplitBench,
    backend: &Backend,
    report: &mut SplitReport,
    progress: &dyn ProgressSink,
    stop: &StopToken,
) -> Result<()> {
    let server = bench.address.context(NO_ADDRESS)?;
    let place = match backend {
        Backend::Packet(sandbox) => ClientSite::behind(sandbox, server)?,
        Backend::Stream => ClientSite::Stream { server },
    };
    let links = &plan.links;
    let rounds = plan.rounds.min(MAX_ROUNDS);
    let none = LinkDescription::with_rtt(Duration::ZERO);
    let pausing = Pausing {
        turns: report.points.first().map_or(1.0, |point| point.turns),
        visit: bench.visit,
    };
    let places: Vec<Place> = links
        .iter()
        .map(|link| Place::behind(link, place.taken_off(), pausing))
        .collect();
    let paused = stations(bench, &places);
    let direct: Vec<Station> = bench.clients.iter().copied().map(Station::direct).collect();
    let mut nears: Vec<Round> = Vec::new();
    let mut there: Vec<Vec<Round>> = vec![Vec::new(); links.len()];
    for number in 1..=rounds {
        progress.status(&format!("over emulated links: round {number} of {rounds}"));
        nears.push(place.round(bench, &none, &paused, stop)?.0);
        for (link, rounds) in links.iter().zip(&mut there) {
            let (round, outcome) = place.round(bench, link, &direct, stop)?;
            rounds.push(round);
            if number == 1 {
                report.links.extend(outcome);
            }
        }
        if stop.is_stopped() {
            break;
        }
    }
    progress.status("");
    let nears: Vec<&Round> = nears.iter().collect();
    for (place, rounds) in places.iter().zip(&there) {
        for &clients in &bench.clients {
            let mut prediction = place.predict(&nears, clients, SplitBase::Emulated);
            prediction.measured = Round::interval(rounds, clients);
            report.proofs.push(prediction);
        }
    }
    let warnings = report.links.iter().flat_map(report::text::link_warnings);
    report.warnings.extend(warnings);
    Ok(())
}

pub const NO_ADDRESS: &str =
    "a Unix socket cannot be put behind a link: name the server by its host for --verify";
/// Lower for verification, where each round also visits every link.
const MAX_ROUNDS: u32 = 3;
