//! Counts the outcomes of exports.

use crate::metrics::{FamilyKind, SeriesFamily};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Shared by the clones of an exporter.
#[derive(Debug, Clone, Default)]
pub struct ExportCounts(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    requests: AtomicU64,
    retries: AtomicU64,
    failed: AtomicU64,
    rejected: AtomicU64,
    spans_sent: AtomicU64,
    spans_dropped: AtomicU64,
}

impl ExportCounts {
    pub(crate) fn request(&self) {
        self.0.requests.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn retry(&self) {
        self.0.retries.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn failed(&self) {
        self.0.failed.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn rejected(&self, count: u64) {
        self.0.rejected.fetch_add(count, Ordering::Relaxed);
    }

    pub(crate) fn spans_sent(&self, count: usize) {
        self.0.spans_sent.fetch_add(count as u64, Ordering::Relaxed);
    }

    pub(crate) fn spans_dropped(&self, count: usize) {
        self.0.spans_dropped.fetch_add(count as u64, Ordering::Relaxed);
    }

    /// Exports abandoned after all retries. Metrics lose no data: they are sums, included in the
    /// next export.
    pub fn given_up(&self) -> u64 {
        self.0.failed.load(Ordering::Relaxed)
    }

    /// Spans dropped because the queue was full or their export was given up.
    pub fn dropped(&self) -> u64 {
        self.0.spans_dropped.load(Ordering::Relaxed)
    }

    /// Data points and spans rejected by a collector that accepted the request.
    pub fn rejections(&self) -> u64 {
        self.0.rejected.load(Ordering::Relaxed)
    }

    pub(crate) fn families(&self, since: u64) -> Vec<SeriesFamily> {
        let counter = |name, otel_name, help, count: &AtomicU64| {
            SeriesFamily::new(name, otel_name, help, FamilyKind::Counter).with(
                Vec::new(),
                since,
                count.load(Ordering::Relaxed) as f64,
            )
        };
        let counts = &*self.0;
        vec![
            counter(
                "longwire_export_requests_total",
                "longwire.export.requests",
                "Exports over OTLP that were taken.",
                &counts.requests,
            ),
            counter(
                "longwire_export_retries_total",
                "longwire.export.retries",
                "Exports over OTLP that were tried again.",
                &counts.retries,
            ),
            counter(
                "longwire_export_failed_total",
                "longwire.export.failed",
                "Exports over OTLP that were given up; sums come again with the next one.",
                &counts.failed,
            ),
            counter(
                "longwire_export_rejected_total",
                "longwire.export.rejected",
                "Data points and spans that a collector rejected of requests that it took.",
                &counts.rejected,
            ),
            counter(
                "longwire_export_spans_total",
                "longwire.export.spans",
                "Spans that were delivered.",
                &counts.spans_sent,
            ),
            counter(
                "longwire_export_spans_dropped_total",
                "longwire.export.spans_dropped",
                "Spans that were dropped: the queue was full, or their export was given up.",
                &counts.spans_dropped,
            ),
        ]
    }
}
