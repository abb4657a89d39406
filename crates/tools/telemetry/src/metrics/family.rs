//! Series, independent of text or protobuf formats.

use crate::metrics::histogram::Histogram;
use std::sync::Arc;

#[derive(Debug, Clone, PartialEq)]
pub struct SeriesFamily {
    /// For Prometheus, with unit, and `_total` for a counter.
    pub name: &'static str,
    pub otel_name: &'static str,
    /// A description in one line.
    pub help: &'static str,
    pub kind: FamilyKind,
    /// As in OpenTelemetry (UCUM); for histograms, the unit of their quantity.
    pub unit: &'static str,
    pub series: Vec<Series>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FamilyKind {
    /// Only grows while the program runs.
    Counter,
    Gauge,
    /// A histogram that only grows.
    Histogram,
}

pub type Label = (&'static str, Arc<str>);

/// Current values of one label set.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    pub labels: Vec<Label>,
    /// Start of counting, in nanoseconds since the epoch.
    pub since: u64,
    pub value: SeriesValue,
}

#[derive(Debug, Clone, PartialEq)]
pub enum SeriesValue {
    /// Of a counter or gauge.
    Number(f64),
    Histogram(Histogram),
}

impl SeriesFamily {
    pub const fn new(
        name: &'static str,
        otel_name: &'static str,
        help: &'static str,
        kind: FamilyKind,
    ) -> Self {
        Self {
            name,
            otel_name,
            help,
            kind,
            unit: "1",
            series: Vec::new(),
        }
    }

    #[must_use]
    pub fn in_unit(self, unit: &'static str) -> Self {
        Self { unit, ..self }
    }

    #[must_use]
    pub fn with(mut self, labels: Vec<Label>, since: u64, number: f64) -> Self {
        self.series.push(Series {
            labels,
            since,
            value: SeriesValue::Number(number),
        });
        self
    }
}
