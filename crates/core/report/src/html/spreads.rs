//! Distributions on one axis: 50th, 90th and 99th percentile.

use super::markup::{cut, px, small_print, time_or_dash};
use super::scale::{axis_title, nanos, tick_text};
use super::tune::LogAxis;
use maud::{Markup, html};
use model::Distribution;

pub type Row<'a> = (String, &'a Distribution);

/// Draws the rows that have samples. The titles are those of the rows and of the axis.
pub fn draw(titles: [&str; 2], rows: &[Row<'_>]) -> Markup {
    let rows: Vec<&Row<'_>> = rows.iter().filter(|(_, spread)| spread.p50.is_some()).collect();
    let shown = &rows[..rows.len().min(SHOWN)];
    html! {
        @if !shown.is_empty() {
            figure.map { @for size in [WIDE, NARROW] { (drawing(titles, shown, size)) } }
            ul.parts.key {
                @for (class, meaning) in KEY { li { i class={ "swatch s-" (class) } {} b { (meaning) } } }
            }
        }
        @if rows.len() > SHOWN { (small_print(format!("And {} more, in the table.", rows.len() - SHOWN))) }
    }
}

#[derive(Debug, Clone, Copy)]
struct Size {
    class: &'static str,
    width: f64,
    /// Begin of the axis.
    left: f64,
    row: f64,
    /// Middle of a name, from the top of its row. A narrow drawing has names above the bars.
    name: f64,
    max_name_len: usize,
    ticks: usize,
}

fn drawing([of_rows, quantity]: [&str; 2], rows: &[&Row<'_>], size: Size) -> Markup {
    // The axis ends at the 99th percentiles; outliers are in tables. It is logarithmic, because
    // rows differ by powers of ten.
    let amounts = rows
        .iter()
        .flat_map(|(_, spread)| [spread.min.map_or(end(spread), nanos), end(spread)]);
    let axis = LogAxis::over(amounts, [size.left, size.width - RIGHT]);
    let bottom = TOP + rows.len() as f64 * size.row;
    let ticks = axis.ticks(size.ticks);
    html! {
        svg class={ "tuned " (size.class) } viewBox={ "0 0 " (size.width) " " (bottom + BOTTOM) } role="img"
            aria-label={ (quantity) " by " (of_rows) } {
            text.axis.side x="0" y="10" { (of_rows) }
            text.axis x=(px(f64::midpoint(size.left, size.width - RIGHT))) y=(px(bottom + 38.0)) {
                (axis_title(quantity, &ticks))
            }
            @for tick in &ticks {
                @let along = px(axis.position(*tick));
                line.rule x1=(along) x2=(along) y1=(TOP) y2=(px(bottom)) {}
                text x=(along) y=(px(bottom + 16.0)) { (tick_text(*tick)) }
            }
            @for (number, (name, spread)) in rows.iter().enumerate() {
                (row(name, spread, TOP + number as f64 * size.row, &axis, size))
            }
        }
    }
}

/// End of a row: the 99th percentile, or the maximum if there are too few samples.
fn end(spread: &Distribution) -> f64 {
    spread.p99.or(spread.max).map_or(0.0, nanos)
}

fn row(name: &str, spread: &Distribution, top: f64, axis: &LogAxis, size: Size) -> Markup {
    let name = cut(name, size.max_name_len);
    let median = spread.p50.map_or(0.0, nanos);
    let ninety = spread.p90.map_or(median, nanos);
    let first = spread.min.map_or(median, nanos);
    let bounds = [first, median, ninety, end(spread).max(ninety)].map(|amount| axis.position(amount));
    html! {
        text.side x="0" y=(px(top + size.name)) { (name) }
        g {
            title {
                (name) ": median " (time_or_dash(spread.p50)) ", 90 % " (time_or_dash(spread.p90))
                ", 99 % " (time_or_dash(spread.p99)) ", longest " (time_or_dash(spread.max))
            }
            @for ((class, _), ends) in KEY.iter().zip(bounds.windows(2)) {
                // At least one pixel, to be visible.
                @let width = (ends[1] - ends[0]).max(1.0);
                rect class={ "p-" (class) } x=(px(ends[0])) y=(px(top + size.row - BAR - 7.0))
                    width=(px(width)) height=(BAR) {}
            }
        }
    }
}

/// Colours of the parts of a row.
const KEY: [(&str, &str); 3] = [
    ("trip", "shortest to median"),
    ("transfer", "median to 90 %"),
    (
        "waiting",
        "then to 99 %, or to the longest where there are too few samples; the axis is logarithmic",
    ),
];
const SHOWN: usize = 24;
const WIDE: Size = Size {
    class: "wide",
    width: 960.0,
    left: 200.0,
    row: 28.0,
    name: 14.0,
    max_name_len: 30,
    ticks: 6,
};
const NARROW: Size = Size {
    class: "narrow",
    width: 358.0,
    left: 6.0,
    row: 46.0,
    name: 14.0,
    max_name_len: 48,
    ticks: 3,
};
const RIGHT: f64 = 30.0;
const TOP: f64 = 24.0;
const BOTTOM: f64 = 48.0;
const BAR: f64 = 14.0;

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_narrow_axis_has_ticks_and_an_outlier_does_not_press_the_others() {
        let spread = |micros: [u64; 3]| Distribution {
            count: 1000,
            min: Some(Duration::from_micros(micros[0])),
            p50: Some(Duration::from_micros(micros[1])),
            p99: Some(Duration::from_micros(micros[2])),
            ..Distribution::default()
        };
        let (near, far) = (spread([2300, 2400, 2500]), spread([90, 95, 40_000]));
        let out = draw(["place", "round trips"], &[("near".to_owned(), &near)]).0;
        assert!(
            out.contains(">2 ms</text>") && out.contains(">5 ms</text>"),
            "{out}"
        );
        let rows = [("near".to_owned(), &near), ("far".to_owned(), &far)];
        let out = draw(["place", "round trips"], &rows).0;
        let widths = out
            .split(" width=\"")
            .skip(1)
            .filter_map(|rest| rest.split('"').next()?.parse::<f64>().ok());
        assert_eq!(widths.clone().count(), 12, "three parts a row, two sizes: {out}");
        let near: f64 = widths.take(3).sum();
        assert!(near > 5.0, "{out}");
    }
}
