//! The page of `tune`: for each job the recommendation, a chart of time over settings per distance,
//! and the table.

mod chart;

pub use chart::LogAxis;

use super::markup::{DASH, count, counted, time};
use super::old;
use super::old::{Escaped, small_print};
use crate::outcome::TuneReport;
use crate::text::{NO_DIFFERENCE, factor};
use model::{ByteCount, Conditions, Job, PerDirection, Recommendation, TrialSource, Tuned, format_duration};
use std::fmt::Write;
use std::io;

pub fn write_tune(report: &TuneReport, conditions: &Conditions, out: &mut impl io::Write) -> io::Result<()> {
    let mut html = String::with_capacity(1 << 16);
    let title = format!("Bulk work on {}", report.server);
    old::head(&title, &lead(report), &mut html);
    old::warnings(&report.warnings, &mut html);
    for job in Job::ALL {
        if report.tuned.iter().any(|tuned| tuned.job == job) {
            section(report, job, &mut html);
        }
    }
    old::end(html, &[], conditions, out)
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

fn section(report: &TuneReport, job: Job, out: &mut String) {
    let _ = write!(
        out,
        "<section aria-labelledby=\"h-{job}\">\n<h2 id=\"h-{job}\">{}</h2>\n",
        Escaped(&capitalised(&report.work(job)))
    );
    for one in report.recommendations.iter().filter(|one| one.job == job) {
        recommended(report, one, out);
    }
    for place in report.places(job) {
        chart::draw(report, job, place, out);
    }
    small_print(
        "Both axes are logarithmic; the setting is in each method's own unit. A dashed line is a method that has nothing to set. Full dots were \
         run, open ones are predicted from the run here. The ring marks the recommended setting: the smallest that is surely within 5 % \
         of the best.",
        out,
    );
    table(report, job, out);
    out.push_str("</section>\n");
}

fn recommended(report: &TuneReport, one: &Recommendation, out: &mut String) {
    let setting = report
        .setting(one.job, &one.method, one.value)
        .map_or_else(String::new, |setting| format!(", {setting}"));
    let stake = match one.worst_method == one.method || one.ratio() < NO_DIFFERENCE {
        true => String::new(),
        false => format!(
            "; {} takes {} times as long",
            Escaped(&one.worst_method),
            factor(one.ratio())
        ),
    };
    let spelling = match one.spelling == *one.method {
        true => String::new(),
        false => format!(" <code>{}</code>", Escaped(&one.spelling)),
    };
    let others = report
        .as_good(one)
        .map_or_else(String::new, |others| format!(" As good: {}.", Escaped(&others)));
    let _ = writeln!(
        out,
        "<p><b>{}: {}{setting}</b>, {}{stake}.{spelling}{others}</p>",
        Escaped(&place_words(one.link.as_deref())),
        Escaped(&one.method),
        time(one.duration),
    );
}

fn table(report: &TuneReport, job: Job, out: &mut String) {
    out.push_str("<table class=\"stack\">\n<thead><tr><th scope=\"col\">way</th>");
    for heading in HEADINGS {
        let _ = write!(out, "<th scope=\"col\" class=\"n\">{heading}</th>");
    }
    out.push_str("</tr></thead>\n");
    for place in report.places(job) {
        let _ = write!(
            out,
            "<tbody>\n<tr><th scope=\"rowgroup\" colspan=\"{}\" class=\"faint\">{}</th></tr>\n",
            HEADINGS.len() + 1,
            Escaped(&place_words(place))
        );
        for method in report.methods.iter().filter(|method| method.job == job) {
            if let Some(tuned) = report.shown(method, place) {
                row(report, tuned, out);
            }
        }
        out.push_str("</tbody>\n");
    }
    out.push_str("</table>\n");
    small_print(
        "The best setting of each method, or the recommended one. Times are medians; round trips, packets and bytes are of one run, both \
         directions. Memory is the growth during a run, of the client and of the server process of its connection.",
        out,
    );
}

fn row(report: &TuneReport, tuned: &Tuned, out: &mut String) {
    let typical = &tuned.typical;
    let sum = |each: Option<PerDirection<u64>>| each.map(|each| each.iter().sum::<u64>());
    let number = |number: Option<u64>| number.map_or_else(|| DASH.to_owned(), count);
    let bytes = |bytes: Option<ByteCount>| bytes.map_or_else(|| DASH.to_owned(), |bytes| bytes.to_string());
    let recommended = report.recommended(tuned.job, tuned.link.as_deref());
    let is_chosen = recommended.is_some_and(|one| one.method == tuned.method && one.value == tuned.value);
    let name = format!("{}", Escaped(&tuned.method));
    let name = match is_chosen {
        true => format!("<b>{name}</b> <span class=\"kind\">recommended</span>"),
        false if report.is_within_reach(tuned) => {
            format!("{name} <span class=\"kind\">within 5 % of the best</span>")
        }
        false => name,
    };
    let best = recommended.map(|one| one.best.as_secs_f64().max(1e-9));
    let cells = [
        report
            .setting(tuned.job, &tuned.method, tuned.value)
            .unwrap_or_else(|| DASH.to_owned()),
        format!("{}{}", time(tuned.median()), source_words(tuned.source)),
        best.map_or_else(
            || DASH.to_owned(),
            |best| factor(tuned.median().as_secs_f64() / best),
        ),
        number(typical.turns),
        number(sum(typical.packets)),
        bytes(typical.mean_packet()),
        bytes(sum(typical.payload_bytes).map(ByteCount::from_bytes)),
        bytes(typical.client_memory),
        bytes(typical.server_memory),
    ];
    let _ = write!(out, "<tr><th scope=\"row\">{name}</th>");
    for (heading, cell) in HEADINGS.iter().zip(cells) {
        let _ = write!(out, "<td class=\"n\" data-label=\"{heading}\">{cell}</td>");
    }
    out.push_str("</tr>\n");
}

const fn source_words(source: TrialSource) -> &'static str {
    match source {
        TrialSource::Measured | TrialSource::Emulated => "",
        TrialSource::Predicted => "<small>predicted</small>",
    }
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
