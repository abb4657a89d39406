//! The page of `tune`: for each job the recommendation, a chart of time over settings per distance,
//! and the table.

mod chart;

pub use chart::LogAxis;

use super::markup::{DASH, cell, count, counted, section, small_print, table_head, time};
use super::{header, notes};
use crate::outcome::TuneReport;
use crate::text::{NO_DIFFERENCE, factor};
use maud::{Markup, Render, html};
use model::{ByteCount, Conditions, Job, PerDirection, Recommendation, TrialSource, Tuned, format_duration};
use std::io;

pub fn write_tune(report: &TuneReport, conditions: &Conditions, out: &mut impl io::Write) -> io::Result<()> {
    let jobs = Job::ALL.into_iter();
    let jobs = jobs.filter(|job| report.tuned.iter().any(|tuned| tuned.job == *job));
    let mut sections = vec![notes::warnings(&report.warnings)];
    sections.extend(jobs.map(|job| job_section(report, job)));
    sections.push(notes::conditions_of_run(conditions));
    let title = format!("Bulk work on {}", report.server);
    let lead = html! { p.lead { (lead(report)) } };
    header::write(out, &title, lead, sections, None)
}

fn lead(report: &TuneReport) -> String {
    let product = report
        .product
        .as_deref()
        .map_or_else(String::new, |product| format!("{product}. "));
    format!(
        "{product}{}; a full sweep would have taken {}. Scratch schema {}{}.",
        counted(report.runs.taken, "run"),
        count(report.runs.full_sweep),
        report.scratch,
        if report.is_removed {
            ", removed"
        } else {
            " is still there"
        },
    )
}

fn job_section(report: &TuneReport, job: Job) -> Markup {
    let content = html! {
        @for one in report.recommendations.iter().filter(|one| one.job == job) {
            (recommended(report, one))
        }
        @for place in report.places(job) { (chart::draw(report, job, place)) }
        (small_print(
            "Both axes are logarithmic; the setting is in each method's own unit. A dashed line is a method that has \
             nothing to set. Full dots were run, open ones are predicted from the run here. The ring marks the \
             recommended setting: the smallest that is surely within 5 % of the best."
        ))
        (table(report, job))
    };
    section(&job.to_string(), &capitalised(&report.work(job)), content)
}

fn recommended(report: &TuneReport, one: &Recommendation) -> Markup {
    html! {
        p {
            b {
                (place_words(one.link.as_deref())) ": " (one.method)
                @if let Some(setting) = report.setting(one.job, &one.method, one.value) { ", " (setting) }
            }
            ", " (time(one.duration))
            @if one.worst_method != one.method && one.ratio() >= NO_DIFFERENCE {
                "; " (one.worst_method) " takes " (factor(one.ratio())) " times as long"
            }
            "."
            @if one.spelling != *one.method { " " code { (one.spelling) } }
            @if let Some(others) = report.as_good(one) { " As good: " (others) "." }
        }
    }
}

fn table(report: &TuneReport, job: Job) -> Markup {
    html! {
        table.stack {
            (table_head("way", HEADINGS))
            @for place in report.places(job) {
                tbody {
                    tr {
                        th.faint scope="rowgroup" colspan=(HEADINGS.len() + 1) { (place_words(place)) }
                    }
                    @for method in report.methods.iter().filter(|method| method.job == job) {
                        @if let Some(tuned) = report.shown(method, place) { (row(report, tuned)) }
                    }
                }
            }
        }
        (small_print(
            "The best setting of each method, or the recommended one. Times are medians; round trips, packets and \
             bytes are of one run, both directions. Memory is the growth during a run, of the client and of the \
             server process of its connection."
        ))
    }
}

fn row(report: &TuneReport, tuned: &Tuned) -> Markup {
    let recommended = report.recommended(tuned.job, tuned.link.as_deref());
    let is_chosen = recommended.is_some_and(|one| one.method == tuned.method && one.value == tuned.value);
    html! {
        tr {
            th scope="row" {
                @if is_chosen {
                    b { (tuned.method) } " " span.kind { "recommended" }
                } @else {
                    (tuned.method)
                    @if report.is_within_reach(tuned) { " " span.kind { "within 5 % of the best" } }
                }
            }
            @for (heading, figure) in HEADINGS.iter().zip(figures(report, tuned)) { (cell(heading, figure)) }
        }
    }
}

/// Of [`HEADINGS`].
fn figures(report: &TuneReport, tuned: &Tuned) -> [Markup; 9] {
    let typical = &tuned.typical;
    let sum = |each: Option<PerDirection<u64>>| each.map(|each| each.iter().sum::<u64>());
    let or_dash = |text: Option<String>| text.as_deref().unwrap_or(DASH).render();
    let number = |number: Option<u64>| or_dash(number.map(count));
    let bytes = |bytes: Option<ByteCount>| or_dash(bytes.map(|bytes| bytes.to_string()));
    let recommended = report.recommended(tuned.job, tuned.link.as_deref());
    let best = recommended.map(|one| one.best.as_secs_f64().max(1e-9));
    [
        or_dash(report.setting(tuned.job, &tuned.method, tuned.value)),
        html! {
            (time(tuned.median()))
            @if tuned.source == TrialSource::Predicted { small { "predicted" } }
        },
        or_dash(best.map(|best| factor(tuned.median().as_secs_f64() / best))),
        number(typical.turns),
        number(sum(typical.packets)),
        bytes(typical.mean_packet()),
        bytes(sum(typical.payload_bytes).map(ByteCount::from_bytes)),
        bytes(typical.client_memory),
        bytes(typical.server_memory),
    ]
}

fn place_words(link: Option<&str>) -> String {
    link.map_or_else(|| "here".to_owned(), |link| format!("over {link}"))
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters
        .next()
        .map(|first| first.to_uppercase().chain(letters).collect())
        .unwrap_or_default()
}

fn words(tuned: &Tuned, setting: Option<String>) -> String {
    let setting = setting.map_or_else(String::new, |setting| format!(", {setting}"));
    format!(
        "{}{setting}: {}, {}, {}",
        tuned.method,
        format_duration(tuned.median()),
        tuned.source.name(),
        match tuned.typical.turns {
            Some(turns) => counted(turns, "round trip"),
            None => "round trips not counted".to_owned(),
        }
    )
}

const HEADINGS: [&str; 9] = [
    "setting",
    "time",
    "times the best",
    "trips",
    "packets",
    "mean packet",
    "payload",
    "client memory",
    "server memory",
];
