//! Series as OTLP metrics.

use crate::metrics::{FamilyKind, Histogram, Quantity, SCHEMA, SeriesFamily, SeriesValue};
use crate::otlp::attributes::{ResourceAttributes, of_labels, scope};
use crate::otlp::messages::{
    AnyValue, Buckets, CUMULATIVE, Data, ExponentialData, ExponentialPoint, Gauge, HistogramData,
    HistogramPoint, KeyValue, Metric, MetricsRequest, NumberPoint, ResourceMetrics, ScopeMetrics, Sum, Value,
};
use model::Timestamp;
use prost::Message;
use std::collections::BTreeMap;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MetricsOptions {
    pub histograms: HistogramKind,
    /// Adds the full text of statements (`db.query.text`, never with literals) to their summary.
    pub keep_text: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HistogramKind {
    /// Written as `explicit_bucket_histogram`, with fixed bounds.
    #[default]
    Explicit,
    /// Written as `base2_exponential_bucket_histogram`, with eight per doubling.
    Exponential,
}

/// Builds an export of metrics at `time`. Series with equal attributes, different only in text, are
/// merged.
pub fn metrics_request(
    families: &[SeriesFamily],
    resource: &ResourceAttributes,
    options: MetricsOptions,
    time: Timestamp,
) -> Vec<u8> {
    let some = families.iter().filter(|family| !family.series.is_empty());
    let metrics = some
        .flat_map(|family| of_family(family, options, time.as_nanos()))
        .collect();
    let request = MetricsRequest {
        resource_metrics: vec![ResourceMetrics {
            resource: Some(resource.message()),
            scope_metrics: vec![ScopeMetrics {
                scope: Some(scope()),
                metrics,
            }],
        }],
    };
    request.encode_to_vec()
}

/// Start and value of a series.
struct Point {
    attributes: Vec<KeyValue>,
    since: u64,
    value: SeriesValue,
}

/// Metric name, and attributes as text.
type PointKey = (&'static str, Vec<(String, String)>);

fn of_family(family: &SeriesFamily, options: MetricsOptions, time: u64) -> Vec<Metric> {
    let mut points: BTreeMap<PointKey, Point> = BTreeMap::new();
    for series in &family.series {
        let attributes = of_labels(&series.labels, options.keep_text);
        let key = (
            name_for(family, &attributes),
            attributes.iter().map(comparable).collect(),
        );
        match points.get_mut(&key) {
            Some(point) => point.merge(series.since, &series.value),
            None => {
                let point = Point {
                    attributes,
                    since: series.since,
                    value: series.value.clone(),
                };
                points.insert(key, point);
            }
        }
    }
    let mut by_name: BTreeMap<&str, Vec<Point>> = BTreeMap::new();
    for ((name, _), point) in points {
        by_name.entry(name).or_default().push(point);
    }
    by_name
        .into_iter()
        .map(|(name, points)| metric(family, name, points, options.histograms, time))
        .collect()
}

/// The conventions' name is for databases; other protocols have separate names.
fn name_for(family: &SeriesFamily, attributes: &[KeyValue]) -> &'static str {
    let is_request = attributes
        .iter()
        .any(|attribute| attribute.key == "longwire.request");
    match family.otel_name {
        "db.client.operation.duration" if is_request => "longwire.request.duration",
        name => name,
    }
}

fn comparable(attribute: &KeyValue) -> (String, String) {
    let value = attribute
        .value
        .as_ref()
        .and_then(|AnyValue { value }| value.as_ref());
    let value = match value {
        Some(Value::Text(text)) => text.clone(),
        Some(Value::Bool(value)) => value.to_string(),
        Some(Value::Int(number)) => number.to_string(),
        Some(Value::Double(number)) => number.to_string(),
        None => String::new(),
    };
    (attribute.key.clone(), value)
}

impl Point {
    fn merge(&mut self, since: u64, value: &SeriesValue) {
        self.since = self.since.min(since);
        match (&mut self.value, value) {
            (SeriesValue::Number(sum), SeriesValue::Number(more)) => *sum += more,
            (SeriesValue::Histogram(sum), SeriesValue::Histogram(more)) => sum.merge(more),
            _ => {}
        }
    }
}

fn metric(
    family: &SeriesFamily,
    name: &str,
    points: Vec<Point>,
    histograms: HistogramKind,
    time: u64,
) -> Metric {
    let unit = points.first().map_or(family.unit, |point| match &point.value {
        SeriesValue::Histogram(histogram) => histogram.quantity().unit(),
        SeriesValue::Number(_) => family.unit,
    });
    let data = match (family.kind, histograms) {
        (FamilyKind::Gauge, _) => Data::Gauge(Gauge {
            data_points: numbers(points, time),
        }),
        (FamilyKind::Counter, _) => Data::Sum(Sum {
            data_points: numbers(points, time),
            temporality: CUMULATIVE,
            is_monotonic: true,
        }),
        (FamilyKind::Histogram, HistogramKind::Explicit) => Data::Histogram(HistogramData {
            data_points: of_histograms(points, |attributes, since, histogram| {
                explicit(attributes, since, time, histogram)
            }),
            temporality: CUMULATIVE,
        }),
        (FamilyKind::Histogram, HistogramKind::Exponential) => Data::Exponential(ExponentialData {
            data_points: of_histograms(points, |attributes, since, histogram| {
                exponential(attributes, since, time, histogram)
            }),
            temporality: CUMULATIVE,
        }),
    };
    Metric {
        name: name.to_owned(),
        description: family.help.to_owned(),
        unit: unit.to_owned(),
        data: Some(data),
    }
}

fn numbers(points: Vec<Point>, time: u64) -> Vec<NumberPoint> {
    let numbers = points.into_iter().filter_map(|point| match point.value {
        SeriesValue::Number(number) => Some(NumberPoint {
            start: point.since,
            time,
            number: Some(number),
            attributes: point.attributes,
        }),
        SeriesValue::Histogram(_) => None,
    });
    numbers.collect()
}

fn of_histograms<P>(points: Vec<Point>, make: impl Fn(Vec<KeyValue>, u64, &Histogram) -> P) -> Vec<P> {
    let histograms = points.into_iter().filter_map(|point| match &point.value {
        SeriesValue::Histogram(histogram) => Some(make(point.attributes, point.since, histogram)),
        SeriesValue::Number(_) => None,
    });
    histograms.collect()
}

fn explicit(attributes: Vec<KeyValue>, start: u64, time: u64, histogram: &Histogram) -> HistogramPoint {
    let (explicit_bounds, bucket_counts) = advised(histogram);
    HistogramPoint {
        start,
        time,
        count: histogram.count(),
        sum: Some(histogram.sum()),
        bucket_counts,
        explicit_bounds,
        attributes,
    }
}

/// Merges the buckets of durations into the conventions' bounds; other quantities are unchanged.
fn advised(histogram: &Histogram) -> (Vec<f64>, Vec<u64>) {
    let all = histogram.quantity().bounds();
    let wanted = match histogram.quantity() {
        Quantity::Time => &ADVISED[..],
        Quantity::Turns => all,
    };
    let mut counts = Vec::with_capacity(wanted.len() + 1);
    let mut sum = 0;
    let bounds = all.iter().copied().chain([f64::INFINITY]);
    for (bound, count) in bounds.zip(histogram.classic()) {
        sum += count;
        if bound == f64::INFINITY || wanted.contains(&bound) {
            counts.push(std::mem::take(&mut sum));
        }
    }
    (wanted.to_vec(), counts)
}

/// OpenTelemetry semantic conventions, "Database client metrics": `db.client.operation.duration`.
const ADVISED: [f64; 9] = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0];

fn exponential(attributes: Vec<KeyValue>, start: u64, time: u64, histogram: &Histogram) -> ExponentialPoint {
    let buckets = histogram.exponential();
    let positive = buckets.first().map(|(first, _)| {
        let last = buckets.last().map_or(*first, |(last, _)| *last);
        let mut counts = vec![0; usize::try_from(last - first).unwrap_or_default() + 1];
        for (number, count) in buckets {
            if let Some(place) = usize::try_from(number - first)
                .ok()
                .and_then(|place| counts.get_mut(place))
            {
                *place = *count;
            }
        }
        Buckets {
            // Here bucket i begins after 2^(i / 8); there it ends with it.
            offset: first - 1,
            bucket_counts: counts,
        }
    });
    ExponentialPoint {
        attributes,
        start,
        time,
        count: histogram.count(),
        sum: Some(histogram.sum()),
        scale: SCHEMA,
        zero_count: histogram.zeros(),
        positive,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn finer_bounds_are_summed_to_the_advised_ones() {
        let mut histogram = Histogram::new(Quantity::Time);
        for microseconds in [50, 900, 1_000, 2_000, 30_000, 50_000, 60_000_000] {
            histogram.add_time(Duration::from_micros(microseconds));
        }
        let (bounds, counts) = advised(&histogram);
        assert_eq!(bounds, ADVISED);
        assert_eq!(counts, [3, 1, 0, 2, 0, 0, 0, 0, 0, 1]);
    }

    #[test]
    fn exponential_buckets_begin_one_before_prometheus() {
        let mut histogram = Histogram::new(Quantity::Turns);
        for turns in [0, 1, 2, 2] {
            histogram.add_turns(turns);
        }
        let point = exponential(Vec::new(), 1, 2, &histogram);
        let positive = point.positive.expect("some are above zero");
        // 1 is in (2^(-1/8), 1], which is bucket -1; 2 is in bucket 7.
        assert_eq!(positive.offset, -1);
        assert_eq!(positive.bucket_counts, [1, 0, 0, 0, 0, 0, 0, 0, 2]);
        assert_eq!((point.zero_count, point.count), (1, 4));
    }
}
