//! The table of a tab: columns and rows, filtered and sorted. Drawing decides which columns fit.

use crate::Tab;
use crate::baseline::{Baseline, change, seconds};
use crate::figures::{Figures, Parts, Sources};
use model::{ByteCount, Finding, HeldPrediction, HeldTransactions, HostProcess, PerSide, format_duration};
use report::text::escape::printable;
use std::sync::Arc;
use std::time::Duration;

#[derive(Debug)]
pub(crate) struct Table {
    /// The first column has the names.
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Row>,
}

#[derive(Debug, Clone)]
pub(crate) struct Column {
    pub(crate) heading: String,
    /// Key to sort by this column.
    pub(crate) key: char,
    /// The highest ranks are hidden first if space is short.
    pub(crate) rank: u8,
}

#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) cells: Vec<Cell>,
    /// Full text of the selected row.
    pub(crate) detail: String,
}

#[derive(Debug)]
pub(crate) struct Cell {
    pub(crate) shown: Shown,
    /// Rows sort by this, but names by text.
    pub(crate) order: f64,
}

#[derive(Debug)]
pub(crate) enum Shown {
    /// Text, and the change against the baseline.
    Text(String, Option<String>),
    Bar(Parts),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sort {
    pub(crate) column: usize,
    pub(crate) ascending: bool,
}

/// Shown for unknown values.
const DASH: &str = "-";

impl Sort {
    /// Initially sorted by cost.
    pub(crate) fn default_of(tab: Tab) -> Self {
        let column = match tab {
            Tab::Operations | Tab::Statements => LOST,
            Tab::Held => 2,
            Tab::Connections => 4,
            Tab::Findings => 1,
        };
        Self {
            column,
            ascending: false,
        }
    }
}

impl Table {
    pub(crate) fn new(tab: Tab, sources: &Sources<'_>, baseline: Option<&Baseline>) -> Self {
        match tab {
            Tab::Operations => figures_table(tab, &sources.operations(), baseline),
            Tab::Statements => figures_table(tab, &sources.statements(), baseline),
            Tab::Held => held_table(sources),
            Tab::Connections => connections_table(sources),
            Tab::Findings => findings_table(&sources.snapshot.outcome.findings),
        }
    }

    /// Keeps rows with `filter` in the name, ignoring case.
    pub(crate) fn filter(&mut self, filter: &str) {
        if !filter.is_empty() {
            let filter = filter.to_lowercase();
            self.rows.retain(|row| match row.cells.first() {
                Some(Cell {
                    shown: Shown::Text(name, _),
                    ..
                }) => name.to_lowercase().contains(&filter),
                _ => false,
            });
        }
    }

    pub(crate) fn sort(&mut self, sort: Sort) {
        self.rows.sort_by(|one, other| {
            let (Some(first), Some(second)) = (one.cells.get(sort.column), other.cells.get(sort.column))
            else {
                return std::cmp::Ordering::Equal;
            };
            let order = match (sort.column, &first.shown, &second.shown) {
                (0, Shown::Text(first, _), Shown::Text(second, _)) => first.cmp(second),
                _ => first.order.total_cmp(&second.order),
            };
            let order = if sort.ascending { order } else { order.reverse() };
            // Equal rows keep their order between snapshots.
            order.then_with(|| one.detail.cmp(&other.detail))
        });
    }
}

impl Cell {
    fn name(text: &str) -> Self {
        Self {
            shown: Shown::Text(printable(text).into_owned(), None),
            order: 0.0,
        }
    }

    fn text(text: impl Into<String>, order: f64) -> Self {
        Self {
            shown: Shown::Text(text.into(), None),
            order,
        }
    }

    fn number(number: Option<f64>) -> Self {
        Self::text(
            number.map_or_else(|| DASH.to_owned(), short),
            number.unwrap_or(-1.0),
        )
    }

    fn span(span: Option<Duration>) -> Self {
        let text = span.map_or_else(|| DASH.to_owned(), format_duration);
        Self::text(text, seconds(span).unwrap_or(-1.0))
    }

    fn bar(parts: Parts) -> Self {
        let total = parts.total().as_secs_f64();
        Self {
            shown: Shown::Bar(parts),
            order: match total > 0.0 {
                true => parts.network.as_secs_f64() / total,
                false => -1.0,
            },
        }
    }

    fn against(self, change: Option<String>) -> Self {
        let shown = match self.shown {
            Shown::Text(text, _) => Shown::Text(text, change),
            bar => bar,
        };
        Self { shown, ..self }
    }
}

/// Formats a number in at most six columns.
pub(crate) fn short(number: f64) -> String {
    match number {
        ..0.05 if number > 0.0 => "<0.1".to_owned(),
        ..99.95 => format!("{number:.1}"),
        99.95..9_999.5 => format!("{number:.0}"),
        9_999.5..999_950.0 => format!("{:.1}k", number / 1e3),
        _ => format!("{:.1}M", number / 1e6),
    }
}

fn columns(list: &[(&str, char, u8)]) -> Vec<Column> {
    let columns = list.iter().map(|&(heading, key, rank)| Column {
        heading: heading.to_owned(),
        key,
        rank,
    });
    columns.collect()
}

/// Index of the column with the total cost of distance.
const LOST: usize = 6;

fn figures_table(tab: Tab, figures: &[Figures], baseline: Option<&Baseline>) -> Table {
    let rows = figures.iter().map(|row| {
        let before = baseline.and_then(|baseline| baseline.figures_of(tab, &row.name));
        let against = |cell: Cell, of: fn(&Figures) -> Option<f64>| {
            cell.against(before.and_then(|before| change(of(row), of(before))))
        };
        Row {
            cells: vec![
                Cell::name(&row.name),
                against(Cell::number(row.calls), |row| row.calls),
                against(Cell::number(row.turns), |row| row.turns),
                against(Cell::span(row.p50), |row| seconds(row.p50)),
                against(Cell::span(row.p99), |row| seconds(row.p99)),
                Cell::bar(row.parts),
                Cell::span(row.lost),
                Cell::span(row.cost),
            ],
            detail: printable(&row.name).into_owned(),
        }
    });
    Table {
        rows: rows.collect(),
        columns: columns(&[
            (tab.title(), 'n', 0),
            ("calls/s", 'c', 1),
            ("trips", 't', 1),
            ("p50", 'p', 1),
            ("p99", 'P', 2),
            ("time", 'b', 2),
            ("distance", 'd', 3),
            ("+10 ms", 'x', 1),
        ]),
    }
}

fn held_table(sources: &Sources<'_>) -> Table {
    let held = sources.snapshot.outcome.held.iter();
    let rows = held.map(|one| {
        let prediction = sources
            .forecast
            .filter(|_| sources.elsewhere)
            .and_then(|forecast| forecast.held.iter().find(|there| is_of(there, one)));
        let pick = |here: Option<Duration>, there: fn(&HeldPrediction) -> Option<Duration>| match sources
            .elsewhere
        {
            false => here,
            true => prediction.and_then(there),
        };
        let name = match one.name == one.operation_name {
            true => one.name.to_string(),
            false => format!("{}  in {}", one.name, one.operation_name),
        };
        Row {
            cells: vec![
                Cell::name(&name),
                Cell::text(one.count.to_string(), one.count as f64),
                Cell::span(pick(Some(one.median), |there| Some(there.median))),
                Cell::span(pick(one.spread.max, |there| Some(there.longest))),
                Cell::number((one.count > 0).then(|| one.turns as f64 / one.count as f64)),
                Cell::span(pick(one.rows_held, |there| there.rows_held)),
                match sources.elsewhere {
                    false => Cell::bar(Parts::from(&one.attribution)),
                    true => Cell::bar(Parts::default()),
                },
            ],
            detail: printable(&name).into_owned(),
        }
    });
    Table {
        rows: rows.collect(),
        columns: columns(&[
            ("transactions held open", 'n', 0),
            ("count", 'c', 2),
            ("median", 'p', 1),
            ("longest", 'P', 2),
            ("trips", 't', 1),
            ("rows held", 'd', 1),
            ("time", 'b', 3),
        ]),
    }
}

fn is_of(prediction: &HeldPrediction, one: &HeldTransactions) -> bool {
    prediction.name == one.name && prediction.operation_name == one.operation_name
}

fn connections_table(sources: &Sources<'_>) -> Table {
    let snapshot = sources.snapshot;
    let there = sources
        .forecast
        .filter(|_| sources.elsewhere)
        .and_then(|forecast| forecast.link);
    let open = snapshot.open.iter().map(|open| {
        let now = snapshot.current.now;
        let moves = open.protocol.is_some_and(model::Protocol::is_database);
        let rtt = match there {
            Some(link) if moves => Some(link.rtt),
            _ => open.rtt,
        };
        let transaction = open.transaction_since.map(|since| now.since(since));
        let [up, down] = open.payload_bytes.into_array();
        let name = format!("{} -> {}", open.client, open.server);
        let detail = printable(&format!("{name}{}", programs_in_full(&open.processes))).into_owned();
        Row {
            cells: vec![
                Cell::name(&name),
                Cell::text(open.protocol.map_or(DASH, model::Protocol::name), 0.0),
                Cell::span(Some(now.since(open.at))),
                Cell::span(rtt),
                Cell::text(open.turns.to_string(), open.turns as f64),
                Cell::span(rtt.map(|rtt| rtt.saturating_mul(u32::try_from(open.turns).unwrap_or(u32::MAX)))),
                Cell::text(
                    ByteCount::from_bytes(up.saturating_add(down)).to_string(),
                    up.saturating_add(down) as f64,
                ),
                Cell::span(transaction),
                Cell::name(&report::text::programs(&open.processes)),
            ],
            detail,
        }
    });
    let mut rows: Vec<Row> = open.collect();
    let mut headings = vec![
        ("open connections", 'n', 0),
        ("protocol", 'b', 3),
        ("age", 'a', 4),
        ("rtt", 'p', 1),
        ("trips", 't', 1),
        ("distance", 'd', 2),
        ("payload", 'y', 3),
        ("in transaction", 'x', 1),
    ];
    match snapshot
        .open
        .iter()
        .any(|open| open.processes != PerSide::default())
    {
        true => headings.push(("programs", 'o', 2)),
        false => rows.iter_mut().for_each(|row| row.cells.truncate(headings.len())),
    }
    Table {
        rows,
        columns: columns(&headings),
    }
}

/// Programs with their containers, empty if unknown.
fn programs_in_full(processes: &PerSide<Option<Arc<HostProcess>>>) -> String {
    let containers = processes
        .iter()
        .flatten()
        .filter_map(|process| process.container.as_deref());
    let containers: String = containers
        .map(|container| format!(", container {container}"))
        .collect();
    match processes.iter().all(Option::is_none) {
        true => String::new(),
        false => format!("   {}{containers}", report::text::programs(processes)),
    }
}

fn findings_table(findings: &[Finding]) -> Table {
    let findings: Vec<&Finding> = model::sure_findings(findings).collect();
    let rtt = findings.first().and_then(|first| first.savings.last());
    let price = rtt.map_or_else(
        || "saves".to_owned(),
        |saving| format!("saves at {}", format_duration(saving.rtt)),
    );
    let rows = findings.iter().map(|finding| {
        let name = match &finding.fingerprint {
            Some(fingerprint) => format!("{}  {}", finding.kind, report::text::shown_statement(fingerprint)),
            None => format!("{}  in {}", finding.kind, finding.operation_name),
        };
        let guessed = finding.owners.likely_right().map_or_else(String::new, |right| {
            format!(" (its operations' round trips are guessed, right in about {right})")
        });
        let saves = finding.savings.last().map(|saving| saving.saves);
        let turns = match finding.saves_turns_most {
            0 => DASH.to_owned(),
            _ => format!("{} of {}", finding.saves_turns_words(), finding.turns),
        };
        Row {
            cells: vec![
                Cell::name(&name),
                Cell::span(saves.filter(|saves| !saves.is_zero())),
                Cell::text(turns, finding.saves_turns as f64),
                Cell::text(
                    format!("{} in {}", finding.count, finding.operations),
                    finding.count as f64,
                ),
            ],
            detail: format!("{}{guessed}: {}", printable(&name), printable(&finding.remedy)),
        }
    });
    let mut columns = columns(&[
        ("findings", 'n', 0),
        ("saves", 'd', 1),
        ("trips saved", 't', 2),
        ("seen in operations", 'c', 3),
    ]);
    if let Some(column) = columns.get_mut(1) {
        column.heading = price;
    }
    Table {
        rows: rows.collect(),
        columns,
    }
}
