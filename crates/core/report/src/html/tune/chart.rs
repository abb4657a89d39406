//! Time over the setting at one distance: one line per method, both axes logarithmic.

use super::{place_words, words};
use crate::html::markup::{count, px};
use crate::html::scale::{axis_title, nanos, tick_text};
use crate::outcome::TuneReport;
use maud::{Markup, html};
use model::{Job, Method, TrialSource, Tuned};

#[derive(Debug, Clone, Copy)]
pub struct LogAxis {
    range: [f64; 2],
    places: [f64; 2],
}

impl LogAxis {
    /// Adds a margin around the amounts, so that each end has a tick.
    pub fn over(amounts: impl Iterator<Item = f64>, places: [f64; 2]) -> Self {
        let logs = amounts.flat_map(around).map(|amount| amount.max(1.0).log10());
        let (least, most) = logs.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), log| {
            (least.min(log), most.max(log))
        });
        let (least, most) = match least.is_finite() {
            true => (least, most),
            false => (0.0, 1.0),
        };
        // A margin, which also keeps the axis from having no length.
        let room = ((most - least) * 0.06).max(0.05);
        Self {
            range: [least - room, most + room],
            places,
        }
    }

    pub fn position(&self, amount: f64) -> f64 {
        let [least, most] = self.range;
        let [from, to] = self.places;
        from + (to - from) * (amount.max(1.0).log10() - least) / (most - least)
    }

    /// 1, 2 and 5 times the powers of ten, or the powers alone if these suffice.
    pub fn ticks(&self, wanted: usize) -> Vec<f64> {
        let [least, most] = self.range;
        let steps: &[f64] = match most - least {
            span if span * 3.0 <= wanted as f64 => &[1.0, 2.0, 5.0],
            _ => &[1.0],
        };
        let powers = (least.floor() as i32)..=(most.ceil() as i32);
        let all = powers.flat_map(|power| steps.iter().map(move |step| step * 10_f64.powi(power)));
        all.filter(|tick| (least..=most).contains(&tick.log10()))
            .collect()
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

pub fn draw(report: &TuneReport, job: Job, link: Option<&str>) -> Markup {
    let methods: Vec<(&Method, Vec<&Tuned>)> = report
        .methods
        .iter()
        .filter(|method| method.job == job)
        .map(|method| (method, report.of_method(method, link)))
        .filter(|(_, tuned)| !tuned.is_empty())
        .collect();
    let all = || methods.iter().flat_map(|(_, tuned)| tuned.iter());
    let values = all().filter_map(|tuned| tuned.value).map(|value| value as f64);
    let x = LogAxis::over(values, [LEFT, WIDTH - RIGHT]);
    let y = LogAxis::over(all().map(|tuned| nanos(tuned.median())), [HEIGHT - BOTTOM, TOP]);
    let place = place_words(link);
    let label = format!("time of {job} over the setting, {place}");
    html! {
        figure.map tabindex="0" {
            figcaption.small { (place) }
            svg.tuned viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" aria-label=(label) {
                (axes(&x, &y, &setting_title(&methods)))
                @for (number, (method, tuned)) in methods.iter().enumerate() {
                    g class={ "ink" (number % INKS) } {
                        @if method.parameter.is_some() { (line(report, tuned, &x, &y)) }
                        @else { (dashes(tuned, &x, &y)) }
                    }
                }
                @for label in labels(&methods, &y) {
                    text class={ "side name" (label.ink) } x=(px(WIDTH - RIGHT + 8.0)) y=(px(label.up)) {
                        (label.name)
                    }
                }
                (ring(report, job, link, &x, &y))
            }
        }
    }
}

/// The setting with the units of the methods.
fn setting_title(methods: &[(&Method, Vec<&Tuned>)]) -> String {
    let parameters = methods.iter().filter_map(|(method, _)| method.parameter.as_ref());
    let mut units: Vec<&str> = parameters.map(|parameter| parameter.unit.name()).collect();
    units.sort_unstable();
    units.dedup();
    match units.is_empty() {
        true => "no method has a setting".to_owned(),
        false => format!("setting ({})", units.join(", ")),
    }
}

fn axes(x: &LogAxis, y: &LogAxis, setting: &str) -> Markup {
    let [left, right] = x.places;
    let upwards = y.ticks(9);
    html! {
        text.axis.side x="0" y="10" { (axis_title("time of the whole job", &upwards)) }
        text.axis.side x=(px(left)) y=(px(HEIGHT - BOTTOM + 38.0)) { (setting) }
        @for tick in &upwards {
            @let up = px(y.position(*tick));
            line.rule x1=(px(left)) x2=(px(right)) y1=(up) y2=(up) {}
            text.end x=(px(left - 8.0)) y=(up) { (tick_text(*tick)) }
        }
        @for tick in x.ticks(4) {
            text x=(px(x.position(tick))) y=(px(HEIGHT - BOTTOM + 16.0)) { (count(tick as u64)) }
        }
    }
}

/// A method without a setting.
fn dashes(tuned: &[&Tuned], x: &LogAxis, y: &LogAxis) -> Markup {
    let [left, right] = x.places.map(px);
    html! {
        @if let Some(last) = tuned.last() {
            @let up = px(y.position(nanos(last.median())));
            line.dash x1=(left) x2=(right) y1=(up) y2=(up) { title { (words(last, None)) } }
        }
    }
}

fn line(report: &TuneReport, tuned: &[&Tuned], x: &LogAxis, y: &LogAxis) -> Markup {
    let along = |tuned: &Tuned| x.position(tuned.value.unwrap_or(1) as f64);
    let up = |tuned: &Tuned| y.position(nanos(tuned.median()));
    let path: Vec<String> = tuned
        .iter()
        .map(|tuned| format!("{:.1} {:.1}", along(tuned), up(tuned)))
        .collect();
    html! {
        path.line d={ "M" (path.join("L")) } {}
        @for tuned in tuned {
            @let class = if tuned.source == TrialSource::Predicted { "open" } else { "dot" };
            @let setting = report.setting(tuned.job, &tuned.method, tuned.value);
            circle class=(class) cx=(px(along(tuned))) cy=(px(up(tuned))) r="3.5" {
                title { (words(tuned, setting)) }
            }
        }
    }
}

struct Label<'a> {
    ink: usize,
    name: &'a str,
    up: f64,
}

/// The names of the lines at their ends, moved apart where they would overlap.
fn labels<'a>(methods: &[(&'a Method, Vec<&Tuned>)], y: &LogAxis) -> Vec<Label<'a>> {
    let mut labels: Vec<Label<'_>> = methods
        .iter()
        .enumerate()
        .filter_map(|(number, (method, tuned))| {
            Some(Label {
                ink: number % INKS,
                name: &method.name,
                up: y.position(nanos(tuned.last()?.median())),
            })
        })
        .collect();
    labels.sort_by(|one, other| one.up.total_cmp(&other.up));
    let mut free = TOP;
    let below: f64 = labels.len() as f64 * LINE_HEIGHT;
    for (number, label) in labels.iter_mut().enumerate() {
        let rest = below - number as f64 * LINE_HEIGHT;
        label.up = label.up.max(free).min(HEIGHT - BOTTOM + LINE_HEIGHT - rest);
        free = label.up + LINE_HEIGHT;
    }
    labels
}

fn ring(report: &TuneReport, job: Job, link: Option<&str>, x: &LogAxis, y: &LogAxis) -> Markup {
    let [left, right] = x.places;
    html! {
        @if let Some(one) = report.recommended(job, link) {
            @let along = one.value.map_or(f64::midpoint(left, right), |value| x.position(value as f64));
            circle.ring cx=(px(along)) cy=(px(y.position(nanos(one.duration)))) r="8" {}
        }
    }
}

const INKS: usize = 6;
const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 366.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 190.0;
const TOP: f64 = 28.0;
const BOTTOM: f64 = 48.0;
const LINE_HEIGHT: f64 = 16.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_of_one_amount_has_a_tick_at_each_end() {
        assert_eq!(around(3e6), [2e6, 5e6]);
        assert_eq!(around(1e6), [1e6, 1e6]);
        assert_eq!(LogAxis::over([3e6].into_iter(), [0.0, 1.0]).ticks(9), [2e6, 5e6]);
    }
}
