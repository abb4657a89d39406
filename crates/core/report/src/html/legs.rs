//! A lab's measured and predicted times over the round-trip time of each link, on one scale.

use super::grid::drawn_bounds;
use super::markup::{self, count, px, small_print, turns};
use super::scale::{Scale, ticks};
use crate::outcome::{LabOutcome, LabPoint, LabSlope};
use maud::{Markup, html};
use std::time::Duration;

pub fn section(lab: Option<&LabOutcome>) -> Markup {
    let Some(lab) = lab else {
        return Markup::default();
    };
    let legs: Vec<Leg<'_>> = lab.slopes.iter().map(|slope| Leg::new(lab, slope)).collect();
    if legs.is_empty() {
        return Markup::default();
    }
    let most = |amounts: &mut dyn Iterator<Item = f64>| amounts.fold(0.0, f64::max);
    let rtt = most(&mut legs.iter().flat_map(|leg| leg.points.iter().map(|(rtt, _)| *rtt)));
    let time = most(
        &mut legs
            .iter()
            .flat_map(|leg| leg.points.iter().map(|(_, point)| highest(point))),
    );
    let shown = &legs[..legs.len().min(SHOWN)];
    let content = html! {
        (legend())
        div.legs {
            @for leg in shown {
                figure {
                    figcaption { b { (leg.title) } span.small { (leg.words) } }
                    @for size in [WIDE, NARROW] { (plot(lab, leg, [rtt, time], size)) }
                }
            }
        }
        @if legs.len() > SHOWN { (small_print(format!("And {} more: --json has all.", legs.len() - SHOWN))) }
        (small_print("All plots have the same scale. The band is between the bounds low and high of the prediction."))
    };
    markup::section("legs", "Time over the distance of each link", content)
}

/// The points of one link, by its round-trip time in milliseconds.
struct Leg<'a> {
    title: String,
    words: String,
    points: Vec<(f64, &'a LabPoint)>,
}

impl<'a> Leg<'a> {
    fn new(lab: &'a LabOutcome, slope: &LabSlope) -> Self {
        let beside = slope
            .beside
            .iter()
            .map(|(setting, value)| format!(", {setting} {value}"));
        let known = slope.points.iter();
        let mut points: Vec<(f64, &LabPoint)> = known
            .filter_map(|(rtt, point)| Some((millis(*rtt), lab.points.get(*point)?)))
            .collect();
        points.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        let predicted = slope
            .predicted
            .map(|slope| format!(", predicted {}", turns(slope)));
        let counted = slope
            .turns
            .map(|count| format!("; {} round trips counted", turns(count)));
        Self {
            title: format!("{}{}", slope.link, beside.collect::<String>()),
            words: format!(
                " Each ms of round trip adds {} ms{}{}.",
                turns(slope.measured),
                predicted.unwrap_or_default(),
                counted.unwrap_or_default(),
            ),
            points,
        }
    }

    fn measured(&self) -> impl Iterator<Item = (f64, f64)> {
        let points = self.points.iter();
        points.filter_map(|(rtt, point)| Some((*rtt, millis(point.measured.as_ref()?.duration))))
    }

    /// Median, low and high.
    fn predicted(&self) -> impl Iterator<Item = (f64, [f64; 3])> {
        let points = self.points.iter();
        points.filter_map(|(rtt, point)| {
            let prediction = point.prediction.as_ref()?;
            let [low, high] = drawn_bounds(prediction);
            Some((*rtt, [prediction.duration, low, high].map(millis)))
        })
    }
}

fn highest(point: &LabPoint) -> f64 {
    let measured = point.measured.as_ref().map(|measured| measured.duration);
    let predicted = point
        .prediction
        .as_ref()
        .map(|prediction| drawn_bounds(prediction)[1]);
    millis(measured.max(predicted).unwrap_or_default())
}

fn millis(span: Duration) -> f64 {
    span.as_secs_f64() * 1e3
}

fn legend() -> Markup {
    html! {
        ul.parts.key {
            li {
                svg.leg.sign viewBox="0 0 30 12" aria-hidden="true" {
                    path.band d="M0 2H30V10H0Z" {}
                    path.line d="M0 6H30" {}
                }
                b { "predicted from the capture without distance" }
            }
            li {
                svg.leg.sign viewBox="0 0 30 12" aria-hidden="true" { circle.dot cx="15" cy="6" r="5" {} }
                b { "measured" }
            }
        }
    }
}

struct Size {
    class: &'static str,
    width: f64,
    height: f64,
    ticks: f64,
}

fn plot(lab: &LabOutcome, leg: &Leg<'_>, [rtt, time]: [f64; 2], size: Size) -> Markup {
    let x = Scale {
        most: rtt,
        from: LEFT,
        to: size.width - RIGHT,
    };
    let y = Scale {
        most: time * ROOM,
        from: size.height - BOTTOM,
        to: TOP,
    };
    let place = |rtt: f64, time: f64| format!("{:.1} {:.1}", x.position(rtt), y.position(time));
    let line = |of: usize| leg.predicted().map(move |(rtt, times)| (rtt, times[of]));
    let path = |points: &mut dyn Iterator<Item = (f64, f64)>| {
        let places: Vec<String> = points.map(|(rtt, time)| place(rtt, time)).collect();
        places.join("L")
    };
    let mut low: Vec<(f64, f64)> = line(1).collect();
    low.reverse();
    let band = line(2).chain(low);
    let words: Vec<String> = leg
        .measured()
        .map(|(rtt, time)| format!("{} ms at {} ms", figure(time), figure(rtt)))
        .collect();
    let label = format!("{}: measured median {}", leg.title, words.join(", "));
    html! {
        svg class={ "leg " (size.class) } viewBox={ "0 0 " (size.width) " " (size.height) } role="img" aria-label=(label) {
            (axes(lab, x, y, size.ticks))
            @if leg.predicted().next().is_some() {
                path.band d={ "M" (path(&mut band.into_iter())) "Z" } {}
                path.line d={ "M" (path(&mut line(0))) } {}
            }
            @for (rtt, time) in leg.measured() {
                circle.dot cx=(px(x.position(rtt))) cy=(px(y.position(time))) r="5" {
                    title { "measured: " (figure(time)) " ms at " (figure(rtt)) " ms" }
                }
            }
        }
    }
}

fn axes(lab: &LabOutcome, x: Scale, y: Scale, wanted: f64) -> Markup {
    html! {
        @for tick in ticks(y.most, TICKS_UP) {
            @let up = y.position(tick);
            line.rule x1=(px(x.from)) x2=(px(x.to)) y1=(px(up)) y2=(px(up)) {}
            text.tick x=(px(x.from - 8.0)) y=(px(up + 4.0)) text-anchor="end" { (figure(tick)) }
        }
        @for tick in ticks(x.most, wanted) {
            text.tick x=(px(x.position(tick))) y=(px(y.from + 18.0)) text-anchor="middle" { (figure(tick)) }
        }
        text.axis x=(px(f64::midpoint(x.from, x.to))) y=(px(y.from + 38.0)) text-anchor="middle" {
            "added round-trip time (ms)"
        }
        text.axis x="0" y="14" { "median time of one " (lab.operation) " (ms)" }
    }
}

/// With separators, and no needless digits.
fn figure(millis: f64) -> String {
    match millis >= 1000.0 {
        true => count(millis.round() as u64),
        false => turns(millis),
    }
}

const WIDE: Size = Size {
    class: "wide",
    width: 510.0,
    height: 340.0,
    ticks: 6.0,
};
const NARROW: Size = Size {
    class: "narrow",
    width: 340.0,
    height: 270.0,
    ticks: 4.0,
};
const LEFT: f64 = 52.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 28.0;
const BOTTOM: f64 = 46.0;
const TICKS_UP: f64 = 5.0;
/// Margin above the longest time, as a factor.
const ROOM: f64 = 1.04;
const SHOWN: usize = 8;
