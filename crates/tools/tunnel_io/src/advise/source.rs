//! Reads traffic from files, or generates it with queries to a server.

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
    /// `None` if a recording already had the sizes.
    pub compressed: Option<CompressionOutcome>,
    pub warnings: Vec<Warning>,
    /// Longwire generated the traffic, so its pace is meaningless.
    pub made: bool,
    pub begins: Vec<Timestamp>,
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
    warnings.extend(input.compressed.iter().flat_map(CompressionOutcome::warnings));
    Ok(Traffic {
        facts,
        compressed: input.compressed,
        warnings,
        made: false,
        begins: Vec::new(),
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
        compressed: Some(compressed),
        warnings,
        made: true,
        begins: begins.into_inner().unwrap_or_else(PoisonError::into_inner),
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
