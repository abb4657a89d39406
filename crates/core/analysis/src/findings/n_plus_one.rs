//! The same read repeated in an operation, for one or few rows each.
//!
//! 1. A loop that reads few rows per round ([`loops`]). Independent if each round consists of the read alone,
//!    so that no round can need another reply. Dependent if other statements run in every round.
//! 2. In an operation that a user waits for, [`loops::MIN_ROUNDS`] reads with one fingerprint and few rows
//!    each, anywhere in it: dependent, as far as visible. Also on several connections that follow each other.
//! 3. Elsewhere the same, within round trips with hardly any client computing ([`loops::TIGHT`]): weak
//!    evidence, as for loops.
//!
//! Saved are all round trips but one: a single query returns all rows. Identical reads belong to
//! [`super::repeated_read`].

use super::frameworks;
use super::ledger::Waste;
use super::loops::{self, Evidence, Loop};
use super::operation_view::{OperationView, Task};
use crate::verb::Verb;
use model::{Exchange, FindingKind, Timestamp};
use std::ops::Range;

pub(super) fn detect_waste(view: &mut OperationView<'_>) {
    loops::each(view, of_loop);
    let is_one_piece = view.is_one_piece();
    let mut number = 0;
    while let Some(lane) = view.lane(number) {
        number += 1;
        if is_one_piece {
            scattered(view, lane, Evidence::Sure);
            continue;
        }
        for stretch in stretches(view, lane) {
            scattered(view, stretch, Evidence::Weak);
        }
    }
    if is_one_piece && view.turns.lanes.len() > 1 {
        across(view);
    }
}

/// Parts of a lane in which the client only ran statements and hardly computed between them. None if
/// its pauses are those of independent users.
fn stretches(view: &OperationView<'_>, lane: Range<usize>) -> Vec<Range<usize>> {
    let turns = view.turns.all.get(lane.clone()).unwrap_or_default();
    if !loops::are_clear(turns.iter().skip(1).map(|turn| turn.gap)) {
        return Vec::new();
    }
    let mut stretches = Vec::new();
    let mut start = lane.start;
    for index in lane.clone() {
        let turn = &view.turns.all[index];
        if turn.gap > loops::TIGHT || turn.task != Task::Execute {
            stretches.push(start..index);
            start = index;
        }
    }
    stretches.push(start..lane.end);
    stretches
}

/// Reads of one fingerprint on several connections in sequence: the program returns its connection
/// after each statement. Concurrent reads are waited for together and do not count.
fn across(view: &mut OperationView<'_>) {
    let mut reads: Vec<(u32, Timestamp, usize)> = (0..view.turns.all.len())
        .filter(|&turn| view.turns.all[turn].is_free(Verb::Read))
        .filter_map(|turn| {
            let code = view.turns.all[turn].code.filter(|code| !code.is_unseen)?;
            Some((code.number, view.exchange(turn)?.at, turn))
        })
        .collect();
    reads.sort_unstable();
    for same in reads.chunk_by(|one, other| one.0 == other.0) {
        let turns: Vec<usize> = same.iter().map(|&(_, _, turn)| turn).collect();
        let ends = |turn: usize| view.exchange(turn).map(Exchange::ended);
        let begins = |turn: usize| view.exchange(turn).map(|exchange| exchange.at);
        let is_sequence = turns.windows(2).all(|pair| ends(pair[0]) <= begins(pair[1]));
        let enough = turns.len() >= loops::MIN_ROUNDS;
        if enough && is_sequence && loops::has_few_rows(view, turns.iter().copied()) {
            record_waste(view, &turns, true, Evidence::Sure);
        }
    }
}

fn of_loop(view: &mut OperationView<'_>, found: Loop, evidence: Evidence) {
    let executing = (0..found.period)
        .filter(|place| view.turns.all[found.start + place].is_plain)
        .count();
    for place in 0..found.period {
        let turns: Vec<usize> = found.turns(place).collect();
        let are_reads = turns.iter().all(|&turn| view.turns.all[turn].is_free(Verb::Read));
        if are_reads && loops::has_few_rows(view, turns.iter().copied()) {
            record_waste(view, &turns, executing > 1, evidence);
        }
    }
}

fn scattered(view: &mut OperationView<'_>, lane: Range<usize>, evidence: Evidence) {
    let mut reads: Vec<(u32, usize)> = lane
        .filter(|&turn| view.turns.all[turn].is_free(Verb::Read))
        .filter_map(|turn| Some((view.turns.all[turn].code?.number, turn)))
        .collect();
    if reads.len() < loops::MIN_ROUNDS {
        return;
    }
    reads.sort_unstable();
    for same in reads.chunk_by(|one, other| one.0 == other.0) {
        let turns: Vec<usize> = same.iter().map(|&(_, turn)| turn).collect();
        if turns.len() >= loops::MIN_ROUNDS && loops::has_few_rows(view, turns.iter().copied()) {
            record_waste(view, &turns, true, evidence);
        }
    }
}

fn record_waste(view: &mut OperationView<'_>, turns: &[usize], dependent: bool, evidence: Evidence) {
    let Some(waste) = turns
        .first()
        .and_then(|&turn| view.waste(FindingKind::NPlusOne, turn))
    else {
        return;
    };
    if ask_the_same(view, turns) {
        return;
    }
    let count = turns.len() as u64;
    for &turn in turns {
        view.claim(turn);
    }
    view.record_waste(Waste {
        dependent: Some(dependent),
        count,
        turns: count,
        saves_turns: count - 1,
        evidence,
        ..waste
    });
}

/// Whether all are identical, parameters included, with equal answers; a sequence returns another
/// value each time.
fn ask_the_same(view: &OperationView<'_>, turns: &[usize]) -> bool {
    let mut digests = turns.iter().map(|&turn| {
        view.exchange(turn)
            .and_then(|exchange| exchange.asked.request_digest)
    });
    let first = digests.next().flatten();
    let is_same = first.is_some() && digests.all(|digest| digest == first);
    let fingerprint = turns
        .first()
        .and_then(|&turn| view.exchange(turn)?.fingerprint.as_deref());
    is_same && !fingerprint.is_some_and(frameworks::is_next_value)
}
