//! The curve of predicted time over round-trip time, both logarithmic, with and without the
//! findings, with bounds and measurements. `page.js` draws the same when a slider moves.

use super::grid::{GridRow, View, drawn_bounds};
use super::markup::{px, time};
use super::scale::{LogScale, axis_title, log_ticks, nanos, tick_text};
use maud::{Markup, html};
use model::Prediction;
use std::time::Duration;

/// Both sizes of the curve. The style sheet selects the readable size.
pub fn both_sizes(view: &View, row: &GridRow) -> Markup {
    html! { @for size in [WIDE, NARROW] { (svg(view, row, size)) } }
}

#[derive(Debug, Clone, Copy)]
struct Size {
    class: &'static str,
    width: f64,
    height: f64,
    ticks: usize,
}

fn svg(view: &View, row: &GridRow, size: Size) -> Markup {
    let cells: Vec<&Prediction> = (0..view.rtts.len())
        .map(|rtt| view.cell(row, rtt, view.start.rate, view.start.clients))
        .collect();
    let points: Vec<&Prediction> = row
        .points
        .iter()
        .filter(|point| point.rate == cells[0].rate && point.clients == cells[0].clients)
        .collect();
    let (first, last) = (cells[0], cells[cells.len() - 1]);
    let x = LogScale {
        unit: RTT_UNIT,
        least: 0.0,
        most: nanos(last.rtt),
        from: LEFT,
        to: size.width - RIGHT,
    };
    let curve: Vec<Place> = x.along(PLACES).map(|rtt| Place::at(rtt, row, &cells)).collect();
    let y = upwards(&curve, &points, row.here, size);
    let has_remedy = row.removed > 0.0;
    let here = cells[view.start.rtt];
    let (at, up) = (x.position(nanos(here.rtt)), y.position(nanos(here.duration)));
    let label = format!(
        "Predicted median over the round-trip time of the link: {} at {}, {} at {}",
        time(first.duration),
        time(first.rtt),
        time(last.duration),
        time(last.rtt),
    );
    html! {
        svg class={ "curve " (size.class) } viewBox={ "0 0 " (size.width.to_string()) " " (size.height.to_string()) }
            role="img" aria-label=(label) {
            (axes(x, y, size))
            (band_and_lines(&curve, has_remedy, x, y))
            (end_labels(&curve, has_remedy, x, y))
            (measured_dot(view, row, x, y))
            @for point in points { (dot(point, x, y)) }
            line.hair x1=(px(at)) x2=(px(at)) y1=(px(y.from)) y2=(px(up)) {}
            circle.marker cx=(px(at)) cy=(px(up)) r="6" {}
        }
    }
}

/// The curve at one round-trip time, in nanoseconds. Linear between two predictions, because an
/// operation's time is linear in the round-trip time.
#[derive(Debug, Clone, Copy)]
struct Place {
    rtt: f64,
    median: f64,
    low: f64,
    high: f64,
    /// The median without the findings.
    without: f64,
}

impl Place {
    fn at(rtt: f64, row: &GridRow, cells: &[&Prediction]) -> Self {
        let of = |cell: &Prediction| {
            let [low, high] = drawn_bounds(cell);
            Self {
                rtt: nanos(cell.rtt),
                median: nanos(cell.duration),
                low: nanos(low),
                high: nanos(high),
                without: nanos(row.without(cell, cell.duration)),
            }
        };
        let next = cells
            .partition_point(|cell| nanos(cell.rtt) <= rtt)
            .clamp(1, cells.len() - 1);
        let (from, to) = (of(cells[next - 1]), of(cells[next]));
        let along = ((rtt - from.rtt) / (to.rtt - from.rtt)).clamp(0.0, 1.0);
        let mix = |from: f64, to: f64| from + (to - from) * along;
        Self {
            rtt,
            median: mix(from.median, to.median),
            low: mix(from.low, to.low),
            high: mix(from.high, to.high),
            without: mix(from.without, to.without),
        }
    }
}

fn upwards(curve: &[Place], points: &[&Prediction], here: Option<Duration>, size: Size) -> LogScale {
    let measured = points
        .iter()
        .filter_map(|point| Some(nanos(point.measured.as_ref()?.duration)));
    let drawn = curve
        .iter()
        .flat_map(|place| [place.median, place.high, place.low, place.without]);
    let all: Vec<f64> = drawn
        .chain(measured)
        .chain(here.map(nanos))
        .filter(|time| *time > 0.0)
        .collect();
    let least = all.iter().copied().fold(f64::INFINITY, f64::min);
    let most = all.iter().copied().fold(MIN_TIME, f64::max);
    LogScale {
        unit: 1.0,
        least: (least.min(most) / ROOM).max(MIN_TIME),
        most: most * ROOM,
        from: size.height - BOTTOM,
        to: TOP,
    }
}

fn axes(x: LogScale, y: LogScale, size: Size) -> Markup {
    let along = log_ticks(RTT_UNIT, x.most, size.ticks);
    let upwards = log_ticks(y.least, y.most, TICKS_UP);
    html! {
        @for tick in &upwards {
            @let up = y.position(*tick);
            line.rule x1=(px(x.from)) x2=(px(x.to)) y1=(px(up)) y2=(px(up)) {}
            text.tick x=(px(x.from - 8.0)) y=(px(up + 4.0)) text-anchor="end" { (tick_text(*tick)) }
        }
        @for tick in std::iter::once(&0.0).chain(&along) {
            text.tick x=(px(x.position(*tick))) y=(px(y.from + 18.0)) text-anchor="middle" { (tick_text(*tick)) }
        }
        text.axis x=(px(f64::midpoint(x.from, x.to))) y=(px(y.from + 38.0)) text-anchor="middle" {
            (axis_title("round-trip time of the link", &along))
        }
        text.axis x="8.0" y="14" { (axis_title("duration of one operation", &upwards)) }
    }
}

fn band_and_lines(curve: &[Place], has_remedy: bool, x: LogScale, y: LogScale) -> Markup {
    let line = |of: fn(&Place) -> f64| {
        let places = curve
            .iter()
            .map(|place| format!("{:.1} {:.1}", x.position(place.rtt), y.position(of(place))));
        places.collect::<Vec<String>>()
    };
    let high = line(|place| place.high).join("L");
    let mut low = line(|place| place.low);
    low.reverse();
    html! {
        path.band d={ "M" (high) "L" (low.join("L")) "Z" } {}
        path.line d={ "M" (line(|place| place.median).join("L")) } {}
        @if has_remedy {
            path.line.without d={ "M" (line(|place| place.without).join("L")) } {}
        }
    }
}

/// Moves labels apart where they would overlap.
fn end_labels(curve: &[Place], has_remedy: bool, x: LogScale, y: LogScale) -> Markup {
    let Some(last) = curve.last() else {
        return Markup::default();
    };
    let median = y.position(last.median);
    let without = y.position(last.without).max(median + LINE_HEIGHT);
    html! {
        text.end.strong x=(px(x.to + 6.0)) y=(px(median + 4.0)) { "as it is" }
        @if has_remedy { text.end.without x=(px(x.to + 6.0)) y=(px(without + 4.0)) { "changed" } }
    }
}

fn measured_dot(view: &View, row: &GridRow, x: LogScale, y: LogScale) -> Markup {
    let measured = view.measured_rtt.zip(row.here);
    let drawn = measured.filter(|(rtt, here)| nanos(*rtt) <= x.most && nanos(*here) <= y.most);
    html! {
        @if let Some((rtt, here)) = drawn {
            circle.here cx=(px(x.position(nanos(rtt)))) cy=(px(y.position(nanos(here)))) r="4" {
                title { "as measured: " (time(here)) " at " (time(rtt)) }
            }
        }
    }
}

fn dot(point: &Prediction, x: LogScale, y: LogScale) -> Markup {
    html! {
        @if let Some(measured) = &point.measured {
            circle.dot cx=(px(x.position(nanos(point.rtt)))) cy=(px(y.position(nanos(measured.duration)))) r="4" {
                title {
                    "measured: " (time(measured.duration)) " at " (time(point.rtt))
                    " (" (measured.operations) " operations)"
                }
            }
        }
    }
}

const WIDE: Size = Size {
    class: "wide",
    width: 740.0,
    height: 390.0,
    ticks: 8,
};
const NARROW: Size = Size {
    class: "narrow",
    width: 328.0,
    height: 270.0,
    ticks: 4,
};
const LEFT: f64 = 58.0;
const RIGHT: f64 = 64.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 48.0;
const LINE_HEIGHT: f64 = 14.0;
/// The axis is linear below half a millisecond, so that 0 has a place.
const RTT_UNIT: f64 = 500_000.0;
/// Number of points on a curve; straight lines connect them.
const PLACES: u32 = 48;
const TICKS_UP: usize = 6;
/// Margin above the longest and below the shortest time, as a factor.
const ROOM: f64 = 1.25;
const MIN_TIME: f64 = 100.0;
