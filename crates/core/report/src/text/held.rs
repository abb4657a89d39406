//! Transactions that stay open between replies: duration, and the effect of distance.

use super::escape::cut;
use super::paragraph::paragraph;
use super::style::{Extent, Ink, Style};
use super::table::Table;
use super::{DASH, duration_or_dash};
use crate::ranges::server_share;
use model::{HeldPrediction, HeldTransactions, Share, format_duration};
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

/// Transactions with the longest total, their predictions, and a sentence about the first that
/// writes.
pub(super) fn held_section(
    held: &[HeldTransactions],
    predictions: &[HeldPrediction],
    style: &Style,
    out: &mut String,
) {
    if held.is_empty() {
        return;
    }
    let links = links(predictions);
    let mut headings = vec!["transactions held open".to_owned()];
    headings.extend(["count", "median", "longest", "trips"].map(str::to_owned));
    headings.extend(
        links
            .iter()
            .map(|(rtt, _)| format!("at {}", format_duration(*rtt))),
    );
    headings.extend(["network", "server", "client", "writes"].map(str::to_owned));
    let mut table = Table::new(headings);
    for one in held {
        table.row(cells(one, predictions, &links));
    }
    out.push('\n');
    table.render(style, out);
    writing_sentence(held, predictions, style, out);
}

/// The part of `predict`: a sentence about the first transaction that writes, with `--all` a row
/// per transaction and a column per link.
pub fn held_view(held: &[HeldTransactions], predictions: &[HeldPrediction], style: &Style) -> String {
    let mut out = String::new();
    match style.extent {
        Extent::First => writing_sentence(held, predictions, style, &mut out),
        Extent::All => held_section(held, predictions, style, &mut out),
    }
    out
}

fn writing_sentence(
    held: &[HeldTransactions],
    predictions: &[HeldPrediction],
    style: &Style,
    out: &mut String,
) {
    if let Some(writing) = held.iter().find(|one| one.rows_held.is_some()) {
        paragraph(&sentence(writing, predictions), "  ", Ink::Faint, style, out);
    }
}

fn cells(one: &HeldTransactions, predictions: &[HeldPrediction], links: &[Link]) -> Vec<String> {
    let mut cells = vec![
        name(one),
        one.count.to_string(),
        format_duration(one.median),
        duration_or_dash(one.spread.max),
        per_one(one.turns, one.count),
    ];
    cells.extend(links.iter().map(|link| {
        let there = held_rows(predictions, one).find(|prediction| link_of(prediction) == *link);
        duration_or_dash(there.map(|prediction| prediction.median))
    }));
    let parts = &one.attribution;
    let share_of = |part, whole| {
        Share::from_parts(part, whole).map_or_else(|| DASH.to_owned(), |share| share.to_string())
    };
    let share = |part| share_of(part, parts.total());
    cells.extend([
        share(parts.network()),
        server_share(parts, share_of),
        share(parts.client),
    ]);
    cells.push(per_one(one.writes, one.count));
    cells
}

/// The transaction's name, followed by that of its operations if it differs.
fn name(one: &HeldTransactions) -> String {
    match one.name == one.operation_name {
        true => one.name.to_string(),
        false => format!("{}  in {}", cut(&one.name, MAX_NAME_LEN), one.operation_name),
    }
}

fn sentence(one: &HeldTransactions, predictions: &[HeldPrediction]) -> String {
    let mut text = format!(
        "{} holds its rows for {} round trips: {} here",
        cut(&one.name, MAX_NAME_LEN),
        per_one(one.turns_after_write, one.writing),
        format_duration(one.rows_held.unwrap_or_default()),
    );
    for prediction in held_rows(predictions, one) {
        if let Some(rows_held) = prediction.rows_held.filter(|_| !prediction.rtt.is_zero()) {
            let _ = write!(
                text,
                ", {} at {}",
                format_duration(rows_held),
                format_duration(prediction.rtt)
            );
        }
    }
    text.push('.');
    text
}

type Link = (Duration, Arc<str>);

fn link_of(prediction: &HeldPrediction) -> Link {
    (prediction.rtt, Arc::clone(&prediction.link))
}

fn links(predictions: &[HeldPrediction]) -> Vec<Link> {
    let mut links = Vec::new();
    for prediction in predictions.iter().filter(|prediction| !prediction.rtt.is_zero()) {
        let link = link_of(prediction);
        if !links.contains(&link) {
            links.push(link);
        }
    }
    links
}

fn held_rows<'a>(
    predictions: &'a [HeldPrediction],
    one: &'a HeldTransactions,
) -> impl Iterator<Item = &'a HeldPrediction> {
    predictions
        .iter()
        .filter(|prediction| prediction.name == one.name && prediction.operation_name == one.operation_name)
}

fn per_one(sum: u64, count: u64) -> String {
    match count {
        0 => DASH.to_owned(),
        _ => format!("{:.1}", sum as f64 / count as f64),
    }
}

/// In columns, where another text follows.
const MAX_NAME_LEN: usize = 48;
