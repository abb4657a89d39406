//! Cost of longwire itself.

use crate::metrics::{FamilyKind, SeriesFamily};
use std::sync::Arc;
use sys::processor::{Of, processor_time};

/// Processor time, memory and open files of this process, named as by Prometheus's own clients, and
/// the version.
pub(crate) fn families(since: u64) -> Vec<SeriesFamily> {
    let gauge = |name, otel_name, help| SeriesFamily::new(name, otel_name, help, FamilyKind::Gauge);
    let seconds = processor_time(Of::Process).as_secs_f64();
    let mut all = vec![
        SeriesFamily::new(
            "process_cpu_seconds_total",
            "process.cpu.time",
            "Processor time of this process.",
            FamilyKind::Counter,
        )
        .in_unit("s")
        .with(Vec::new(), since, seconds),
        gauge(
            "process_start_time_seconds",
            "longwire.start_time",
            "When this process began to observe, since the epoch.",
        )
        .in_unit("s")
        .with(Vec::new(), since, since as f64 / 1e9),
        gauge("longwire_build_info", "longwire.build", "1, with the version.").with(
            vec![("version", Arc::from(env!("CARGO_PKG_VERSION")))],
            since,
            1.0,
        ),
    ];
    if let Some(bytes) = resident_bytes() {
        let family = gauge(
            "process_resident_memory_bytes",
            "process.memory.usage",
            "Memory of this process that is in use.",
        );
        all.push(family.in_unit("By").with(Vec::new(), since, bytes));
    }
    if let Some(files) = open_files() {
        let family = gauge(
            "process_open_fds",
            "process.open_file_descriptor.count",
            "Files and sockets that this process has open.",
        );
        all.push(family.with(Vec::new(), since, files));
    }
    all
}

/// The second number of `proc_pid_statm(5)`, in pages.
fn resident_bytes() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: f64 = text.split(' ').nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as f64)
}

fn open_files() -> Option<f64> {
    // Excludes the descriptor opened here.
    Some((std::fs::read_dir("/proc/self/fd").ok()?.count().saturating_sub(1)) as f64)
}
