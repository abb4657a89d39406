//! A result fetched in more round trips than its size needs.
//!
//! Rows come in several round trips: an execution with a limit of rows or bytes and its fetches,
//! repeated `fetch` of a declared cursor, or a loop over pages (LIMIT and OFFSET, SCAN, pieces of a
//! large object). Saved are all round trips but one per [`LARGE_REPLY`] bytes; for Informix, whose
//! buffers were limited to 32,767 bytes, one per full buffer and one that finds the end.

use super::ledger::Waste;
use super::loops::{self, Evidence, Loop};
use super::operation_view::{OperationView, Task, Turn};
use crate::verb::Verb;
use model::{FindingKind, Protocol};

/// A client can easily hold this many bytes.
const LARGE_REPLY: u64 = 1 << 20;

/// Limit of buffers before Informix 12.10.
const INFORMIX_BUFFER: u64 = 32_767;

const MIN_TURNS: u64 = 3;

pub(super) fn detect_waste(view: &mut OperationView<'_>) {
    let mut number = 0;
    while let Some(lane) = view.lane(number) {
        number += 1;
        let mut results: Vec<(u32, Vec<usize>)> = Vec::new();
        for index in lane {
            let turn = view.turns.all[index];
            let Some(code) = turn.code else { continue };
            let open = results.iter().position(|(number, _)| *number == code.number);
            match (asks(view, &turn, index), open) {
                (Asks::First, open) => {
                    if let Some(place) = open {
                        let (_, turns) = results.swap_remove(place);
                        record_waste(view, &turns, Evidence::Sure);
                    }
                    if results.len() < MAX_OPEN {
                        results.push((code.number, vec![index]));
                    }
                }
                (Asks::More, Some(place)) => results[place].1.push(index),
                (Asks::More, None) if results.len() < MAX_OPEN => results.push((code.number, vec![index])),
                (Asks::More, None) | (Asks::Nothing, _) => {}
            }
        }
        for (_, turns) in results {
            record_waste(view, &turns, Evidence::Sure);
        }
    }
    loops::each(view, pages);
}

/// Parts of a result requested by repeated statements ([`super::pages`]). Parts of one row or none
/// are not pages.
fn pages(view: &mut OperationView<'_>, found: Loop, evidence: Evidence) {
    for place in 0..found.period {
        let turns: Vec<usize> = found.turns(place).collect();
        let is_page = |turn: &Turn| {
            let paging = turn.code.and_then(|code| code.paging);
            paging.is_some() && turn.task == Task::Execute && !turn.is_claimed
        };
        if !turns.iter().all(|&turn| is_page(&view.turns.all[turn])) {
            continue;
        }
        let exchanges = || turns.iter().filter_map(|&turn| view.exchange(turn));
        let rows = exchanges().map(|exchange| exchange.rows).sum::<Option<u64>>();
        let is_failed = exchanges().any(|exchange| exchange.error.is_some());
        if !is_failed && rows.is_none_or(|rows| rows > turns.len() as u64) {
            record_waste(view, &turns, evidence);
        }
    }
}

const MAX_OPEN: usize = 64;

enum Asks {
    First,
    More,
    Nothing,
}

fn asks(view: &OperationView<'_>, turn: &Turn, index: usize) -> Asks {
    let limited = view
        .exchange(index)
        .is_some_and(|exchange| exchange.asked.fetch_rows.is_some() || exchange.asked.fetch_bytes.is_some());
    match turn.task {
        _ if turn.is_claimed => Asks::Nothing,
        Task::Fetch => Asks::More,
        Task::Execute if turn.verb() == Some(Verb::Fetch) => Asks::More,
        Task::Execute if limited => Asks::First,
        Task::Execute | Task::Prepare | Task::Nothing => Asks::Nothing,
    }
}

fn record_waste(view: &mut OperationView<'_>, turns: &[usize], evidence: Evidence) {
    let count = turns.len() as u64;
    let Some(waste) = turns
        .first()
        .and_then(|&turn| view.waste(FindingKind::SmallFetch, turn))
    else {
        return;
    };
    let exchanges = turns.iter().filter_map(|&turn| view.exchange(turn));
    let bytes: u64 = exchanges.map(|exchange| exchange.reply_bytes).sum();
    let needed = if waste.protocol == Protocol::Informix {
        bytes.div_ceil(INFORMIX_BUFFER) + 1
    } else {
        bytes.div_ceil(LARGE_REPLY).max(1)
    };
    let saves_turns = count.saturating_sub(needed);
    if count < MIN_TURNS || saves_turns < 2 {
        return;
    }
    for &turn in turns {
        view.claim(turn);
    }
    view.record_waste(Waste {
        count,
        turns: count,
        saves_turns,
        evidence,
        ..waste
    });
}
