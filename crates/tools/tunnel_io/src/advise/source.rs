//! Reads traffic from files, or generates it with queries to a server.

use super::AdviceRequest;
use analysis::fact::Fact;
use anyhow::{Result, anyhow};
use client::Watch;
use load::Workload;
use model::{Protocol, Timestamp, Warning, WarningKind, counted};
use pipeline::compression::{CompressionMeter, CompressionOutcome, CompressionPlan, How};
use pipeline::fact_channel::FactChannel;
use pipeline::input::{self, Reading};
use pipeline::keys::RunKeys;
use pipeline::moved::ConnectionChoice;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use sys::Clock;
use sys::StopToken;
use tunnel::CompressionLevel;

#[derive(Debug, Default)]
pub struct Traffic {
    pub facts: Vec<Fact>,
    pub begins: Vec<Timestamp>,
    pub origin: Origin,
}

#[derive(Debug, Default)]
pub struct Origin {
    /// `None` if a recording already had the sizes.
    pub compressed: Option<CompressionOutcome>,
    pub warnings: Vec<Warning>,
    /// Longwire generated the traffic, so its pace is meaningless.
    pub made: bool,
}

impl Traffic {
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

pub(super) fn read_files(
    files: &[PathBuf],
    keys: Arc<RunKeys>,
    asked: &AdviceRequest,
    out: &mut dyn FnMut(Fact),
) -> Result<Origin> {
    let reading = Reading {
        keep_literals: false,
        compressing: Some(compressing(asked.levels.clone(), asked.moved.clone())),
        keys,
        ..Reading::default()
    };
    let input = input::read_files(files, reading, out)?;
    let mut warnings = input.warnings;
    warnings.extend(input.compressed.iter().flat_map(CompressionOutcome::warnings));
    Ok(Origin {
        compressed: input.compressed,
        warnings,
        made: false,
    })
}

pub fn load(
    workload: &dyn Workload,
    plan: &load::Plan,
    levels: Vec<CompressionLevel>,
    moved: Vec<ConnectionChoice>,
    stop: &StopToken,
) -> Result<Traffic> {
    let channel = FactChannel::waiting(false)?.with_payload().inside_tls();
    let mut meter = CompressionMeter::new(compressing(levels, moved));
    let mut facts = Vec::new();
    let begins = Mutex::new(Vec::new());
    let began = |at| begins.lock().unwrap_or_else(PoisonError::into_inner).push(at);
    let watch = Watch {
        clock: Clock::anchored_now(),
        factory: &channel,
        began: Some(&began),
    };
    let mut collect = || meter.process_facts(channel.take_all(), &mut |fact| facts.push(fact));
    let outcome = load::run_on_thread(workload, plan, Some(&watch), stop, &mut |_| {
        collect().map(|()| Instant::now() + COLLECT)
    })??;
    collect()?;
    if let (None, [error, ..]) = (&outcome.measured, outcome.errors.as_slice()) {
        return Err(anyhow!("no operation succeeded: {}", error.text));
    }
    let compressed = meter.finish(&mut |fact| facts.push(fact))?;
    let mut warnings = compressed.warnings();
    let failed: u64 = outcome.errors.iter().map(|error| error.count).sum();
    warnings.extend((failed > 0).then(|| {
        let failed = counted(failed, "operation", "operations");
        let text = format!("{failed} failed, among those looked at");
        Warning::new(WarningKind::OperationsFailed, text)
    }));
    Ok(Traffic {
        facts,
        begins: begins.into_inner().unwrap_or_else(PoisonError::into_inner),
        origin: Origin {
            compressed: Some(compressed),
            warnings,
            made: true,
        },
    })
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

/// Limit on compressed payload: enough for stable figures, about 10 s of work for all levels.
const MAX_BYTES: u64 = 16 << 20;

const COLLECT: Duration = Duration::from_millis(20);
