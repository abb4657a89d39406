//! Two runs in one screen: the largest change, both runs, and their operations in pairs of lines.

use super::counted;
use super::escape::{cut, cut_front, printable};
use super::paragraph::paragraph;
use super::prediction::number;
use super::read::{share, summary_line, warnings};
use super::screen::LINES;
use super::style::{Ink, Style};
use super::table::Table;
use super::{DASH, duration_or_dash};
use crate::outcome::ComparisonReport;
use model::{ComparedOperation, OperationGroup, format_duration};
use std::time::Duration;

pub fn comparison_view(report: &ComparisonReport, style: &Style) -> String {
    let mut out = String::new();
    paragraph(&answer(report), "", Ink::Heading, style, &mut out);
    out.push('\n');
    for (run, word) in RUNS.into_iter().enumerate() {
        let place = cut_front(&printable(&report.titles[run]), MAX_PLACE_LEN).into_owned();
        let rtt = duration_or_dash(report.rtts[run]);
        let text = format!(
            "{word}: {place}, round-trip time {rtt}; {}",
            summary_line(&report.summaries[run]).trim_end()
        );
        paragraph(&text, "", Ink::Faint, style, &mut out);
    }
    let mut notes = String::new();
    paragraph(NOTE, "", Ink::Faint, style, &mut notes);
    let used = out.lines().count() + notes.lines().count() + TABLE_LINES;
    let mut left = LINES.saturating_sub(used);
    let room = match report.warnings.is_empty() {
        true => left,
        false => left.saturating_sub(WARNING_LINES),
    };
    let shown = style.rows((room / 2).max(1)).min(report.operations.len());
    left = left.saturating_sub(2 * shown);
    let warned = warnings(&report.warnings, &mut left, style);
    if shown > 0 {
        out.push('\n');
        table(&report.operations[..shown]).render(style, &mut out);
        let others = report.operations.len() - shown;
        if others > 0 {
            paragraph(
                &format!("and {others} more: --all lists all"),
                "  ",
                Ink::Faint,
                style,
                &mut out,
            );
        }
        out += &notes;
    }
    out + &warned
}

/// The largest change beyond the scatter, and how many names changed.
pub(crate) fn answer(report: &ComparisonReport) -> String {
    let all = &report.operations;
    let with = |change: Change| all.iter().filter(move |pair| Change::from_pair(pair) == change);
    let counts: Vec<String> = Change::ALL
        .into_iter()
        .map(|change| (with(change).count(), change))
        .filter(|(count, _)| *count > 0)
        .map(|(count, change)| format!("{count} {}", change.words()))
        .collect();
    let names = format!(
        "Of {} of operations: {}.",
        counted(all.len() as u64, "name"),
        counts.join(", ")
    );
    let first = with(Change::Beyond).next().and_then(sentence);
    let is_judged = first.is_some() || with(Change::Within).next().is_some();
    match first {
        _ if all.is_empty() => "No operation was seen in either run.".to_owned(),
        Some(first) => format!("{first} {names}"),
        None if is_judged => format!("No operation changed beyond the scatter of the runs. {names}"),
        None if with(Change::Unknown).next().is_some() => {
            format!(
                "Too few operations to tell a change from scatter: 6 of a name in each run are needed. {names}"
            )
        }
        None => format!("The runs have no operation of the same name. {names}"),
    }
}

fn sentence(pair: &ComparedOperation) -> Option<String> {
    let [before, now] = pair.medians()?;
    Some(format!(
        "{} takes {} instead of {} (medians), for {}.",
        cut(&pair.name, MAX_NAME_LEN),
        format_duration(now),
        format_duration(before),
        turns_words(pair)?,
    ))
}

fn turns_words(pair: &ComparedOperation) -> Option<String> {
    let [before, now] = pair.groups.each_ref().map(|group| group.as_ref().map(turns));
    let (before, now) = (before?, now?);
    Some(match (before == now, now.as_str()) {
        (true, "1") => "1 round trip each".to_owned(),
        (true, _) => format!("{now} round trips each"),
        (false, _) => format!("{now} instead of {before} round trips"),
    })
}

/// The evidence for a change of one name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    Beyond,
    Within,
    Unknown,
    OnlyBefore,
    OnlyNow,
}

impl Change {
    const ALL: [Self; 5] = [
        Self::Beyond,
        Self::Within,
        Self::Unknown,
        Self::OnlyBefore,
        Self::OnlyNow,
    ];

    fn from_pair(pair: &ComparedOperation) -> Self {
        match (&pair.groups, pair.is_beyond_scatter()) {
            ([None, _], _) => Self::OnlyNow,
            ([_, None], _) => Self::OnlyBefore,
            (_, Some(true)) => Self::Beyond,
            (_, Some(false)) => Self::Within,
            (_, None) => Self::Unknown,
        }
    }

    const fn words(self) -> &'static str {
        match self {
            Self::Beyond => "changed beyond scatter",
            Self::Within => "within scatter",
            Self::Unknown => "with too few to tell",
            Self::OnlyBefore => "only before",
            Self::OnlyNow => "only now",
        }
    }
}

/// A change beyond scatter as a factor, any other as the reason for none.
pub(crate) fn change_words(pair: &ComparedOperation) -> String {
    let change = Change::from_pair(pair);
    match pair.medians().filter(|_| change == Change::Beyond) {
        Some(medians) => factor(medians),
        None => change.words().to_owned(),
    }
}

fn factor([before, now]: [Duration; 2]) -> String {
    let times = now.as_secs_f64() / before.as_secs_f64().max(1e-9);
    match times {
        0.0..0.01 => format!("{:.2} % shorter", 100.0 * (1.0 - times)),
        0.01..1.0 => format!("{:.0} % shorter", 100.0 * (1.0 - times)),
        1.0..2.0 => format!("{:.0} % longer", 100.0 * (times - 1.0)),
        _ => format!("{} times as long", number(times)),
    }
}

fn table(pairs: &[ComparedOperation]) -> Table {
    let mut table = Table::new([
        "operations by change",
        "run",
        "count",
        "median",
        "95 % range",
        "trips",
        "network",
    ]);
    for pair in pairs {
        let change = format!("  {}", change_words(pair));
        for (first, (word, group)) in [pair.name.to_string(), change]
            .into_iter()
            .zip(RUNS.into_iter().zip(&pair.groups))
        {
            table.row([vec![first, word.to_owned()], cells(group.as_ref())].concat());
        }
    }
    table
}

fn cells(group: Option<&OperationGroup>) -> Vec<String> {
    let Some(group) = group else {
        return vec!["0".to_owned()];
    };
    vec![
        group.count.to_string(),
        duration_or_dash(group.spread.p50),
        group.median_range.map_or_else(|| DASH.to_owned(), range_words),
        turns(group),
        share(group.attribution.network(), group.attribution.total()),
    ]
}

pub(crate) fn range_words(range: [Duration; 2]) -> String {
    crate::ranges::between(range.map(format_duration))
}

fn turns(group: &OperationGroup) -> String {
    match group.turns.checked_rem(group.count) {
        Some(0) => (group.turns / group.count).to_string(),
        _ => number(group.turns as f64 / group.count.max(1) as f64),
    }
}

pub(crate) const RUNS: [&str; 2] = ["before", "now"];
/// Below the table, and on the page.
pub(crate) const NOTE: &str = "Beyond scatter: the 95 % ranges of the two medians are apart. They show the scatter \
                               inside each run, not that from one run to the next.";
const MAX_NAME_LEN: usize = 50;
const MAX_PLACE_LEN: usize = 40;
/// An empty line, the heading, and the line that counts the others.
const TABLE_LINES: usize = 3;
/// One warning, an empty line, and the count of the others.
const WARNING_LINES: usize = 5;
