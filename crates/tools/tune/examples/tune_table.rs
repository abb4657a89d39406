//! Runs every way of the native workbench with a few settings at the existing distance: `tune_table
//! URL [ROWS [ROW_BYTES [SELECT_ROWS [ADDRESS]]]]`. ADDRESS is an alternative address, such as a
//! relay with a link.

use model::{Method, PerDirection, TrialOutcome};
use std::net::SocketAddr;
use std::process::ExitCode;
use sys::StopToken;
use sys::Target;
use tune::{Error, Shape, Trial, Workbench};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |place: usize, usual: u64| {
        let text = arguments.get(place)?;
        Some(text.parse().unwrap_or(usual))
    };
    let Some(Ok(target)) = arguments.first().map(|url| Target::parse(url)) else {
        eprintln!("tune_table URL [ROWS [ROW_BYTES [SELECT_ROWS [ADDRESS]]]]");
        return ExitCode::from(2);
    };
    let shape = Shape {
        rows: number(1, 32_000).unwrap_or(32_000),
        row_bytes: number(2, 322).unwrap_or(322) as u32,
        select_rows: number(3, 117_158).unwrap_or(117_158),
        like: None,
    };
    let address = arguments.get(4).and_then(|text| text.parse().ok());
    let stop = StopToken::never();
    let mut bench = match tune::native(&target, &std::process::id().to_string(), &stop) {
        Ok(bench) => bench,
        Err(error) => return failed(&error),
    };
    let told = table(bench.as_mut(), &shape, address);
    let cleaned = bench.clean_up();
    match told.and(cleaned) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(&error),
    }
}

fn table(bench: &mut dyn Workbench, shape: &Shape, address: Option<SocketAddr>) -> Result<(), Error> {
    let prepared = bench.prepare(shape)?;
    println!(
        "{}, {}, {} rows of {} bytes, {} selected",
        prepared.server.as_deref().unwrap_or("a server"),
        prepared.scratch,
        shape.rows,
        shape.row_bytes,
        shape.select_rows
    );
    for method in &prepared.absent {
        println!("no {} {}: {}", method.job, method.name, method.reason);
    }
    for method in &prepared.methods {
        for value in few(method) {
            let trial = Trial {
                method,
                value,
                address,
                watch: None,
            };
            print_outcome(method, value, &bench.run(&trial)?);
        }
    }
    Ok(())
}

/// Smallest, middle and largest value.
fn few(method: &Method) -> Vec<Option<u64>> {
    let Some(parameter) = &method.parameter else {
        return vec![None];
    };
    let last = parameter.values.len().saturating_sub(1);
    let mut places = vec![0, last / 2, last];
    places.dedup();
    places
        .into_iter()
        .map(|place| parameter.values.get(place).copied())
        .collect()
}

fn print_outcome(method: &Method, value: Option<u64>, outcome: &TrialOutcome) {
    let sum = |both: Option<PerDirection<u64>>| both.map_or(0, |both| both.iter().sum::<u64>());
    let packets = sum(outcome.packets);
    println!(
        "{:<7} {:<22} {:>8} {:>9.3} s {:>8} round trips {:>8} packets {:>7} B mean {:>11} B wire {:>12} client {:>12} server",
        method.job.to_string(),
        method.name,
        value.map_or_else(|| "-".to_owned(), |value| value.to_string()),
        outcome.duration.as_secs_f64(),
        outcome.turns.unwrap_or(0),
        packets,
        sum(outcome.wire_bytes) / packets.max(1),
        sum(outcome.wire_bytes),
        outcome
            .client_memory
            .map_or_else(|| "-".to_owned(), |bytes| bytes.to_string()),
        outcome
            .server_memory
            .map_or_else(|| "-".to_owned(), |bytes| bytes.to_string()),
    );
}

fn failed(error: &Error) -> ExitCode {
    eprintln!("tune_table: {error}");
    if let Some(hint) = error.hint() {
        eprintln!("hint: {hint}");
    }
    ExitCode::from(2)
}
