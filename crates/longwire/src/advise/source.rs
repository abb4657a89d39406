//! Where the traffic comes from: files, or a server that longwire asks itself.

use analysis::fact::Fact;
use anyhow::{Context, Result, anyhow};
use client::Watch;
use load::{LoadOutcome, LoadPlan, RunControl, Workload};
use model::{ByteCount, Protocol, Timestamp, Warning, WarningKind, counted};
use pipeline::compression::{CompressionMeter, CompressionOutcome, CompressionPlan, How};
use pipeline::fact_channel::FactChannel;
use pipeline::input::{self, Reading};
use pipeline::keys::RunKeys;
use pipeline::moved::ConnectionChoice;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use sys::Clock;
use tunnel::CompressionLevel;

/// Traffic, with what its exchanges would become.
#[derive(Debug, Default)]
pub struct Traffic {
    /// The facts that follow from it.
    pub facts: Vec<Fact>,
    /// What was compressed; `None` if a recording already had it.
    pub compressed: Option<CompressionOutcome>,
    /// What is missing, what was assumed.
    pub warnings: Vec<Warning>,
    /// Whether longwire made it: its pace is then meaningless.
    pub made: bool,
    /// When its operations began, where longwire made it.
    pub begins: Vec<Timestamp>,
}

impl Traffic {
    /// Whether any of it is HTTP.
    pub fn has_http(&self) -> bool {
        self.facts.iter().any(|fact| {
            matches!(
                fact,
                Fact::Exchange {
                    protocol: Protocol::Http,
                    ..
                }
            )
        })
    }
}

/// The traffic of captures and recordings.
///
/// # Errors
/// When a file cannot be read, or is neither a capture nor a recording.
pub fn files(
    files: &[PathBuf],
    levels: Vec<CompressionLevel>,
    moved: Vec<ConnectionChoice>,
    keys: Arc<RunKeys>,
) -> Result<Traffic> {
    let mut facts = Vec::new();
    let reading = Reading {
        keep_literals: false,
        compressing: Some(compressing(levels, moved)),
        keys,
        ..Reading::default()
    };
    let input = input::read_files(files, reading, &mut |fact| facts.push(fact))?;
    let mut warnings = input.warnings;
    warnings.extend(input.compressed.iter().flat_map(missed));
    Ok(Traffic {
        facts,
        compressed: input.compressed,
        warnings,
        made: false,
        begins: Vec::new(),
    })
}

/// The traffic of `workload`, done as `plan` says or until `stop` is set.
///
/// # Errors
/// When no client could be created, or no operation succeeded.
pub fn load(
    workload: &dyn Workload,
    plan: &LoadPlan,
    levels: Vec<CompressionLevel>,
    moved: Vec<ConnectionChoice>,
    stop: &AtomicBool,
) -> Result<Traffic> {
    let channel = FactChannel::waiting(false).with_payload();
    let mut meter = CompressionMeter::new(compressing(levels, moved));
    let mut facts = Vec::new();
    let begins = Mutex::new(Vec::new());
    let began = |at| begins.lock().unwrap_or_else(PoisonError::into_inner).push(at);
    let watch = Watch {
        clock: Clock::anchored_now(),
        factory: &channel,
        began: Some(&began),
    };
    let outcome = run(workload, plan, &watch, stop, &mut || {
        meter.process_facts(channel.take_all(), &mut |fact| facts.push(fact))
    })?;
    if let (None, [error, ..]) = (&outcome.measured, outcome.errors.as_slice()) {
        return Err(anyhow!("no operation succeeded: {}", error.text));
    }
    let compressed = meter.finish(&mut |fact| facts.push(fact))?;
    let mut warnings = missed(&compressed);
    let failed: u64 = outcome.errors.iter().map(|error| error.count).sum();
    warnings.extend((failed > 0).then(|| {
        let failed = counted(failed, "operation", "operations");
        let text = format!("{failed} failed, among those looked at");
        Warning::new(WarningKind::OperationsFailed, text)
    }));
    Ok(Traffic {
        facts,
        compressed: Some(compressed),
        warnings,
        made: true,
        begins: begins.into_inner().unwrap_or_else(PoisonError::into_inner),
    })
}

fn run(
    workload: &dyn Workload,
    plan: &LoadPlan,
    watch: &Watch<'_>,
    stop: &AtomicBool,
    collect: &mut dyn FnMut() -> Result<()>,
) -> Result<LoadOutcome> {
    let control = RunControl::default();
    let outcome = std::thread::scope(|scope| {
        let running = std::thread::Builder::new()
            .name("load".to_owned())
            .spawn_scoped(scope, || load::run(workload, plan, &control, Some(watch)))
            .context("could not start a thread for the operations")?;
        let mut collected = Ok(());
        while !running.is_finished() {
            std::thread::sleep(COLLECT);
            collected = collected.and_then(|()| collect());
            if stop.load(Ordering::Relaxed) || collected.is_err() {
                control.stop.store(true, Ordering::Relaxed);
            }
        }
        let outcome = running.join().map_err(|_| anyhow!("the load broke down"))?;
        collected.and_then(|()| collect())?;
        Ok::<_, anyhow::Error>(outcome?)
    })?;
    Ok(outcome)
}

fn compressing(levels: Vec<CompressionLevel>, moved: Vec<ConnectionChoice>) -> CompressionPlan {
    CompressionPlan {
        levels,
        moved,
        how: How::Passes {
            most_bytes: MAX_BYTES,
        },
    }
}

/// The part of the traffic that was not examined.
pub fn missed(compressed: &CompressionOutcome) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let mut warn = |bytes: u64, kind, what: &str| {
        if bytes > 0 {
            let text = format!("{} of payload {what}", ByteCount::from_bytes(bytes));
            warnings.push(Warning::new(kind, text));
        }
    };
    warn(
        compressed.missing_bytes,
        WarningKind::PayloadMissing,
        "passed and were not kept: exchanges with them are left out",
    );
    warn(
        compressed.beyond_bytes,
        WarningKind::LeftOut,
        "were not compressed, because enough had been: exchanges with them are left out",
    );
    warnings
}

/// Maximum payload that is compressed: enough for steady figures, and some ten seconds of work at all levels.
const MAX_BYTES: u64 = 16 << 20;

/// How often the payload that passed is collected.
const COLLECT: Duration = Duration::from_millis(20);
