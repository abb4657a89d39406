//! The curve of predicted time over round-trip time, both logarithmic, with and without the
//! findings, with bounds and measurements. `page.js` draws the same when a slider moves.

use super::grid::{GridRow, View, drawn_bounds};
use super::markup::time;
use super::scale::{LogScale, log_ticks, nanos, tick_text};
use model::Prediction;
use std::fmt::Write;
use std::time::Duration;

/// Both sizes of the curve. The style sheet selects the readable size.
pub fn both_sizes(view: &View, row: &GridRow, out: &mut String) {
    for size in [WIDE, NARROW] {
        svg(view, row, size, out);
    }
}

#[derive(Debug, Clone, Copy)]
struct Size {
    class: &'static str,
    width: f64,
    height: f64,
    ticks: usize,
}

fn svg(view: &View, row: &GridRow, size: Size, out: &mut String) {
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
    let _ = writeln!(
        out,
        "<svg class=\"curve {}\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"Predicted median over the round-trip time of the link: {} at {}, \
         {} at {}\">",
        size.class,
        size.width,
        size.height,
        time(first.duration),
        time(first.rtt),
        time(last.duration),
        time(last.rtt),
    );
    axes(x, y, size, out);
    band_and_lines(&curve, row.removed > 0.0, x, y, out);
    end_labels(&curve, row.removed > 0.0, x, y, out);
    dots(view, row, &points, x, y, out);
    let here = cells[view.start.rtt];
    let (at, up) = (x.position(nanos(here.rtt)), y.position(nanos(here.duration)));
    let _ = writeln!(
        out,
        "<line class=\"hair\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{:.1}\" y2=\"{up:.1}\"/><circle class=\"marker\" cx=\"{at:.1}\" cy=\"{up:.1}\" \
         r=\"6\"/>\n</svg>",
        y.from
    );
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

fn axes(x: LogScale, y: LogScale, size: Size, out: &mut String) {
    for tick in log_ticks(y.least, y.most, TICKS_UP) {
        let up = y.position(tick);
        let _ = writeln!(
            out,
            "<line class=\"rule\" x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{up:.1}\" y2=\"{up:.1}\"/><text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\" \
             text-anchor=\"end\">{}</text>",
            x.from,
            x.to,
            x.from - 8.0,
            up + 4.0,
            tick_text(tick)
        );
    }
    let along = log_ticks(RTT_UNIT, x.most, size.ticks);
    for tick in std::iter::once(0.0).chain(along) {
        let _ = writeln!(
            out,
            "<text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            x.position(tick),
            y.from + 18.0,
            tick_text(tick)
        );
    }
    let _ = writeln!(
        out,
        "<text class=\"axis\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">round-trip time of the link</text>\
         <text class=\"axis\" x=\"{:.1}\" y=\"14\">duration of one operation</text>",
        f64::midpoint(x.from, x.to),
        y.from + 38.0,
        8.0
    );
}

fn band_and_lines(curve: &[Place], has_remedy: bool, x: LogScale, y: LogScale, out: &mut String) {
    let line = |of: fn(&Place) -> f64| {
        let places = curve
            .iter()
            .map(|place| format!("{:.1} {:.1}", x.position(place.rtt), y.position(of(place))));
        places.collect::<Vec<String>>()
    };
    let mut low = line(|place| place.low);
    low.reverse();
    let _ = writeln!(
        out,
        "<path class=\"band\" d=\"M{}L{}Z\"/><path class=\"line\" d=\"M{}\"/>",
        line(|place| place.high).join("L"),
        low.join("L"),
        line(|place| place.median).join("L")
    );
    if has_remedy {
        let _ = writeln!(
            out,
            "<path class=\"line without\" d=\"M{}\"/>",
            line(|place| place.without).join("L")
        );
    }
}

/// Moves labels apart where they would overlap.
fn end_labels(curve: &[Place], has_remedy: bool, x: LogScale, y: LogScale, out: &mut String) {
    let Some(last) = curve.last() else { return };
    let median = y.position(last.median);
    let mut labels = vec![("strong", "as it is", median)];
    if has_remedy {
        labels.push((
            "without",
            "changed",
            y.position(last.without).max(median + LINE_HEIGHT),
        ));
    }
    for (class, name, up) in labels {
        let _ = write!(
            out,
            "<text class=\"end {class}\" x=\"{:.1}\" y=\"{:.1}\">{name}</text>",
            x.to + 6.0,
            up + 4.0
        );
    }
    out.push('\n');
}

fn dots(view: &View, row: &GridRow, points: &[&Prediction], x: LogScale, y: LogScale, out: &mut String) {
    if let (Some(rtt), Some(here)) = (view.measured_rtt, row.here)
        && nanos(rtt) <= x.most
        && nanos(here) <= y.most
    {
        let _ = writeln!(
            out,
            "<circle class=\"here\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"4\"><title>as measured: {} at {}</title></circle>",
            x.position(nanos(rtt)),
            y.position(nanos(here)),
            time(here),
            time(rtt)
        );
    }
    for point in points {
        let Some(measured) = &point.measured else { continue };
        let _ = writeln!(
            out,
            "<circle class=\"dot\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"4\"><title>measured: {} at {} ({} operations)</title></circle>",
            x.position(nanos(point.rtt)),
            y.position(nanos(measured.duration)),
            time(measured.duration),
            time(point.rtt),
            measured.operations
        );
    }
}

const WIDE: Size = Size {
    class: "wide",
    width: 660.0,
    height: 360.0,
    ticks: 8,
};
const NARROW: Size = Size {
    class: "narrow",
    width: 328.0,
    height: 270.0,
    ticks: 5,
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
