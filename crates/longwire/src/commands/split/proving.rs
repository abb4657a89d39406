//! Verifies predictions over emulated links.

use super::Args;
use super::places::{Pausing, Place, stations};
use crate::split::{ClientSite, Round, SplitBench, Station};
use anyhow::Result;
use link::LinkDescription;
use model::SplitBase;
use netns::{Sandbox, sandbox};
use pipeline::output;
use pipeline::progress::{ProgressSink, StderrProgress};
use report::outcome::SplitReport;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::verify::EmulationLevel;

#[derive(Debug)]
pub enum Emulation {
    Packets(Sandbox),
    Streams,
    /// This was the outer process of a sandbox; exit with this status.
    Finished(u8),
}

/// Chooses the emulation, if verification was requested. It may restart the program inside a
/// sandbox, so call it first.
///
/// # Errors
/// If packet level is requested and the system refuses it.
pub fn emulation(args: &Args) -> Result<Option<Emulation>> {
    if !args.verify {
        return Ok(None);
    }
    if args.level == Some(EmulationLevel::Stream) {
        return Ok(Some(Emulation::Streams));
    }
    match sandbox::enter() {
        Ok(entered) => Ok(Some(match super::entered(entered) {
            Ok(sandbox) => Emulation::Packets(sandbox),
            Err(status) => Emulation::Finished(status),
        })),
        Err(error) if args.level.is_none() => {
            output::print_note(&format!(
                "no packets can be emulated here ({error}), so streams are"
            ));
            Ok(Some(Emulation::Streams))
        }
        Err(error) => Err(error.into()),
    }
}

/// Measures the workload over each link. Predictions come from rounds over the same link without
/// delay but with pauses, so that both include the emulator's overhead and CPU use.
pub fn prove(
    args: &Args,
    bench: &SplitBench,
    emulation: Emulation,
    report: &mut SplitReport,
    stop: &AtomicBool,
) -> Result<()> {
    let place = match emulation {
        Emulation::Packets(sandbox) => ClientSite::behind(&sandbox, bench.address)?,
        Emulation::Streams | Emulation::Finished(_) => ClientSite::Stream {
            server: bench.address,
        },
    };
    let links = args.links();
    let rounds = args.rounds.min(MAX_ROUNDS);
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
        StderrProgress.status(&format!("over emulated links: round {number} of {rounds}"));
        nears.push(place.round(bench, &none, &paused, stop)?.0);
        for (link, rounds) in links.iter().zip(&mut there) {
            let (round, outcome) = place.round(bench, link, &direct, stop)?;
            rounds.push(round);
            if number == 1 {
                report.links.extend(outcome);
            }
        }
        if stop.load(Ordering::Relaxed) {
            break;
        }
    }
    StderrProgress.status("");
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

/// Lower for verification, where each round also visits every link.
const MAX_ROUNDS: u32 = 3;
