//! BEGIN, COMMIT, SET, `SELECT 1` and pings as turns of their own.
//!
//! 1. A transaction around nothing: both turns. Around one statement that reads or writes: both, it is a transaction by itself.
//!    Around more: the turn of BEGIN, which can be sent with the first statement; COMMIT has to wait for what it commits.
//! 2. A SET that was made before on the same connection.
//! 3. `SELECT 1`, or a ping, right before another statement: a pool that tests each connection it hands out.
//!
//! Reported only where these are a third of the connection's turns in the operation: a transaction of several statements has its
//! price, and one pair around much work is none.

use super::codes::Bound;
use super::ledger::Waste;
use super::look::{Look, Task};
use crate::verb::Verb;
use model::{FindingKind, Fingerprint};
use std::collections::HashSet;
use std::ops::Range;

/// One turn in this many is little.
const LEAST_SHARE: usize = 3;

pub(super) fn look(look: &mut Look<'_>) {
    let mut number = 0;
    while let Some(lane) = look.lane(number) {
        number += 1;
        let length = lane.len();
        let transactions = transactions(look, lane.clone());
        let settings = settings(look, lane.clone());
        let trials = trials(look, lane);
        let saved = transactions.saved.len() + settings.len() + trials.len();
        if saved * LEAST_SHARE < length {
            continue;
        }
        note(look, &transactions.saved, transactions.turns, None);
        for turn in settings.into_iter().chain(trials) {
            let fingerprint = look
                .exchange(turn)
                .and_then(|exchange| exchange.fingerprint.clone())
                .unwrap_or_else(|| PING.into());
            note(look, &[turn], 1, Some(fingerprint));
        }
    }
}

/// The turns of transactions' ends, and those of them that can be saved.
#[derive(Default)]
struct Transactions {
    turns: u64,
    saved: Vec<usize>,
}

fn transactions(look: &Look<'_>, lane: Range<usize>) -> Transactions {
    let mut found = Transactions::default();
    let mut begin = None;
    let mut inside: Vec<usize> = Vec::new();
    for index in lane {
        let turn = &look.turns.all[index];
        match turn.code.and_then(|code| code.bounds) {
            Some(Bound::Begin) => {
                found.turns += 1;
                begin = Some(index);
                inside.clear();
            }
            Some(Bound::End) => {
                found.turns += 1;
                let is_single = match inside.as_slice() {
                    [] => begin.is_some(),
                    [only] => look.turns.all[*only].is_plain,
                    _ => false,
                };
                found.saved.extend(begin);
                if is_single {
                    found.saved.push(index);
                }
                begin = None;
                inside.clear();
            }
            None => {
                if turn.is_open {
                    inside.push(index);
                } else if begin.is_none() {
                    inside.clear();
                }
            }
        }
    }
    found
}

/// Settings made again.
fn settings(look: &Look<'_>, lane: Range<usize>) -> Vec<usize> {
    let mut made = HashSet::new();
    let is_setting = |turn: &usize| {
        let turn = &look.turns.all[*turn];
        turn.verb() == Some(Verb::Control) && turn.code.is_some_and(|code| code.bounds.is_none())
    };
    lane.filter(is_setting)
        .filter(|&turn| {
            let code = look.turns.all[turn].code;
            code.is_some_and(|code| !made.insert(code.number))
        })
        .collect()
}

/// Turns that test whether the connection still works, right before it is used.
fn trials(look: &Look<'_>, lane: Range<usize>) -> Vec<usize> {
    let is_trial = |index: usize| {
        let turn = &look.turns.all[index];
        match turn.task {
            Task::Execute => turn.is_free(Verb::Read) && turn.code.is_some_and(|code| code.is_trial),
            Task::Nothing => look
                .exchange(index)
                .is_some_and(|exchange| exchange.request_bytes <= LONGEST_PING && exchange.turns == 1),
            Task::Prepare | Task::Fetch => false,
        }
    };
    let end = lane.end;
    lane.filter(|&index| is_trial(index) && index + 1 < end && !is_trial(index + 1))
        .collect()
}

/// The name of a turn that tests the connection with a message of the protocol itself.
const PING: &str = "(ping)";

/// Bytes of a request that asks for nothing, at most.
const LONGEST_PING: u64 = 16;

fn note(look: &mut Look<'_>, turns: &[usize], of: u64, fingerprint: Option<Fingerprint>) {
    let Some(waste) = turns
        .first()
        .and_then(|&turn| look.waste(FindingKind::ControlTurns, turn))
    else {
        return;
    };
    for &turn in turns {
        look.claim(turn);
    }
    let count = turns.len() as u64;
    look.note(Waste {
        fingerprint,
        count,
        turns: of,
        saves_turns: count,
        ..waste
    });
}
