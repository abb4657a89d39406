//! Statements that repeat in a cycle: the loops of a program.
//!
//! A loop alone is not waste: pages with one statement each on a kept connection look the same. It
//! is waste if:
//! 1. A user waits for the whole operation (an HTTP request, a transaction), or it lies in one transaction.
//! 2. Or the statement before returned as many rows as the loop has rounds, and the client hardly paused.
//! 3. Or the client hardly computed between round trips ([`is_tight`]), or steadily less than it waited
//!    ([`is_steady`]). This is weak evidence: load generators and the clients of a pool do so too,
//!    and the ledger drops it if such are seen.
//!
//! A program pauses alike in each round, or long; independent users of a busy connection come at
//! random times.

use super::operation_view::{OperationView, Task, Turn};
use crate::verb::Verb;
use std::ops::Range;
use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Loop {
    pub(super) start: usize,
    pub(super) period: usize,
    pub(super) rounds: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Evidence {
    Sure,
    Weak,
}

pub(super) const MIN_ROUNDS: usize = 5;

const MAX_PERIOD_TURNS: usize = 4;

/// A client that computes no longer than this between round trips may run a loop.
pub(super) const TIGHT: Duration = Duration::from_micros(500);

/// A pause up to this is neither of a loop nor for something else.
const MAX_UNCLEAR_PAUSE: Duration = Duration::from_millis(2);

/// Fewer pauses are often alike by chance.
const MIN_EVEN_ROUNDS: usize = 6;

/// Pauses that are alike tell a loop from independent requests only if there are many.
const MIN_STEADY_ROUNDS: usize = 10;

const MAX_STEADY_PAUSE: Duration = Duration::from_millis(5);

/// A client that pauses longer is not looping over a result.
const MAX_PAUSE: Duration = Duration::from_millis(50);

/// Maximum mean rows per statement, returned or changed, in a loop over single rows.
const MAX_ROWS: u64 = 20;

/// Maximum mean bytes of a reply without a number of rows.
const MAX_BYTES: u64 = 64 << 10;

impl Loop {
    pub(super) fn turns(self, place: usize) -> impl Iterator<Item = usize> {
        (0..self.rounds).map(move |round| self.start + round * self.period + place)
    }

    pub(super) fn all(self) -> Range<usize> {
        self.start..self.start + self.rounds * self.period
    }
}

pub(super) fn each(view: &mut OperationView<'_>, take: fn(&mut OperationView<'_>, Loop, Evidence)) {
    let mut number = 0;
    while let Some(lane) = view.lane(number) {
        number += 1;
        let mut from = lane.start;
        while let Some(found) = next(&view.turns.all, from, lane.end) {
            from = found.all().end;
            if let Some(evidence) = evidence(view, found, lane.start) {
                take(view, found, evidence);
            }
        }
    }
}

/// Next loop from `from` on; the end of a transaction also ends a loop.
fn next(turns: &[Turn], from: usize, end: usize) -> Option<Loop> {
    (from..end).find_map(|start| {
        (1..=MAX_PERIOD_TURNS).find_map(|period| {
            let rounds = rounds(turns, start, end, period);
            (rounds >= MIN_ROUNDS).then_some(Loop {
                start,
                period,
                rounds,
            })
        })
    })
}

fn rounds(turns: &[Turn], start: usize, end: usize, period: usize) -> usize {
    let may_loop = |turn: &Turn| turn.code.is_some_and(|code| code.bounds.is_none());
    let first_round = turns.get(start..(start + period).min(end)).unwrap_or_default();
    if first_round.len() < period || !first_round.iter().all(may_loop) {
        return 0;
    }
    let same = (start + period..end)
        .take_while(|&index| {
            let (Some(now), Some(before)) = (turns.get(index), turns.get(index - period)) else {
                return false;
            };
            may_loop(now) && now.repeats(before)
        })
        .count();
    1 + same / period
}

fn evidence(view: &OperationView<'_>, found: Loop, lane_start: usize) -> Option<Evidence> {
    let turns = view.turns.all.get(found.all())?;
    if view.is_one_piece() || turns.iter().all(|turn| turn.is_open) {
        return Some(Evidence::Sure);
    }
    let pause = median_pause(turns, found.period);
    let rounds = found.rounds as u64;
    let parent = parent_rows(view, found, lane_start);
    if pause <= MAX_PAUSE && parent.is_some_and(|rows| rows.abs_diff(rounds) <= 1 + rounds / 10) {
        return Some(Evidence::Sure);
    }
    (is_tight(turns, found, pause) || is_steady(view, found, pause)).then_some(Evidence::Weak)
}

/// Whether the client hardly computes, and not at random times: most of its pauses are short and
/// hardly any is unclear, or they are even, or each is a third of the median or longer.
fn is_tight(turns: &[Turn], found: Loop, pause: Duration) -> bool {
    let pauses = || round_pauses(turns, found.period);
    let are_short = || {
        let short = pauses().filter(|one| *one <= TIGHT).count();
        short * 3 >= pauses().count() * 2 && are_clear(pauses())
    };
    let is_even = || found.rounds >= MIN_EVEN_ROUNDS && are_even(pauses(), pause);
    let computes_always =
        || found.rounds >= MIN_STEADY_ROUNDS && pauses().all(|one| one.saturating_mul(3) >= pause);
    pause <= TIGHT && (are_short() || is_even() || computes_always())
}

/// Whether hardly any pause is too long for a loop and too short for something else: at most one, or a
/// quarter as many as of a loop. Of users that come each millisecond, more are than not.
pub(super) fn are_clear(pauses: impl Iterator<Item = Duration>) -> bool {
    let (mut short, mut unclear) = (0_usize, 0);
    for pause in pauses.filter(|pause| *pause <= MAX_UNCLEAR_PAUSE) {
        match pause <= TIGHT {
            true => short += 1,
            false => unclear += 1,
        }
    }
    unclear <= (short / 4).max(1)
}

/// Whether eight of ten pauses are within half and twice the median. Of independent requests, which
/// come at random times, less than half are.
fn are_even(pauses: impl Iterator<Item = Duration>, median: Duration) -> bool {
    let (mut all, mut alike) = (0, 0);
    for pause in pauses {
        all += 1;
        alike += usize::from((median / 2..=median * 2).contains(&pause));
    }
    alike * 10 >= all * 8
}

/// Whether the client computes no longer than it waits, and about the same in each round.
fn is_steady(view: &OperationView<'_>, found: Loop, pause: Duration) -> bool {
    if found.rounds < MIN_STEADY_ROUNDS || pause > MAX_STEADY_PAUSE {
        return false;
    }
    let turns = view.turns.all.get(found.all()).unwrap_or_default();
    let waits = || {
        let exchanges = found.all().filter_map(|turn| view.exchange(turn));
        exchanges.map(|exchange| exchange.ended().since(exchange.at))
    };
    are_even(round_pauses(turns, found.period), pause) && Some(pause) <= model::median(waits())
}

fn parent_rows(view: &OperationView<'_>, found: Loop, lane_start: usize) -> Option<u64> {
    let before = (lane_start..found.start).rev().find(|&index| {
        view.turns
            .all
            .get(index)
            .is_some_and(|turn| turn.task == Task::Execute)
    })?;
    let turn = view.turns.all.get(before)?;
    let exchange = view.exchange(before)?;
    (turn.verb() == Some(Verb::Read)).then_some(exchange.rows?)
}

/// The client's longest pause in each round but the first; the median over rounds. The longest,
/// because a round that ends with computing is not tight.
pub(super) fn median_pause(turns: &[Turn], period: usize) -> Duration {
    model::median(round_pauses(turns, period)).unwrap_or_default()
}

fn round_pauses(turns: &[Turn], period: usize) -> impl Iterator<Item = Duration> {
    let rounds = turns.chunks(period).skip(1);
    rounds.map(|round| round.iter().map(|turn| turn.gap).max().unwrap_or_default())
}

/// Rows that a protocol does not report are judged by their bytes.
pub(super) fn has_few_rows(view: &OperationView<'_>, turns: impl Iterator<Item = usize>) -> bool {
    let mut count = 0;
    let (mut rows, mut bytes_of_unknown) = (0, 0);
    for exchange in turns.filter_map(|turn| view.exchange(turn)) {
        count += 1;
        match exchange.rows {
            Some(returned) => rows += returned,
            None => bytes_of_unknown += exchange.reply_bytes,
        }
    }
    rows <= MAX_ROWS * count && bytes_of_unknown <= MAX_BYTES * count
}
