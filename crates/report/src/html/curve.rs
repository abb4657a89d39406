//! The curve: predicted time over the round trip, with its bounds and what was measured. `page.js` draws the same
//! again when a slider moves.

use super::grid::{GridRow, View};
use super::markup::time;
use super::scale::{Scale, nanos, tick_text, ticks};
use model::Prediction;
use std::fmt::Write;
use std::time::Duration;

/// Both sizes of the curve: the page's style shows the one that fits, so that its words stay readable.
pub fn both_sizes(view: &View, row: &GridRow, out: &mut String) {
    for size in [WIDE, NARROW] {
        svg(view, row, size, out);
    }
}

/// Width and height, class, margins left and right, and how many ticks along.
#[derive(Debug, Clone, Copy)]
struct Size {
    class: &'static str,
    width: f64,
    height: f64,
    ticks: f64,
}

fn svg(view: &View, row: &GridRow, size: Size, out: &mut String) {
    let curve: Vec<&Prediction> = (0..view.rtts.len())
        .map(|rtt| view.cell(row, rtt, view.start.rate, view.start.clients))
        .collect();
    let points: Vec<&Prediction> = row
        .points
        .iter()
        .filter(|point| point.rate == curve[0].rate && point.clients == curve[0].clients)
        .collect();
    let x = Scale {
        most: nanos(view.rtts[view.rtts.len() - 1]),
        from: LEFT,
        to: size.width - RIGHT,
    };
    let y = Scale {
        most: most(&curve, &points) * 1.06,
        from: size.height - BOTTOM,
        to: TOP,
    };
    let last = curve[curve.len() - 1];
    let _ = writeln!(
        out,
        "<svg class=\"curve {}\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"Predicted median over the round trip of the link: {} at {}, \
         {} at {}\">",
        size.class,
        size.width,
        size.height,
        time(curve[0].duration),
        time(curve[0].rtt),
        time(last.duration),
        time(last.rtt),
    );
    axes(x, y, size, out);
    band_and_line(&curve, x, y, out);
    end_labels(last, x, y, out);
    dots(view, row, &points, x, y, out);
    let here = curve[view.start.rtt];
    let (at, up) = (x.place(nanos(here.rtt)), y.place(nanos(here.duration)));
    let _ = writeln!(
        out,
        "<line class=\"hair\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{:.1}\" y2=\"{up:.1}\"/><circle class=\"marker\" cx=\"{at:.1}\" cy=\"{up:.1}\" \
         r=\"6\"/>\n</svg>",
        y.from
    );
}

fn most(curve: &[&Prediction], points: &[&Prediction]) -> f64 {
    let predicted = curve.iter().map(|cell| nanos(cell.high.max(cell.duration)));
    let measured = points
        .iter()
        .filter_map(|point| Some(nanos(point.measured.as_ref()?.duration)));
    predicted.chain(measured).fold(0.0, f64::max)
}

fn axes(x: Scale, y: Scale, size: Size, out: &mut String) {
    for tick in ticks(y.most, 4.0) {
        let up = y.place(tick);
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
    for tick in ticks(x.most, size.ticks) {
        let _ = writeln!(
            out,
            "<text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            x.place(tick),
            y.from + 18.0,
            tick_text(tick)
        );
    }
    let _ = writeln!(
        out,
        "<text class=\"axis\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">round trip (rtt) of the link</text>\
         <text class=\"axis\" x=\"{:.1}\" y=\"14\">duration of one operation</text>",
        f64::midpoint(x.from, x.to),
        y.from + 38.0,
        8.0
    );
}

fn band_and_line(curve: &[&Prediction], x: Scale, y: Scale, out: &mut String) {
    let place = |cell: &Prediction, of: Duration| {
        format!("{:.1} {:.1}", x.place(nanos(cell.rtt)), y.place(nanos(of)))
    };
    let high: Vec<String> = curve.iter().map(|cell| place(cell, cell.high)).collect();
    let low: Vec<String> = curve.iter().rev().map(|cell| place(cell, cell.low)).collect();
    let middle: Vec<String> = curve.iter().map(|cell| place(cell, cell.duration)).collect();
    let _ = writeln!(
        out,
        "<path class=\"band\" d=\"M{}L{}Z\"/><path class=\"line\" d=\"M{}\"/>",
        high.join("L"),
        low.join("L"),
        middle.join("L")
    );
}

/// Names of the three lines at their ends, moved apart where they would overlap.
fn end_labels(last: &Prediction, x: Scale, y: Scale, out: &mut String) {
    let middle = y.place(nanos(last.duration));
    let high = y.place(nanos(last.high)).min(middle - LINE_HEIGHT);
    let low = y.place(nanos(last.low)).max(middle + LINE_HEIGHT);
    for (class, name, up) in [
        ("faint", "high", high),
        ("strong", "median", middle),
        ("faint", "low", low),
    ] {
        let _ = write!(
            out,
            "<text class=\"end {class}\" x=\"{:.1}\" y=\"{:.1}\">{name}</text>",
            x.to + 6.0,
            up + 4.0
        );
    }
    out.push('\n');
}

/// What was measured on such links, and where the operations come from.
fn dots(view: &View, row: &GridRow, points: &[&Prediction], x: Scale, y: Scale, out: &mut String) {
    if let (Some(rtt), Some(here)) = (view.measured_rtt, row.here)
        && nanos(rtt) <= x.most
        && nanos(here) <= y.most
    {
        let _ = writeln!(
            out,
            "<circle class=\"here\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"4\"><title>as measured: {} at {}</title></circle>",
            x.place(nanos(rtt)),
            y.place(nanos(here)),
            time(here),
            time(rtt)
        );
    }
    for point in points {
        let Some(measured) = &point.measured else { continue };
        let _ = writeln!(
            out,
            "<circle class=\"dot\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"4\"><title>measured: {} at {} ({} operations)</title></circle>",
            x.place(nanos(point.rtt)),
            y.place(nanos(measured.duration)),
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
    ticks: 5.0,
};
const NARROW: Size = Size {
    class: "narrow",
    width: 328.0,
    height: 270.0,
    ticks: 4.0,
};
const LEFT: f64 = 58.0;
const RIGHT: f64 = 56.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 48.0;
const LINE_HEIGHT: f64 = 14.0;
