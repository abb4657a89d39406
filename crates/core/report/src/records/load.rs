//! Records of a load: `interval`, `load`. The totals are in the `summary`.

use crate::outcome::{LoadInterval, LoadReport, LoadWork};
use serde::Serialize;

record! {
    IntervalRecord(interval: &'a LoadInterval) {
        elapsed_ns: interval.elapsed,
        duration_ns: interval.interval,
        operations: interval.succeeded,
        errors: interval.failed,
        per_second: interval.per_second(),
        mean_ns: interval.mean,
        mdev_ns: interval.deviation,
        lag_ns: interval.lag,
    }
}

record! {
    LoadRecord(report: &'a LoadReport) {
        target: &report.target,
        ..work: WorkKeys::new(&report.work),
        clients: report.clients,
        threads: report.threads,
        connecting_ns: report.connecting,
        asked_per_second: report.asked_per_second,
        lag_mean_ns: report.lag.and_then(|lag| lag.mean),
        lag_max_ns: report.lag.and_then(|lag| lag.max),
        not_begun: report.asked_per_second.map(|_| report.not_begun),
        processor_user_ns: report.processor[0],
        processor_system_ns: report.processor[1],
    }
}

#[derive(Serialize)]
struct WorkKeys<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    scripts: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scale: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    query_mode: Option<&'static str>,
    reconnect: bool,
}

impl<'a> WorkKeys<'a> {
    fn new(work: &'a LoadWork) -> Self {
        match work {
            LoadWork::Sql {
                scripts,
                scale,
                mode,
                reconnect,
            } => Self {
                scripts: Some(scripts),
                scale: scale.as_deref(),
                query_mode: Some(mode),
                reconnect: *reconnect,
            },
            LoadWork::Http { keep_alive } => Self {
                scripts: None,
                scale: None,
                query_mode: None,
                reconnect: !keep_alive,
            },
        }
    }
}
