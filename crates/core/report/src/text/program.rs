//! The view of tuning a program.

use super::paragraph::{paragraph, wrapped};
use super::screen::Screen;
use super::style::{Ink, Style};
use super::table::Table;
use super::{DASH, counted, duration_or_dash, escape::printable};
use crate::outcome::ProgramReport;
use model::{ByteCount, ProgramBest, ProgramRun, ProgramTuned, format_duration};
use std::sync::Arc;
use std::time::Duration;

impl ProgramReport {
    /// Runs with an exit status other than 0.
    pub fn failed(&self) -> u64 {
        self.tuned.iter().map(|tuned| u64::from(tuned.failed)).sum()
    }

    fn links(&self) -> Vec<Option<Arc<str>>> {
        let mut links: Vec<Option<Arc<str>>> = Vec::new();
        for tuned in &self.tuned {
            if !links.contains(&tuned.link) {
                links.push(tuned.link.clone());
            }
        }
        links
    }
}

/// The best settings, then a table per distance.
pub fn program_view(report: &ProgramReport, style: &Style) -> String {
    let mut screen = Screen::new(style);
    screen.put(&best(report, style));
    let heading = format!(
        "{} on {}: {} of each setting",
        report.program,
        report.server,
        counted(report.rounds.into(), "run")
    );
    screen.put(&format!("\n{}", wrapped(&heading, "", Ink::Heading, style)));
    let links = report.links();
    let after: Vec<String> = report
        .unchanged
        .iter()
        .map(|names| unchanged(names, style))
        .collect();
    let closing = after.iter().map(|text| text.lines().count()).sum::<usize>();
    let closing = closing + screen.lines_of_warnings(&report.warnings);
    for (index, link) in links.iter().enumerate() {
        let share = screen.left().saturating_sub(closing) / (links.len() - index);
        screen.keep(screen.left().saturating_sub(share));
        distance(report, link.as_ref(), &mut screen);
        screen.keep(0);
    }
    after.iter().for_each(|text| screen.put(text));
    screen.warnings(&report.warnings);
    screen.add_note(MEDIANS);
    screen.add_note("trips to memory: of the run of the median time");
    screen.finish("")
}

fn unchanged(settings: &[Arc<str>], style: &Style) -> String {
    let names = settings.join(", ");
    let text = format!(
        "{names}: the setting changed nothing on the wire: the same round trips, the same bytes both ways"
    );
    wrapped(&text, "", Ink::Warning, style)
}

fn distance(report: &ProgramReport, link: Option<&Arc<str>>, screen: &mut Screen<'_>) {
    let place = link.map_or_else(|| "as it is here".to_owned(), |link| format!("over {link}"));
    let mut table = Table::new([
        &*place,
        "time",
        "low",
        "high",
        "connected",
        "trips",
        "packets",
        "mean packet",
        "bytes",
        "memory",
        "failed",
    ]);
    for tuned in report.tuned.iter().filter(|tuned| tuned.link.as_ref() == link) {
        table.row(cells(tuned));
    }
    screen.table("every distance", "\n", &table, "");
}

fn cells(tuned: &ProgramTuned) -> [String; 11] {
    let typical = tuned.typical.as_ref();
    let told = |tell: &dyn Fn(&ProgramRun) -> Option<String>| {
        typical.and_then(tell).unwrap_or_else(|| DASH.to_owned())
    };
    [
        tuned.setting.to_string(),
        duration_or_dash(tuned.spread.p50),
        duration_or_dash(tuned.spread.min),
        duration_or_dash(tuned.spread.max),
        duration_or_dash(tuned.connected.p50),
        told(&|run| Some(run.turns.to_string())),
        told(&|run| run.packets.map(|packets| packets.iter().sum::<u64>().to_string())),
        told(&|run| run.mean_packet().map(|size| size.to_string())),
        told(&|run| Some(ByteCount::from_bytes(run.payload_bytes.iter().sum()).to_string())),
        told(&|run| run.client_memory.map(|memory| memory.to_string())),
        match tuned.failed {
            0 => DASH.to_owned(),
            failed => failed.to_string(),
        },
    ]
}

fn best(report: &ProgramReport, style: &Style) -> String {
    if report.best.is_empty() {
        return wrapped(NO_RUN, "", Ink::Warning, style);
    }
    let mut out = String::new();
    for best in &report.best {
        let place = best.link.as_deref().unwrap_or("as it is here");
        let text = format!("best, {place}: {}", best.setting);
        paragraph(&text, "", Ink::Heading, style, &mut out);
        paragraph(&stake(best), "  ", Ink::Plain, style, &mut out);
    }
    out
}

/// Cost of the other settings, if it can be determined.
fn stake(best: &ProgramBest) -> String {
    if best.worst <= best.best + best.best / 20 {
        return format!(
            "{}; all settings are within 5 % of each other: it makes no difference",
            format_duration(best.duration)
        );
    }
    let took = format!(
        "{}; {} took {}, {} times as long",
        format_duration(best.duration),
        printable(&best.worst_setting),
        format_duration(best.worst),
        times(best.worst, best.duration)
    );
    match best.told_apart {
        true => took,
        false => format!(
            "{took}; but single runs of both took equally long: the difference may be chance, use --rounds to find out"
        ),
    }
}

fn times(longer: Duration, shorter: Duration) -> String {
    let ratio = longer.as_secs_f64() / shorter.as_secs_f64().max(1e-9);
    match ratio {
        ratio if ratio < 10.0 => format!("{ratio:.2}"),
        ratio => format!("{ratio:.0}"),
    }
}

const NO_RUN: &str = "no run ended with status 0: nothing can be said";
const MEDIANS: &str = "time, connected: medians, of the whole program and of first to last byte on its connections; low, high: of time";
