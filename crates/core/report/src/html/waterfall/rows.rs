//! Rows of a waterfall: a single step, or a loop of the same statements.

use super::super::lanes::{Piece, Timed, timed};
use model::{Operation, OperationStep};

#[derive(Debug)]
pub struct WaterfallRow<'a> {
    /// Index of the first step in the operation.
    pub first: usize,
    pub steps: &'a [OperationStep],
    /// Statements in one pass of the loop.
    pub period: usize,
    /// Number of its first round trip, from 1.
    pub first_turn: u64,
    pub turns: u64,
    /// The first request left the client, in nanoseconds since the operation began.
    pub from: u64,
    /// The last reply arrived.
    pub to: u64,
    pub pieces: Vec<Piece>,
    pub after: Option<Waited>,
    pub reply_after: Option<Waited>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waited {
    /// Index of the row.
    pub row: usize,
    /// In nanoseconds since the operation began.
    pub at: u64,
}

pub fn waterfall_rows(operation: &Operation, most: usize) -> Vec<WaterfallRow<'_>> {
    let mut rows: Vec<WaterfallRow<'_>> = Vec::new();
    let mut times: Vec<Timed> = Vec::new();
    let mut row_of_step: Vec<usize> = Vec::new();
    let mut turns = 0;
    while times.len() < operation.steps.len() && rows.len() < most {
        let first = times.len();
        let (covered, period) = run(&operation.steps, first);
        let steps = &operation.steps[first..first + covered];
        times.extend(steps.iter().map(|step| timed(operation, step)));
        row_of_step.extend(std::iter::repeat_n(rows.len(), steps.len()));
        let own = &times[first..];
        let row_turns = steps.iter().map(|step| u64::from(step.exchange.turns)).sum();
        rows.push(WaterfallRow {
            first,
            steps,
            period,
            first_turn: turns + 1,
            turns: row_turns,
            from: own[0].from,
            to: own.iter().map(|timed| timed.to).max().unwrap_or(own[0].from),
            pieces: own
                .iter()
                .flat_map(|timed| timed.pieces.iter().copied())
                .collect(),
            after: waited(first, &operation.steps, &times, &row_of_step),
            reply_after: None,
        });
        turns += row_turns;
    }
    for row in &mut rows {
        let calls = row.steps[0].reply_after.map(|calls| calls as usize);
        row.reply_after = calls.filter(|calls| *calls < times.len()).map(|calls| Waited {
            row: row_of_step[calls],
            at: times[calls].to,
        });
    }
    rows
}

/// Returns how many steps from `first` on share a row, and the number of statements in one pass. A
/// loop has up to [`MAX_LOOP_LEN`] statements, each step after the previous one. Prefers the loop
/// that covers most, then the one with fewest statements.
fn run(steps: &[OperationStep], first: usize) -> (usize, usize) {
    let longest = (1..=MAX_LOOP_LEN)
        .map(|period| (covered(steps, first, period), period))
        .filter(|(covered, period)| *covered >= MIN_RUN_LEN && *covered >= MIN_REPEATS * period)
        .max_by_key(|(covered, period)| (*covered, MAX_LOOP_LEN - period));
    longest.unwrap_or((1, 1))
}

/// Number of steps from `first` on in complete passes of a loop of `period` statements.
fn covered(steps: &[OperationStep], first: usize, period: usize) -> usize {
    let plain = |step: &OperationStep| {
        step.reply_after.is_none() && step.exchange.error.is_none() && step.exchange.fingerprint.is_some()
    };
    let follows = |place: usize, step: &OperationStep| {
        let same = |before: &OperationStep| {
            step.exchange.connection == before.exchange.connection
                && step.exchange.fingerprint == before.exchange.fingerprint
        };
        let is_next = !step.after_start && step.after.is_some_and(|after| after as usize + 1 == place);
        plain(step) && (place == first || is_next) && (place < first + period || same(&steps[place - period]))
    };
    let all = steps
        .iter()
        .enumerate()
        .skip(first)
        .take_while(|(place, step)| follows(*place, step));
    let count = all.count();
    count - count % period
}

fn waited(index: usize, steps: &[OperationStep], times: &[Timed], row_of_step: &[usize]) -> Option<Waited> {
    let step = &steps[index];
    let after = step
        .after
        .map(|after| after as usize)
        .filter(|after| *after < index)?;
    let before = &times[after];
    let same_connection = steps[after].exchange.connection == step.exchange.connection;
    let at = match (step.after_start, same_connection) {
        (false, _) => before.to,
        (true, true) => before.sent,
        (true, false) => before.arrived,
    };
    Some(Waited {
        row: row_of_step[after],
        at,
    })
}

const MIN_RUN_LEN: usize = 6;
const MAX_LOOP_LEN: usize = 4;
const MIN_REPEATS: usize = 3;
