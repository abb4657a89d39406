//! Prometheus's text format, 0.0.4.

use crate::metrics::family::{FamilyKind, Label, Series, SeriesFamily, SeriesValue};
use crate::metrics::histogram::Histogram;
use std::fmt::Write;
use std::sync::Arc;

pub const TEXT_CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Histograms have the explicit buckets only; protobuf has both kinds.
pub fn prometheus_text(families: &[SeriesFamily]) -> String {
    let mut text = String::new();
    for family in families.iter().filter(|family| !family.series.is_empty()) {
        let kind = match family.kind {
            FamilyKind::Counter => "counter",
            FamilyKind::Gauge => "gauge",
            FamilyKind::Histogram => "histogram",
        };
        let name = family.name;
        // Writing into a String cannot fail.
        let _ = write!(text, "# HELP {name} {}\n# TYPE {name} {kind}\n", family.help);
        for series in &family.series {
            write_series(&mut text, name, series);
        }
    }
    text
}

fn write_series(text: &mut String, name: &str, series: &Series) {
    match &series.value {
        SeriesValue::Number(number) => write_line(text, name, "", &series.labels, None, *number),
        SeriesValue::Histogram(histogram) => write_histogram(text, name, &series.labels, histogram),
    }
}

fn write_histogram(text: &mut String, name: &str, labels: &[Label], histogram: &Histogram) {
    let mut below = 0;
    let bounds = histogram
        .quantity()
        .bounds()
        .iter()
        .copied()
        .chain([f64::INFINITY]);
    for (bound, count) in bounds.zip(histogram.classic()) {
        below += count;
        write_line(text, name, "_bucket", labels, Some(bound), below as f64);
    }
    write_line(text, name, "_sum", labels, None, histogram.sum());
    write_line(text, name, "_count", labels, None, histogram.count() as f64);
}

fn write_line(text: &mut String, name: &str, suffix: &str, labels: &[Label], bound: Option<f64>, value: f64) {
    let _ = write!(text, "{name}{suffix}");
    let bound = bound.map(|bound| Arc::from(number(bound)));
    let all = labels
        .iter()
        .map(|(name, value)| (*name, value))
        .chain(bound.as_ref().map(|bound| ("le", bound)));
    let mut opening = '{';
    for (name, value) in all {
        let _ = write!(text, "{opening}{name}=\"{}\"", escaped(value));
        opening = ',';
    }
    if opening == ',' {
        text.push('}');
    }
    let _ = writeln!(text, " {}", number(value));
}

fn number(value: f64) -> String {
    if value == f64::INFINITY {
        "+Inf".to_owned()
    } else {
        value.to_string()
    }
}

fn escaped(value: &str) -> String {
    value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

/// Cuts a label's value to [`MAX_VALUE_LEN`]; a hash of the whole keeps it distinct.
pub(crate) fn short(name: &str) -> Arc<str> {
    if name.len() <= MAX_VALUE_LEN {
        return Arc::from(name);
    }
    let end = (0..=MAX_VALUE_LEN).rev().find(|&end| name.is_char_boundary(end));
    let begin = name.get(..end.unwrap_or_default()).unwrap_or_default();
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    Arc::from(format!("{begin}... #{:08x}", hash as u32))
}

/// In bytes.
const MAX_VALUE_LEN: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::histogram::Quantity;
    use std::time::Duration;

    #[test]
    fn buckets_are_sums_of_all_below_them() {
        let mut histogram = Histogram::new(Quantity::Time);
        for milliseconds in [1, 3, 3, 20_000] {
            histogram.add_time(Duration::from_millis(milliseconds));
        }
        let mut family = SeriesFamily::new("waited_seconds", "waited", "How long.", FamilyKind::Histogram);
        family.series.push(Series {
            labels: vec![("statement", Arc::from("a \"b\"\\\n"))],
            since: 1,
            value: SeriesValue::Histogram(histogram),
        });
        let text = prometheus_text(&[family]);
        for line in [
            "# TYPE waited_seconds histogram",
            r#"waited_seconds_bucket{statement="a \"b\"\\\n",le="0.001"} 1"#,
            r#"waited_seconds_bucket{statement="a \"b\"\\\n",le="0.005"} 3"#,
            r#"waited_seconds_bucket{statement="a \"b\"\\\n",le="10"} 3"#,
            r#"waited_seconds_bucket{statement="a \"b\"\\\n",le="+Inf"} 4"#,
            r#"waited_seconds_sum{statement="a \"b\"\\\n"} 20.007"#,
            r#"waited_seconds_count{statement="a \"b\"\\\n"} 4"#,
        ] {
            assert!(
                text.lines().any(|found| found == line),
                "{line} is not in\n{text}"
            );
        }
    }

    #[test]
    fn long_names_stay_apart() {
        let long = "é".repeat(200);
        let (one, other) = (short(&long), short(&format!("{long}x")));
        assert!(one.len() < 220 && one != other, "{one}");
        assert_eq!(&*short("select ?"), "select ?");
    }
}
