//! Time over the setting at one distance: one line per method, both axes logarithmic.

use super::{Escaped, place_words, words};
use crate::html::scale::{nanos, tick_text};
use crate::outcome::TuneReport;
use model::{Job, Method, TrialSource, Tuned};
use std::fmt::Write;

#[derive(Debug, Clone, Copy)]
pub struct LogAxis {
    range: [f64; 2],
    places: [f64; 2],
}

impl LogAxis {
    /// Adds a margin around the amounts.
    pub fn over(amounts: impl Iterator<Item = f64>, places: [f64; 2]) -> Self {
        let logs = amounts.map(|amount| amount.max(1.0).log10());
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

pub fn draw(report: &TuneReport, job: Job, link: Option<&str>, out: &mut String) {
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
    let _ = write!(
        out,
        "<figure class=\"map\" tabindex=\"0\"><figcaption class=\"small\">{}</figcaption>\n<svg class=\"tuned\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" \
         aria-label=\"time of {job} over the setting, {}\">\n",
        Escaped(&place),
        Escaped(&place)
    );
    axes(&x, &y, out);
    let mut labels = Vec::new();
    for (number, (method, tuned)) in methods.iter().enumerate() {
        labels.extend(line(report, method, tuned, [&x, &y], number % INKS, out));
    }
    names(labels, out);
    ring(report, job, link, [&x, &y], out);
    out.push_str("</svg></figure>\n");
}

fn axes(x: &LogAxis, y: &LogAxis, out: &mut String) {
    let [left, right] = x.places;
    for tick in y.ticks(9) {
        let up = y.position(tick);
        let _ = writeln!(
            out,
            "<line class=\"rule\" x1=\"{left:.1}\" x2=\"{right:.1}\" y1=\"{up:.1}\" y2=\"{up:.1}\"/>\
             <text x=\"{:.1}\" y=\"{up:.1}\" class=\"end\">{}</text>",
            left - 8.0,
            tick_text(tick)
        );
    }
    for tick in x.ticks(4) {
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            x.position(tick),
            HEIGHT - BOTTOM + 16.0,
            crate::html::markup::count(tick as u64)
        );
    }
}

/// Draws the line of a method and returns its label.
fn line(
    report: &TuneReport,
    method: &Method,
    tuned: &[&Tuned],
    [x, y]: [&LogAxis; 2],
    ink: usize,
    out: &mut String,
) -> Option<Label> {
    let [left, right] = x.places;
    let last = tuned.last()?;
    let label = Label {
        ink,
        name: method.name.to_string(),
        up: y.position(nanos(last.median())),
    };
    let _ = write!(out, "<g class=\"ink{ink}\">");
    if method.parameter.is_none() {
        let up = label.up;
        let _ = write!(
            out,
            "<line class=\"dash\" x1=\"{left:.1}\" x2=\"{right:.1}\" y1=\"{up:.1}\" y2=\"{up:.1}\"><title>{}</title></line>",
            Escaped(&words(last, None))
        );
    } else {
        let place = |tuned: &Tuned| {
            let value = tuned.value.unwrap_or(1) as f64;
            [x.position(value), y.position(nanos(tuned.median()))]
        };
        let path: Vec<String> = tuned
            .iter()
            .map(|tuned| {
                let [along, up] = place(tuned);
                format!("{along:.1} {up:.1}")
            })
            .collect();
        let _ = write!(out, "<path class=\"line\" d=\"M{}\"/>", path.join("L"));
        for tuned in tuned {
            let [along, up] = place(tuned);
            let class = match tuned.source {
                TrialSource::Predicted => "open",
                TrialSource::Measured | TrialSource::Emulated => "dot",
            };
            let setting = report.setting(tuned.job, &tuned.method, tuned.value);
            let _ = write!(
                out,
                "<circle class=\"{class}\" cx=\"{along:.1}\" cy=\"{up:.1}\" r=\"3.5\"><title>{}</title></circle>",
                Escaped(&words(tuned, setting))
            );
        }
    }
    out.push_str("</g>\n");
    Some(label)
}

struct Label {
    ink: usize,
    name: String,
    up: f64,
}

/// Moves labels apart where they would overlap.
fn names(mut labels: Vec<Label>, out: &mut String) {
    labels.sort_by(|one, other| one.up.total_cmp(&other.up));
    let mut free = TOP;
    let below: f64 = labels.len() as f64 * LINE_HEIGHT;
    for (number, label) in labels.iter().enumerate() {
        let rest = below - number as f64 * LINE_HEIGHT;
        let up = label.up.max(free).min(HEIGHT - BOTTOM + LINE_HEIGHT - rest);
        free = up + LINE_HEIGHT;
        let _ = writeln!(
            out,
            "<text class=\"side name{}\" x=\"{:.1}\" y=\"{up:.1}\">{}</text>",
            label.ink,
            WIDTH - RIGHT + 8.0,
            Escaped(&label.name)
        );
    }
}

fn ring(report: &TuneReport, job: Job, link: Option<&str>, [x, y]: [&LogAxis; 2], out: &mut String) {
    let Some(one) = report.recommended(job, link) else {
        return;
    };
    let [left, right] = x.places;
    let along = one
        .value
        .map_or(f64::midpoint(left, right), |value| x.position(value as f64));
    let _ = writeln!(
        out,
        "<circle class=\"ring\" cx=\"{along:.1}\" cy=\"{:.1}\" r=\"8\"/>",
        y.position(nanos(one.duration))
    );
}

const INKS: usize = 6;
const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 340.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 190.0;
const TOP: f64 = 16.0;
const BOTTOM: f64 = 34.0;
const LINE_HEIGHT: f64 = 16.0;
