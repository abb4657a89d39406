//! Round trips that do no work ([`Control`]): ends of transactions, savepoints, settings, resets,
//! connection tests, and reads of known facts.
//!
//! 1. An empty transaction: both round trips. Around one statement that reads or writes: both; it is atomic
//!    by itself. Around more: BEGIN, which can be sent with the first statement; COMMIT must wait. A ROLLBACK
//!    after the server reported that no transaction is open.
//! 2. SAVEPOINT and RELEASE: both can be sent with the statement between them.
//! 3. A setting made before on the same connection.
//! 4. Session resets, and settings repeated right after them: a pool does so on every return.
//! 5. A connection test right before another statement: a pool tests each connection it emits.
//! 6. A change of database right before a statement that could name it.
//! 7. A read of a session setting; a read, right after a write, of a fact in the write's reply.
//! 8. MULTI, queued commands and EXEC one by one: all but one, as no earlier reply is needed.
//!
//! The first three count only if they are a third of the connection's round trips in the operation:
//! one pair around much work is not waste.

use super::control::Control;
use super::fingerprint_ids::Bound;
use super::ledger::Waste;
use super::operation_view::{OperationView, Task};
use crate::verb::Verb;
use model::{FindingKind, Fingerprint, TransactionState};
use std::collections::HashSet;
use std::ops::Range;
use std::time::Duration;

const MIN_SHARE_DIVISOR: usize = 3;

/// A later statement is not the reason for the test.
const MAX_PAUSE: Duration = Duration::from_millis(50);

pub(super) fn detect_waste(view: &mut OperationView<'_>) {
    let mut number = 0;
    while let Some(lane) = view.lane(number) {
        number += 1;
        queues(view, lane.clone());
        let always = always_saved(view, lane.clone());
        let transactions = transactions(view, lane.clone());
        let settings = settings(view, lane.clone(), &always);
        let saved = transactions.saved.len() + settings.len() + always.len();
        if saved * MIN_SHARE_DIVISOR >= lane.len() {
            record_waste(view, &transactions.saved, transactions.turns, None);
            note_each(view, settings);
        }
        note_each(view, always);
    }
}

#[derive(Default)]
struct Transactions {
    turns: u64,
    saved: Vec<usize>,
}

fn transactions(view: &OperationView<'_>, lane: Range<usize>) -> Transactions {
    let mut found = Transactions::default();
    let mut begin = None;
    let mut inside: Vec<usize> = Vec::new();
    for index in lane.clone() {
        let turn = &view.turns.all[index];
        if turn.is_claimed {
            continue;
        }
        match turn.code.and_then(|code| code.bounds) {
            Some(Bound::Begin) => {
                found.turns += 1;
                begin = Some(index);
                inside.clear();
            }
            Some(Bound::End) => {
                found.turns += 1;
                let is_single = match inside.as_slice() {
                    [] => begin.is_some() || follows_none(view, index, lane.start),
                    [only] => view.turns.all[*only].is_plain,
                    _ => false,
                };
                found.saved.extend(begin);
                if is_single {
                    found.saved.push(index);
                }
                begin = None;
                inside.clear();
            }
            None if control(view, index).is_some() => {}
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

/// Whether it rolls back although the previous reply reported no open transaction, as pools do on
/// every return.
fn follows_none(view: &OperationView<'_>, index: usize, lane_start: usize) -> bool {
    let text = view
        .exchange(index)
        .and_then(|exchange| exchange.fingerprint.as_deref());
    if !text.is_some_and(|text| text.starts_with("rollback")) {
        return false;
    }
    let before = index.checked_sub(1).filter(|before| *before >= lane_start);
    before
        .and_then(|before| view.exchange(before))
        .is_some_and(|exchange| exchange.transaction == Some(TransactionState::Idle))
}

fn control(view: &OperationView<'_>, index: usize) -> Option<Control> {
    view.turns.all.get(index).filter(|turn| !turn.is_claimed)?;
    class(view, index)
}

fn class(view: &OperationView<'_>, index: usize) -> Option<Control> {
    let turn = view.turns.all.get(index)?;
    match turn.task {
        Task::Execute => turn.code?.control,
        Task::Nothing if is_ping(view, index) => Some(Control::Probe),
        Task::Nothing | Task::Prepare | Task::Fetch => None,
    }
}

fn is_ping(view: &OperationView<'_>, index: usize) -> bool {
    view.exchange(index).is_some_and(|exchange| {
        exchange.request_bytes <= MAX_PING_LEN
            && exchange.turns == 1
            && exchange.asked.closes == 0
            && exchange.fingerprint.is_none()
    })
}

fn settings(view: &OperationView<'_>, lane: Range<usize>, claimed: &[usize]) -> Vec<usize> {
    let mut made = HashSet::new();
    let mut saved = Vec::new();
    for index in lane {
        let code = view.turns.all[index].code;
        match control(view, index) {
            Some(Control::Savepoint) => saved.push(index),
            Some(Control::Setting) => {
                let is_made = code.is_some_and(|code| !made.insert(code.number));
                if is_made && !claimed.contains(&index) {
                    saved.push(index);
                }
            }
            _ => {}
        }
    }
    saved
}

fn always_saved(view: &OperationView<'_>, lane: Range<usize>) -> Vec<usize> {
    let mut saved = Vec::new();
    let mut was_reset = false;
    for index in lane.clone() {
        let class = control(view, index);
        let is_saved = match class {
            Some(Control::Reset) => true,
            Some(Control::Setting) => was_reset,
            Some(Control::Probe | Control::Database) => precedes_work(view, index, lane.end),
            Some(Control::SessionRead) => true,
            Some(Control::AfterWrite) => {
                index > lane.start && view.turns.all[index - 1].verb() == Some(Verb::Write)
            }
            Some(Control::Begin | Control::End | Control::Savepoint | Control::Queue) | None => false,
        };
        was_reset = match class {
            Some(Control::Reset) => true,
            Some(_) => was_reset,
            None => false,
        };
        if is_saved {
            saved.push(index);
        }
    }
    saved
}

/// Whether a working round trip follows soon: not another test, nor a pool's work on open or
/// return.
fn precedes_work(view: &OperationView<'_>, index: usize, end: usize) -> bool {
    let own = class(view, index);
    let next = (index + 1 < end).then(|| view.turns.all.get(index + 1)).flatten();
    let is_soon = next.is_some_and(|next| next.gap <= MAX_PAUSE);
    let next = class(view, index + 1);
    is_soon && next != own && !matches!(next, Some(Control::SessionRead | Control::Reset))
}

fn queues(view: &mut OperationView<'_>, lane: Range<usize>) {
    let mut begin = None;
    for index in lane {
        if control(view, index) == Some(Control::Queue) {
            begin = Some(index);
            continue;
        }
        let ends = |text: &str| matches!(text, "EXEC" | "DISCARD");
        let fingerprint = view
            .exchange(index)
            .and_then(|exchange| exchange.fingerprint.clone());
        if !fingerprint.is_some_and(|text| ends(&text)) {
            continue;
        }
        let Some(begin) = begin.take() else { continue };
        let Some(waste) = view.waste(FindingKind::ControlTurns, begin) else {
            continue;
        };
        for turn in begin..=index {
            view.claim(turn);
        }
        let turns = (index + 1 - begin) as u64;
        view.record_waste(Waste {
            count: 1,
            turns,
            saves_turns: turns - 1,
            ..waste
        });
    }
}

const PING: &str = "(ping)";

const MAX_PING_LEN: u64 = 16;

fn note_each(view: &mut OperationView<'_>, turns: Vec<usize>) {
    for turn in turns {
        let fingerprint = view
            .exchange(turn)
            .and_then(|exchange| exchange.fingerprint.clone())
            .unwrap_or_else(|| PING.into());
        record_waste(view, &[turn], 1, Some(fingerprint));
    }
}

fn record_waste(view: &mut OperationView<'_>, turns: &[usize], of: u64, fingerprint: Option<Fingerprint>) {
    let Some(waste) = turns
        .first()
        .and_then(|&turn| view.waste(FindingKind::ControlTurns, turn))
    else {
        return;
    };
    for &turn in turns {
        view.claim(turn);
    }
    let count = turns.len() as u64;
    view.record_waste(Waste {
        fingerprint,
        count,
        turns: of,
        saves_turns: count,
        ..waste
    });
}
