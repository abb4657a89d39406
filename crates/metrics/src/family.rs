//! Series as monitoring systems take them, before they are text or protobuf.

use crate::histogram::Histogram;
use std::sync::Arc;

/// All series of one name.
#[derive(Debug, Clone, PartialEq)]
pub struct SeriesFamily {
    /// Its name for Prometheus: with unit, and `_total` where it is a counter.
    pub name: &'static str,
    /// Its name for OpenTelemetry.
    pub otel_name: &'static str,
    /// What it says, in one line.
    pub help: &'static str,
    /// What its values are.
    pub kind: FamilyKind,
    /// The unit as OpenTelemetry writes it (UCUM); of histograms, that of their quantity.
    pub unit: &'static str,
    /// The series.
    pub series: Vec<Series>,
}

/// What the values of a family are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FamilyKind {
    /// Numbers that only grow while the program runs.
    Counter,
    /// Numbers that go up and down.
    Gauge,
    /// Histograms that only grow.
    Histogram,
}

/// A label: its name, and its value.
pub type Label = (&'static str, Arc<str>);

/// The values of one name at the moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// What distinguishes it from others of its family.
    pub labels: Vec<Label>,
    /// When it began to count, in nanoseconds since the epoch.
    pub since: u64,
    /// Its value.
    pub value: SeriesValue,
}

/// The value of a series.
#[derive(Debug, Clone, PartialEq)]
pub enum SeriesValue {
    /// Of a counter or a gauge.
    Number(f64),
    /// Of a histogram.
    Histogram(Histogram),
}

impl SeriesFamily {
    /// One without series.
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

    /// The same with a unit.
    #[must_use]
    pub fn in_unit(self, unit: &'static str) -> Self {
        Self { unit, ..self }
    }

    /// The same with one more number.
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
