//! Converts the outcome of a load for reports.

use super::running::Ran;
use super::work::ClientWork;
use report::outcome::{LoadFailure, LoadReport, LoadScript};

pub fn report(work: &ClientWork, plan: &load::Plan, ran: &Ran, target: &str) -> LoadReport {
    let outcome = &ran.outcome;
    let measured = outcome.measured.as_ref();
    let spread = outcome
        .intended
        .or(measured.map(|measured| measured.spread))
        .unwrap_or_default();
    let succeeded = measured.map_or(0, |measured| measured.operations);
    let scripts = work.scripts.iter().zip(&outcome.scripts);
    LoadReport {
        target: target.to_owned(),
        work: work.told.clone(),
        clients: plan.clients,
        threads: outcome.threads,
        succeeded,
        failed: outcome.errors.iter().map(|error| error.count).sum(),
        // Like pgbench: over the whole run, though some clients may have connected earlier.
        per_second: if outcome.elapsed.is_zero() {
            0.0
        } else {
            succeeded as f64 / outcome.elapsed.as_secs_f64()
        },
        asked_per_second: plan.rate.map(load::Rate::as_per_second),
        spread,
        begun: outcome.intended.and(measured.map(|measured| measured.spread)),
        deviation: outcome.deviation,
        lag: outcome.lag,
        not_begun: outcome.not_begun,
        elapsed: outcome.elapsed,
        connecting: outcome.connecting,
        turns: outcome.turns,
        payload_bytes: outcome.payload_bytes,
        processor: [outcome.cpu.user, outcome.cpu.system],
        scripts: scripts
            .map(|((name, weight), spread)| LoadScript {
                name: name.clone(),
                weight: *weight,
                spread: *spread,
            })
            .collect(),
        failures: outcome
            .errors
            .iter()
            .map(|error| LoadFailure {
                text: error.text.clone(),
                count: error.count,
            })
            .collect(),
        statements: Vec::new(),
    }
}
