//! Changes of predictions as a reviewer reads them, and how they are accepted.

use super::{Accepted, CALIBRATED_FILE, Cell, FILE, Prediction, cells, conformal, errors};
use std::fmt::Write;
use std::path::{Path, PathBuf};

pub struct Change {
    /// Of the median, or of the bounds where that is not stated; infinite if one is refused.
    share: f64,
    line: String,
}

/// The largest change comes first.
pub fn changes(cells: &[Cell], before: &Accepted, now: &Accepted) -> Vec<Change> {
    let mut changes: Vec<Change> = cells
        .iter()
        .filter_map(|cell| change(cell, before.of_cell(cell), now.of_cell(cell)))
        .collect();
    changes.sort_by(|a, b| b.share.total_cmp(&a.share));
    changes
}

fn change(cell: &Cell, before: Option<Prediction>, now: Option<Prediction>) -> Option<Change> {
    if before == now {
        return None;
    }
    let Cell {
        product,
        operation_name,
        clients,
        rtt_ms,
        ..
    } = cell;
    let measured = cell.measured();
    let share = match (&before, &now) {
        (Some(before), Some(now)) => difference(before, now),
        _ => f64::INFINITY,
    };
    let [before, now] = [before, now].map(|prediction| shown(prediction, measured));
    Some(Change {
        share,
        line: format!(
            "{product}, {operation_name}, {clients} clients, {rtt_ms} ms: {before} -> {now}; measured {measured:.3} ms, \
             halves {:.1} % apart",
            cell.repeatability() * 100.0
        ),
    })
}

fn difference(before: &Prediction, now: &Prediction) -> f64 {
    let share = |before: f64, now: f64| (now / before - 1.0).abs();
    match before.median_ms.total_cmp(&now.median_ms).is_ne() {
        true => share(before.median_ms, now.median_ms),
        false => {
            share(before.bounds_ms[0], now.bounds_ms[0]).max(share(before.bounds_ms[1], now.bounds_ms[1]))
        }
    }
}

fn shown(prediction: Option<Prediction>, measured: f64) -> String {
    let Some(prediction) = prediction else {
        return "refused".to_owned();
    };
    let [low, high] = prediction.bounds_ms;
    let median = prediction.error(measured).map_or_else(String::new, |error| {
        format!("{:.3} ms ({:+.1} %) ", prediction.median_ms, error * 100.0)
    });
    let misses = if prediction.holds(measured) { "" } else { " missed" };
    format!(
        "{median}[{low:.3} .. {high:.3}{misses}], {} round trips",
        prediction.round_trips
    )
}

pub fn text(changes: &[Change], cells: &[Cell], before: &Accepted, now: &Accepted) -> String {
    let mut text = format!(
        "{} of {} predictions changed, largest change first:\n",
        changes.len(),
        cells.len()
    );
    for Change { line, .. } in changes.iter().take(MAX_SHOWN) {
        writeln!(text, "  {line}").expect("a string");
    }
    if changes.len() > MAX_SHOWN {
        writeln!(text, "  and {} more", changes.len() - MAX_SHOWN).expect("a string");
    }
    let [before, now] = [before, now].map(|accepted| errors::table(cells, accepted));
    write!(text, "\nerrors before\n{before}\n\nerrors now\n{now}").expect("a string");
    text
}

/// Writes predictions, errors and the reason.
pub fn accept(folder: &Path, cells: &[Cell], before: &Accepted, now: &Accepted, reason: &str) {
    let reason = reason.trim();
    assert!(
        !reason.is_empty(),
        "a reason is required: make golden-accept REASON=\"why\""
    );
    let changes = changes(cells, before, now);
    now.write(folder, FILE);
    for (page, table) in pages(folder, cells, now) {
        write_page(&page, &table, BEGIN);
    }
    if changes.is_empty() {
        return;
    }
    let readme = folder.join("README.md");
    let mut text = read(&readme);
    let was = if *before == Accepted::default() {
        String::new()
    } else {
        errors::headline(cells, before)
    };
    let is = errors::headline(cells, now);
    writeln!(
        text,
        "| {} | {reason} | {} | {was} | {is} |",
        today(),
        changes.len()
    )
    .expect("a string");
    std::fs::write(readme, text).expect("written");
}

/// Pages with a table of errors.
pub fn pages(folder: &Path, cells: &[Cell], accepted: &Accepted) -> [(PathBuf, String); 3] {
    let root = folder.join("../..");
    let with = Accepted::read(folder, CALIBRATED_FILE);
    let coverage = conformal::coverage(cells, accepted);
    let all = format!(
        "{}\n\n{coverage}\n\n{}\n\n{}",
        errors::table(cells, accepted),
        conformal::refused(cells, accepted),
        errors::calibrated([cells, &cells::calibrated(folder, cells)], accepted, &with)
    );
    [
        (folder.join("README.md"), all),
        (
            root.join("docs/accuracy.md"),
            format!("{}\n\n{coverage}", errors::brief(cells, accepted)),
        ),
        (root.join("README.md"), errors::summary(cells, accepted)),
    ]
}

fn today() -> String {
    let date = std::process::Command::new("date")
        .arg("+%F")
        .output()
        .expect("date");
    String::from_utf8(date.stdout).expect("a date").trim().to_owned()
}

pub fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

pub fn between_marks<'a>(text: &'a str, begin: &str) -> &'a str {
    text.split_once(begin)
        .and_then(|(_, after)| after.split_once(END))
        .map_or("", |(table, _)| table.trim())
}

pub fn write_page(page: &Path, table: &str, begin: &str) {
    let text = read(page);
    let (before, rest) = text.split_once(begin).expect("the mark of the table");
    let (_, after) = rest.split_once(END).expect("the mark of its end");
    let text = format!("{before}{begin}\n\n{table}\n\n{END}{after}");
    std::fs::write(page, text).expect("written");
}

pub const BEGIN: &str = "<!-- errors of tests/golden -->";
const END: &str = "<!-- end of errors -->";
const MAX_SHOWN: usize = 30;
