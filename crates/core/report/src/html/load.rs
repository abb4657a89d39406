//! The page of `load`: throughput, durations of operations, and the rate over time.

use super::markup::{
    DASH, count, counted, cut, number, per_one, px, section, small_print, statement, time, time_or_dash,
    turns,
};
use super::opening::{self, Opening, name_cell};
use super::scale::{Scale, axis_title, tick_text, ticks};
use super::spreads;
use crate::outcome::{LoadInterval, LoadReport, LoadWork};
use maud::{Markup, Render, html};
use model::{ByteCount, Conditions, Direction, Distribution};
use std::io;
use std::time::Duration;

/// The rate over time, one point per interval. Neighbours are merged in a long run, so the size is
/// bounded.
#[derive(Debug, Clone, Default)]
pub struct LoadCourse {
    points: Vec<RatePoint>,
}

#[derive(Debug, Clone, Copy, Default)]
struct RatePoint {
    elapsed: Duration,
    interval: Duration,
    succeeded: u64,
}

impl LoadCourse {
    /// Intervals come in order of time.
    pub fn add(&mut self, interval: &LoadInterval) {
        if self.points.len() >= MAX_POINTS {
            self.points = self.points.chunks(2).map(RatePoint::joined).collect();
        }
        self.points.push(RatePoint {
            elapsed: interval.elapsed,
            interval: interval.interval,
            succeeded: interval.succeeded,
        });
    }
}

impl RatePoint {
    fn joined(neighbours: &[Self]) -> Self {
        neighbours.iter().fold(Self::default(), |sum, later| Self {
            elapsed: later.elapsed,
            interval: sum.interval + later.interval,
            succeeded: sum.succeeded + later.succeeded,
        })
    }

    fn per_second(&self) -> f64 {
        match self.interval.as_secs_f64() {
            seconds if seconds > 0.0 => self.succeeded as f64 / seconds,
            _ => 0.0,
        }
    }
}

pub fn write_load(
    report: &LoadReport,
    course: &LoadCourse,
    conditions: &Conditions,
    out: &mut impl io::Write,
) -> io::Result<()> {
    opening::write(
        &Opening {
            title: &format!("Load on {}", report.target),
            lead: &lead(report),
            answer: &answer(report),
        },
        vec![
            spread(report),
            rate(course),
            totals(report),
            statements(report),
            failures(report),
        ],
        &[],
        conditions,
        out,
    )
}

fn lead(report: &LoadReport) -> String {
    let work = match &report.work {
        LoadWork::Sql { scripts, mode, .. } => format!("{scripts}, protocol {mode}"),
        LoadWork::Http { keep_alive: true } => "requests over kept connections".to_owned(),
        LoadWork::Http { keep_alive: false } => "requests, a connection each".to_owned(),
    };
    format!(
        "{work}; {} for {}.",
        counted(report.clients.into(), "client"),
        time(report.elapsed)
    )
}

fn answer(report: &LoadReport) -> String {
    if report.succeeded == 0 {
        return format!("No operation succeeded; {} failed.", count(report.failed));
    }
    let what = match report.work {
        LoadWork::Sql { .. } => "transactions",
        LoadWork::Http { .. } => "requests",
    };
    let tail = report
        .spread
        .p99
        .map_or_else(String::new, |p99| format!(", 99 of 100 at most {}", time(p99)));
    let failed = match report.failed {
        0 => String::new(),
        failed => format!("; {} failed", count(failed)),
    };
    format!(
        "{} {what} a second with {}: half took at most {}{tail}{failed}.",
        number(report.per_second),
        counted(report.clients.into(), "client"),
        time_or_dash(report.spread.p50)
    )
}

/// Distributions of all operations and of each script.
fn distributions(report: &LoadReport) -> Vec<(String, &Distribution)> {
    let mut rows = vec![("all operations".to_owned(), &report.spread)];
    rows.extend(
        report
            .begun
            .iter()
            .map(|begun| ("from when each began".to_owned(), begun)),
    );
    rows.extend(
        report
            .scripts
            .iter()
            .map(|script| (script.name.clone(), &script.spread)),
    );
    rows
}

fn spread(report: &LoadReport) -> Markup {
    let rows = distributions(report);
    let cells: Vec<Vec<String>> = rows
        .iter()
        .map(|(name, spread)| {
            vec![
                name_cell(name),
                count(spread.count),
                time_or_dash(spread.mean),
                time_or_dash(spread.min),
                time_or_dash(spread.p50),
                time_or_dash(spread.p90),
                time_or_dash(spread.p95),
                time_or_dash(spread.p99),
                time_or_dash(spread.max),
            ]
        })
        .collect();
    let content = html! {
        (spreads::draw(["operations", "duration"], &rows))
        (opening::table(
            &["what", "count", "average", "shortest", "median", "90 %", "95 %", "99 %", "longest"],
            &cells
        ))
        @if let Some(asked) = report.asked_per_second {
            p.small {
                (number(asked)) " a second were to begin; times are from when each was to begin, which includes \
                 waiting for a free client. " (count(report.not_begun)) " could not begin before the end."
            }
        }
    };
    section("spread", "How long operations took", content)
}

fn rate(course: &LoadCourse) -> Markup {
    let [first, .., last] = course.points.as_slice() else {
        return Markup::default();
    };
    let most = course
        .points
        .iter()
        .map(RatePoint::per_second)
        .fold(0.0, f64::max);
    if most <= 0.0 || last.elapsed <= first.elapsed {
        return Markup::default();
    }
    let content = html! {
        figure.map { @for (class, width) in SIZES { (course_drawing(course, [last.elapsed.as_secs_f64(), most], class, width)) } }
    };
    section("rate", "Operations a second over time", content)
}

/// Up to the given seconds and rate.
fn course_drawing(course: &LoadCourse, [seconds, rate]: [f64; 2], class: &str, width: f64) -> Markup {
    let along = Scale {
        most: seconds,
        from: LEFT,
        to: width - RIGHT,
    };
    let up = Scale {
        most: rate * 1.05,
        from: HEIGHT - BOTTOM,
        to: TOP,
    };
    let place = |point: &RatePoint| {
        let x = along.position(point.elapsed.as_secs_f64());
        format!("{x:.1} {:.1}", up.position(point.per_second()))
    };
    let path: Vec<String> = course.points.iter().map(place).collect();
    html! {
        svg class={ "tuned " (class) } viewBox={ "0 0 " (width) " " (HEIGHT) } role="img"
            aria-label="operations a second over time" {
            (axes(&along, &up))
            g.ink3 { path.line d={ "M" (path.join("L")) } {} }
        }
    }
}

fn axes(along: &Scale, up: &Scale) -> Markup {
    let wanted = ((along.to - along.from) / 60.0).min(6.0);
    let seconds: Vec<f64> = ticks(along.most, wanted).iter().map(|tick| tick * 1e9).collect();
    html! {
        text.axis.side x="0" y="10" { "operations a second" }
        text.axis x=(px(f64::midpoint(along.from, along.to))) y=(px(HEIGHT - BOTTOM + 38.0)) {
            (axis_title("time since the start", &seconds))
        }
        @for tick in ticks(up.most, 4.0) {
            @let at = px(up.position(tick));
            line.rule x1=(px(along.from)) x2=(px(along.to)) y1=(at) y2=(at) {}
            text.end x=(px(along.from - 8.0)) y=(at) { (turns(tick)) }
        }
        @for tick in &seconds {
            text x=(px(along.position(tick / 1e9))) y=(px(HEIGHT - BOTTOM + 16.0)) { (tick_text(*tick)) }
        }
    }
}

fn totals(report: &LoadReport) -> Markup {
    let begun = report.succeeded + report.failed;
    let each = |sum: u64| ByteCount::from_bytes(sum.checked_div(begun).unwrap_or_default()).to_string();
    let [user, system] = report.processor;
    let processor = match begun {
        0 => DASH.to_owned(),
        begun => time((user + system).div_f64(begun as f64)),
    };
    let row = vec![
        count(report.succeeded),
        count(report.failed),
        per_one(report.turns, begun),
        each(report.payload_bytes[Direction::ClientToServer]),
        each(report.payload_bytes[Direction::ServerToClient]),
        processor,
        time(report.connecting),
    ];
    let content = html! {
        (opening::table(
            &[
                "succeeded", "failed", "round trips each", "sent each", "received each",
                "processor time each", "connecting, all",
            ],
            &[row]
        ))
        (small_print("Processor time is longwire's own, in the program and in the kernel, not the server's."))
    };
    section("totals", "Cost of an operation", content)
}

fn statements(report: &LoadReport) -> Markup {
    if report.statements.is_empty() {
        return Markup::default();
    }
    let rows: Vec<Vec<Markup>> = report
        .statements
        .iter()
        .map(|outcome| {
            vec![
                statement(&outcome.fingerprint),
                count(outcome.calls).render(),
                per_one(outcome.turns, outcome.calls).render(),
                time_or_dash(outcome.spread.mean).render(),
                count(outcome.errors).render(),
            ]
        })
        .collect();
    let headings = ["statement", "calls", "round trips each", "average", "errors"];
    section("statements", "Statements", opening::table(&headings, &rows))
}

fn failures(report: &LoadReport) -> Markup {
    if report.failures.is_empty() {
        return Markup::default();
    }
    let content = html! {
        ul {
            @for failure in report.failures.iter().take(SHOWN) {
                li { (counted(failure.count, "time")) ": " (cut(&failure.text, MAX_REASON_LEN)) }
            }
        }
    };
    section("failures", "Why operations failed", content)
}

const MAX_POINTS: usize = 600;
const SHOWN: usize = 30;
const MAX_REASON_LEN: usize = 600;
const SIZES: [(&str, f64); 2] = [("wide", 960.0), ("narrow", 358.0)];
const HEIGHT: f64 = 270.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 28.0;
const BOTTOM: f64 = 48.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_course_is_bounded_and_loses_no_operation() {
        let mut course = LoadCourse::default();
        for second in 1..=10_000 {
            course.add(&LoadInterval {
                elapsed: Duration::from_secs(second),
                interval: Duration::from_secs(1),
                succeeded: second,
                ..LoadInterval::default()
            });
        }
        assert!(course.points.len() <= MAX_POINTS, "{}", course.points.len());
        let all = RatePoint::joined(&course.points);
        assert_eq!(all.succeeded, 10_000 * 10_001 / 2);
        assert_eq!(all.interval, Duration::from_secs(10_000));
        assert_eq!(all.elapsed, Duration::from_secs(10_000));
    }
}
