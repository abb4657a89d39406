//! Distributions on one axis: 50th, 90th and 99th percentile.

use super::markup::{cut, time_or_dash};
use super::old::{Escaped, small_print};
use super::scale::{nanos, tick_text};
use super::tune::LogAxis;
use model::Distribution;
use std::fmt::Write;

pub type Row<'a> = (String, &'a Distribution);

/// Draws the rows that have samples.
pub fn draw(label: &str, rows: &[Row<'_>], out: &mut String) {
    let rows: Vec<&Row<'_>> = rows.iter().filter(|(_, spread)| spread.p50.is_some()).collect();
    if rows.is_empty() {
        return;
    }
    let shown = &rows[..rows.len().min(SHOWN)];
    // The axis ends at the 99th percentiles; outliers are in tables. It is logarithmic, because
    // rows differ by powers of ten.
    let amounts = shown
        .iter()
        .flat_map(|(_, spread)| [spread.min.map_or(end(spread), nanos), end(spread)]);
    let amounts = amounts.flat_map(around);
    let axis = LogAxis::over(amounts, [LEFT, WIDTH - RIGHT]);
    let height = TOP + shown.len() as f64 * ROW + BOTTOM;
    let _ = writeln!(
        out,
        "<figure class=\"map\" tabindex=\"0\"><svg class=\"tuned\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{label}\">"
    );
    for tick in axis.ticks(6) {
        let along = axis.position(tick);
        let bottom = height - BOTTOM;
        let _ = writeln!(
            out,
            "<line class=\"rule\" x1=\"{along:.1}\" x2=\"{along:.1}\" y1=\"{TOP}\" y2=\"{bottom:.1}\"/>\
             <text x=\"{along:.1}\" y=\"{:.1}\">{}</text>",
            bottom + 16.0,
            tick_text(tick)
        );
    }
    for (number, (name, spread)) in shown.iter().enumerate() {
        row(name, spread, TOP + number as f64 * ROW, &axis, out);
    }
    out.push_str("</svg></figure>\n");
    out.push_str(
        "<ul class=\"parts key\"><li><i class=\"swatch s-trip\"></i><b>shortest to median</b></li>\
         <li><i class=\"swatch s-transfer\"></i><b>median to 90 %</b></li>\
         <li><i class=\"swatch s-waiting\"></i><b>then to 99 %, or to the longest where there are too few samples; the axis is logarithmic</b></li></ul>\n",
    );
    if rows.len() > SHOWN {
        small_print(&format!("And {} more, in the table.", rows.len() - SHOWN), out);
    }
}

/// The nearest 1, 2 or 5 times a power of ten below and above, so that each end has a tick.
fn around(amount: f64) -> [f64; 2] {
    let power = 10_f64.powf(amount.max(1.0).log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
    let below = steps.into_iter().rfind(|step| *step <= amount);
    let above = steps.into_iter().find(|step| *step >= amount);
    [below.unwrap_or(amount), above.unwrap_or(amount)]
}

/// End of a row: the 99th percentile, or the maximum if there are too few samples.
fn end(spread: &Distribution) -> f64 {
    spread.p99.or(spread.max).map_or(0.0, nanos)
}

fn row(name: &str, spread: &Distribution, top: f64, axis: &LogAxis, out: &mut String) {
    let short = cut(name, MAX_NAME_LEN);
    let _ = write!(
        out,
        "<text class=\"side\" x=\"0\" y=\"{:.1}\">{}</text><g><title>{}: median {}, 90 % {}, 99 % {}, longest {}</title>",
        top + ROW / 2.0,
        Escaped(&short),
        Escaped(&short),
        time_or_dash(spread.p50),
        time_or_dash(spread.p90),
        time_or_dash(spread.p99),
        time_or_dash(spread.max),
    );
    let last = end(spread);
    let median = spread.p50.map_or(0.0, nanos);
    let ninety = spread.p90.map_or(median, nanos);
    let bounds = [spread.min.map_or(median, nanos), median, ninety, last.max(ninety)];
    for (class, ends) in ["trip", "transfer", "waiting"].iter().zip(bounds.windows(2)) {
        let [from, to] = [axis.position(ends[0]), axis.position(ends[1])];
        let _ = write!(
            out,
            "<rect class=\"p-{class}\" x=\"{from:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{BAR}\"/>",
            top + (ROW - BAR) / 2.0,
            // At least one pixel, to be visible.
            (to - from).max(1.0)
        );
    }
    out.push_str("</g>\n");
}

const SHOWN: usize = 24;
const MAX_NAME_LEN: usize = 30;
const WIDTH: f64 = 960.0;
const LEFT: f64 = 200.0;
const RIGHT: f64 = 30.0;
const TOP: f64 = 4.0;
const BOTTOM: f64 = 30.0;
const ROW: f64 = 28.0;
const BAR: f64 = 14.0;

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_narrow_axis_has_ticks_and_an_outlier_does_not_press_the_others() {
        assert_eq!(around(3e6), [2e6, 5e6]);
        assert_eq!(around(1e6), [1e6, 1e6]);
        let spread = |micros: [u64; 3]| Distribution {
            count: 1000,
            min: Some(Duration::from_micros(micros[0])),
            p50: Some(Duration::from_micros(micros[1])),
            p99: Some(Duration::from_micros(micros[2])),
            ..Distribution::default()
        };
        let (near, far) = (spread([2300, 2400, 2500]), spread([90, 95, 40_000]));
        let mut out = String::new();
        draw("round trips", &[("near".to_owned(), &near)], &mut out);
        assert!(
            out.contains(">2 ms</text>") && out.contains(">5 ms</text>"),
            "{out}"
        );
        out.clear();
        draw(
            "round trips",
            &[("near".to_owned(), &near), ("far".to_owned(), &far)],
            &mut out,
        );
        let widths = out
            .split(" width=\"")
            .skip(1)
            .filter_map(|rest| rest.split('"').next()?.parse::<f64>().ok());
        assert_eq!(widths.clone().count(), 6, "three parts a row: {out}");
        let near: f64 = widths.take(3).sum();
        assert!(near > 5.0, "{out}");
    }
}
