//! Data of the waterfall that `page.js` draws at the slider's distance.

use super::super::Page;
use super::super::lanes::{Kind, nanos};
use super::super::markup::data_script;
use super::rows::{Waited, WaterfallRow};
use maud::{Markup, html};
use model::Operation;
use serde_json::{Value, json};

/// Empty if no connection moves.
pub fn choice(page: &Page<'_>, operation: &Operation) -> Markup {
    html! {
        @if measured_rtt(page, operation).is_some() {
            p.js {
                label {
                    input #s-steps type="checkbox" autocomplete="off";
                    " at the slider's round trip: " output #v-steps for="s-steps s-rtt" { "as measured" }
                }
                " "
                span.faint {
                    "(approximate: adds the extra delay to each round trip; the curve above is the exact replay)"
                }
            }
        }
    }
}

/// One row per step, in nanoseconds, with begin, end, moving round trips, the row that the request
/// waited for, the row that the reply waited for (-1: none), and its stretches as kind and length
/// in order.
pub fn data(page: &Page<'_>, operation: &Operation, rows: &[WaterfallRow<'_>]) -> Markup {
    let Some(measured) = measured_rtt(page, operation) else {
        return Markup::default();
    };
    let place = |waited: Option<Waited>| waited.map_or(-1, |waited| i64::try_from(waited.row).unwrap_or(-1));
    let rows: Vec<Value> = rows
        .iter()
        .map(|row| {
            let turns: u64 = (row.first..row.first + row.steps.len())
                .zip(row.steps)
                .filter(|(step, _)| page.moves.get(*step).copied().unwrap_or_default())
                .map(|(_, step)| u64::from(step.exchange.turns))
                .sum();
            json!([
                row.from,
                row.to,
                turns,
                place(row.after),
                place(row.reply_after),
                stretches(row)
            ])
        })
        .collect();
    let value = json!({ "rtt": measured, "end": nanos(operation.duration), "rows": rows });
    data_script("steps", &value)
}

/// The round-trip time of the measurement. `None` without sliders or moving connections.
fn measured_rtt(page: &Page<'_>, operation: &Operation) -> Option<u64> {
    let rtt = page.grid?.measured_rtt?;
    let moves = operation.steps.iter().zip(page.moves).any(|(_, moves)| *moves);
    moves.then(|| nanos(rtt))
}

/// Class and length of each stretch of a step. A loop has one sum per kind, to stay short.
fn stretches(row: &WaterfallRow<'_>) -> Vec<(&'static str, u64)> {
    if row.steps.len() == 1 {
        return row
            .pieces
            .iter()
            .map(|piece| (piece.kind.class(), piece.to.saturating_sub(piece.from)))
            .collect();
    }
    let kinds = [Kind::Network, Kind::Server, Kind::Waiting, Kind::Unknown];
    let sum = |kind: Kind| {
        let pieces = row.pieces.iter().filter(move |piece| piece.kind == kind);
        pieces
            .map(|piece| piece.to.saturating_sub(piece.from))
            .sum::<u64>()
    };
    kinds.map(|kind| (kind.class(), sum(kind))).to_vec()
}
