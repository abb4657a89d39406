//! Prometheus's protobuf format: length-prefixed `io.prometheus.client.MetricFamily` messages. The
//! only format with native histograms.
//!
//! Follows `metrics.proto` of prometheus/client_model, without unused fields.

use crate::metrics::family::{FamilyKind, Series, SeriesFamily, SeriesValue};
use crate::metrics::histogram::{Histogram, SCHEMA};
use prost::Message;

pub const PROTOBUF_CONTENT_TYPE: &str =
    "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited";

/// Histograms have both kinds of buckets.
pub fn prometheus_protobuf(families: &[SeriesFamily]) -> Vec<u8> {
    let some = families.iter().filter(|family| !family.series.is_empty());
    some.flat_map(|family| message(family).encode_length_delimited_to_vec())
        .collect()
}

fn message(family: &SeriesFamily) -> MetricFamily {
    let kind = match family.kind {
        FamilyKind::Counter => MetricType::Counter,
        FamilyKind::Gauge => MetricType::Gauge,
        FamilyKind::Histogram => MetricType::Histogram,
    };
    MetricFamily {
        name: Some(family.name.to_owned()),
        help: Some(family.help.to_owned()),
        r#type: Some(kind as i32),
        metric: family
            .series
            .iter()
            .map(|series| metric(family.kind, series))
            .collect(),
    }
}

fn metric(kind: FamilyKind, series: &Series) -> Metric {
    let label = series.labels.iter().map(|(name, value)| LabelPair {
        name: Some((*name).to_owned()),
        value: Some(value.to_string()),
    });
    let mut metric = Metric {
        label: label.collect(),
        ..Metric::default()
    };
    match (&series.value, kind) {
        (SeriesValue::Histogram(histogram), _) => metric.histogram = Some(histogram_message(histogram)),
        (SeriesValue::Number(value), FamilyKind::Counter) => {
            metric.counter = Some(Value { value: Some(*value) })
        }
        (SeriesValue::Number(value), _) => metric.gauge = Some(Value { value: Some(*value) }),
    }
    metric
}

fn histogram_message(histogram: &Histogram) -> HistogramMessage {
    let mut below = 0;
    let bounds = histogram
        .quantity()
        .bounds()
        .iter()
        .copied()
        .chain([f64::INFINITY]);
    let bucket = bounds.zip(histogram.classic()).map(|(bound, count)| {
        below += count;
        Bucket {
            cumulative_count: Some(below),
            upper_bound: Some(bound),
        }
    });
    let bucket = bucket.collect();
    let (positive_span, positive_delta) = spans(histogram.exponential());
    HistogramMessage {
        sample_count: Some(histogram.count()),
        sample_sum: Some(histogram.sum()),
        bucket,
        schema: Some(SCHEMA),
        zero_threshold: Some(0.0),
        zero_count: Some(histogram.zeros()),
        positive_span,
        positive_delta,
    }
}

/// Runs of adjacent buckets, by distance, and the difference of each bucket from the previous one.
fn spans(buckets: &[(i32, u64)]) -> (Vec<BucketSpan>, Vec<i64>) {
    let mut spans: Vec<BucketSpan> = Vec::new();
    let mut deltas = Vec::new();
    let (mut next, mut before) = (0, 0);
    for (number, count) in buckets {
        match spans.last_mut() {
            Some(span) if *number == next => span.length = Some(span.length.unwrap_or_default() + 1),
            _ => spans.push(BucketSpan {
                offset: Some(number - next),
                length: Some(1),
            }),
        }
        let count = i64::try_from(*count).unwrap_or(i64::MAX);
        deltas.push(count - before);
        (next, before) = (number + 1, count);
    }
    (spans, deltas)
}

#[derive(Clone, PartialEq, Message)]
struct MetricFamily {
    #[prost(string, optional, tag = "1")]
    name: Option<String>,
    #[prost(string, optional, tag = "2")]
    help: Option<String>,
    #[prost(enumeration = "MetricType", optional, tag = "3")]
    r#type: Option<i32>,
    #[prost(message, repeated, tag = "4")]
    metric: Vec<Metric>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, prost::Enumeration)]
#[repr(i32)]
enum MetricType {
    Counter = 0,
    Gauge = 1,
    Histogram = 4,
}

#[derive(Clone, PartialEq, Message)]
struct Metric {
    #[prost(message, repeated, tag = "1")]
    label: Vec<LabelPair>,
    #[prost(message, optional, tag = "2")]
    gauge: Option<Value>,
    #[prost(message, optional, tag = "3")]
    counter: Option<Value>,
    #[prost(message, optional, tag = "7")]
    histogram: Option<HistogramMessage>,
}

#[derive(Clone, PartialEq, Message)]
struct LabelPair {
    #[prost(string, optional, tag = "1")]
    name: Option<String>,
    #[prost(string, optional, tag = "2")]
    value: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
struct Value {
    #[prost(double, optional, tag = "1")]
    value: Option<f64>,
}

#[derive(Clone, PartialEq, Message)]
struct HistogramMessage {
    #[prost(uint64, optional, tag = "1")]
    sample_count: Option<u64>,
    #[prost(double, optional, tag = "2")]
    sample_sum: Option<f64>,
    #[prost(message, repeated, tag = "3")]
    bucket: Vec<Bucket>,
    #[prost(sint32, optional, tag = "5")]
    schema: Option<i32>,
    #[prost(double, optional, tag = "6")]
    zero_threshold: Option<f64>,
    #[prost(uint64, optional, tag = "7")]
    zero_count: Option<u64>,
    #[prost(message, repeated, tag = "12")]
    positive_span: Vec<BucketSpan>,
    #[prost(sint64, repeated, packed = "false", tag = "13")]
    positive_delta: Vec<i64>,
}

#[derive(Clone, PartialEq, Message)]
struct Bucket {
    #[prost(uint64, optional, tag = "1")]
    cumulative_count: Option<u64>,
    #[prost(double, optional, tag = "2")]
    upper_bound: Option<f64>,
}

#[derive(Clone, PartialEq, Message)]
struct BucketSpan {
    #[prost(sint32, optional, tag = "1")]
    offset: Option<i32>,
    #[prost(uint32, optional, tag = "2")]
    length: Option<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_and_deltas_give_the_buckets_again() {
        let buckets = [(-9, 4), (-8, 1), (-3, 7), (0, 2), (1, 2)];
        let (spans, deltas) = spans(&buckets);
        let mut again = Vec::new();
        let (mut number, mut count) = (0, 0);
        let mut deltas = deltas.into_iter();
        for span in spans {
            number += span.offset.unwrap_or_default();
            for _ in 0..span.length.unwrap_or_default() {
                count += deltas.next().expect("one for each bucket");
                again.push((number, count as u64));
                number += 1;
            }
        }
        assert_eq!(again, buckets);
        assert_eq!(deltas.next(), None);
    }
}
