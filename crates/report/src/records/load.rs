//! Records of a load: `interval`, `script`, `failure`, `load`. The totals are in the `summary`.

use super::nanos;
use super::outcome::Spread;
use crate::outcome::{LoadFailure, LoadInterval, LoadReport, LoadScript, LoadWork};
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct IntervalRecord {
    elapsed_ns: u64,
    duration_ns: u64,
    operations: u64,
    errors: u64,
    per_second: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    mean_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mdev_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lag_ns: Option<u64>,
}

impl IntervalRecord {
    pub(super) fn new(interval: &LoadInterval) -> Self {
        Self {
            elapsed_ns: nanos(interval.elapsed),
            duration_ns: nanos(interval.interval),
            operations: interval.succeeded,
            errors: interval.failed,
            per_second: interval.per_second(),
            mean_ns: interval.mean.map(nanos),
            mdev_ns: interval.deviation.map(nanos),
            lag_ns: interval.lag.map(nanos),
        }
    }
}

#[derive(Serialize)]
pub(super) struct ScriptRecord<'a> {
    name: &'a str,
    weight: u32,
    #[serde(flatten)]
    spread: Spread,
}

impl<'a> ScriptRecord<'a> {
    pub(super) fn new(script: &'a LoadScript) -> Self {
        Self {
            name: &script.name,
            weight: script.weight,
            spread: Spread::new(&script.spread),
        }
    }
}

#[derive(Serialize)]
pub(super) struct FailureRecord<'a> {
    text: &'a str,
    count: u64,
}

impl<'a> FailureRecord<'a> {
    pub(super) fn new(failure: &'a LoadFailure) -> Self {
        Self {
            text: &failure.text,
            count: failure.count,
        }
    }
}

#[derive(Serialize)]
pub(super) struct LoadRecord<'a> {
    target: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    scripts: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scale: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    query_mode: Option<&'a str>,
    reconnect: bool,
    clients: u32,
    threads: u32,
    connecting_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    asked_per_second: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lag_mean_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lag_max_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_begun: Option<u64>,
    processor_user_ns: u64,
    processor_system_ns: u64,
}

impl<'a> LoadRecord<'a> {
    pub(super) fn new(report: &'a LoadReport) -> Self {
        let (scripts, scale, query_mode, reconnect) = match &report.work {
            LoadWork::Sql {
                scripts,
                scale,
                mode,
                reconnect,
            } => (Some(scripts.as_str()), scale.as_deref(), Some(*mode), *reconnect),
            LoadWork::Http { keep_alive } => (None, None, None, !keep_alive),
        };
        let lag = report.lag.unwrap_or_default();
        Self {
            target: &report.target,
            scripts,
            scale,
            query_mode,
            reconnect,
            clients: report.clients,
            threads: report.threads,
            connecting_ns: nanos(report.connecting),
            asked_per_second: report.asked_per_second,
            lag_mean_ns: lag.mean.map(nanos),
            lag_max_ns: lag.max.map(nanos),
            not_begun: report.asked_per_second.map(|_| report.not_begun),
            processor_user_ns: nanos(report.processor[0]),
            processor_system_ns: nanos(report.processor[1]),
        }
    }
}
