//! Replays operations without the exchanges that the remedies of findings leave out.
//!
//! A left-out exchange loses its round trip. How much of its work and bytes remains depends on the
//! remedy ([`Remains`]) and cannot be seen, so three replays use the likely, the least and the
//! most. The saving is that of the whole operation, including overlaps.

use crate::plan::{Crossing, OperationPlan, PlanNode, nanos};
use foldhash::HashMap;
use model::{FindingKey, FindingKind, LeftOut, Nanos, Remains};
use std::time::Duration;

/// Assumed remainder of the work that depends on the remedy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Estimate {
    Least,
    /// As in the measured applications (docs/definitions.md#work-that-remains).
    Likely,
    /// As much as before; half of a statement's own work.
    Most,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RemedySum {
    /// Indexed by the remaining work, the most first.
    saved: [Duration; 3],
    /// Time of each operation without the left-out exchanges, with least, likely and most remaining
    /// work.
    left: Vec<[Duration; 3]>,
}

impl RemedySum {
    /// Mean saving per operation (least, likely and most).
    pub fn saved(&self) -> [Duration; 3] {
        self.saved.map(|sum| sum.div_f64(self.left.len().max(1) as f64))
    }

    /// Median operation time without the left-out exchanges (least, likely and most).
    pub fn left(&self) -> [Duration; 3] {
        [0, 1, 2].map(|place| {
            let mut all: Vec<Duration> = self.left.iter().map(|left| left[place]).collect();
            all.sort_unstable();
            let middle = all.len() / 2;
            match (all.get(middle), all.len() % 2) {
                (Some(upper), 0) => (all[middle - 1] + *upper) / 2,
                (Some(middle), _) => *middle,
                (None, _) => Duration::ZERO,
            }
        })
    }
}

#[derive(Debug, Default)]
pub struct Remedies {
    sums: HashMap<FindingKey, Vec<RemedySum>>,
    last_operation: HashMap<FindingKey, u64>,
}

impl Remedies {
    /// Adds an operation, or a part of one: per target its full time (`full`), and its time with
    /// each [`Estimate`].
    pub(crate) fn add(
        &mut self,
        finding: &FindingKey,
        operation: u64,
        full: &[Option<Duration>],
        without: [&[Option<Duration>]; 3],
    ) {
        let sums = self
            .sums
            .entry(finding.clone())
            .or_insert_with(|| vec![RemedySum::default(); full.len()]);
        let is_new = self.last_operation.insert(finding.clone(), operation) != Some(operation);
        for (target, (sum, full)) in sums.iter_mut().zip(full).enumerate() {
            let left = without.map(|estimate| estimate.get(target).copied().flatten());
            let (Some(full), [Some(least), Some(likely), Some(most)]) = (*full, left) else {
                continue;
            };
            let left = [least, likely, most];
            for (saved, left) in sum.saved.iter_mut().zip([most, likely, least]) {
                *saved += full.saturating_sub(left);
            }
            match sum.left.last_mut().filter(|_| !is_new) {
                Some(parts) => parts.iter_mut().zip(left).for_each(|(sum, part)| *sum += part),
                None => sum.left.push(left),
            }
        }
    }

    /// Savings of a finding's remedy on a target; `None` if no operation was replayed without it.
    pub fn remedy_sum(&self, finding: &FindingKey, target: usize) -> Option<&RemedySum> {
        let sum = self.sums.get(finding)?.get(target)?;
        (!sum.left.is_empty()).then_some(sum)
    }

    pub fn findings(&self) -> impl Iterator<Item = &FindingKey> {
        self.sums.keys()
    }
}

pub(crate) fn without<'a>(
    plan: &OperationPlan,
    left_out: impl IntoIterator<Item = &'a LeftOut>,
    estimate: Estimate,
) -> OperationPlan {
    let mut plan = plan.clone();
    let mut falls_away: Vec<Option<FindingKind>> = vec![None; plan.nodes.len()];
    for one in left_out {
        for step in &one.steps {
            for place in plan.places_of(*step as usize) {
                falls_away[place] = Some(one.finding.kind);
            }
        }
        for step in &one.held_back {
            plan.hold_nothing_back(*step as usize);
        }
    }
    // The previous round trip on each connection, which carries the bytes of the removed ones.
    let mut carriers: Vec<Option<usize>> = vec![None; plan.connections.len()];
    let mut first_of_connection = vec![true; plan.connections.len()];
    for (place, kind) in falls_away.into_iter().enumerate() {
        let connection = plan.nodes[place].connection.index();
        let Some(kind) = kind else {
            if plan.nodes[place].crossing == Crossing::Moved && plan.nodes[place].has_reply {
                carriers[connection] = Some(place);
            }
            continue;
        };
        let was_moved = plan.nodes[place].crossing == Crossing::Moved;
        if let Some(carrier) = carriers[connection].filter(|_| was_moved) {
            let [request, reply] = carried(kind, &plan.nodes[place], estimate);
            plan.nodes[carrier].bytes.request += request;
            plan.nodes[carrier].bytes.reply += reply;
        }
        let is_first = std::mem::take(&mut first_of_connection[connection]);
        lessen(&mut plan.nodes[place], kind.remains(), is_first, estimate);
    }
    plan
}

fn lessen(node: &mut PlanNode, remains: Remains, is_first: bool, estimate: Estimate) {
    node.crossing = Crossing::Measured {
        request: Nanos::ZERO,
        reply: Nanos::ZERO,
        round_trip: Nanos::ZERO,
        recovery: Nanos::ZERO,
    };
    let of_call = |work: Nanos, own: Duration| match estimate {
        Estimate::Least => Nanos::ZERO,
        Estimate::Likely => without_share(work, own, 1.0 - ROW_SHARE),
        Estimate::Most => without_share(work, own, 0.5),
    };
    let measured = &mut node.measured;
    match remains {
        Remains::Work | Remains::WorkAndBytes => {}
        Remains::Rows => {
            measured.client_before = of_call(measured.client_before, CLIENTS_OWN);
            measured.server_before = of_call(measured.server_before, SERVERS_OWN);
            measured.server_inside = of_call(measured.server_inside, SERVERS_OWN);
        }
        Remains::Client => {
            measured.client_before = of_call(measured.client_before, CLIENTS_OWN);
            (measured.server_before, measured.server_inside) = (Nanos::ZERO, Nanos::ZERO);
        }
        Remains::Nothing => {
            // Client time before connecting may have any cause.
            if !is_first {
                measured.client_before = Nanos::ZERO;
            }
            (measured.server_before, measured.server_inside) = (Nanos::ZERO, Nanos::ZERO);
            measured.unknown = Nanos::ZERO;
        }
    }
}

fn without_share(work: Nanos, own: Duration, share: f64) -> Nanos {
    let own = work.min(nanos(own));
    work - Nanos::from_f64(own.as_f64() * share)
}

/// Request and reply bytes that another round trip carries instead.
fn carried(kind: FindingKind, node: &PlanNode, estimate: Estimate) -> [u64; 2] {
    let beyond_names = |bytes: u64| match estimate {
        Estimate::Least => 0,
        Estimate::Likely => bytes.saturating_sub(NAMES),
        Estimate::Most => bytes,
    };
    match (kind.remains(), kind) {
        (Remains::WorkAndBytes, FindingKind::SmallFetch) => [0, node.bytes.reply],
        (Remains::WorkAndBytes, _) => [node.bytes.request, node.bytes.reply],
        (Remains::Rows, FindingKind::NPlusOne) => [0, beyond_names(node.bytes.reply)],
        (Remains::Rows, _) => [beyond_names(node.bytes.request), node.bytes.reply],
        (Remains::Work | Remains::Client | Remains::Nothing, _) => [0, 0],
    }
}

/// Maximum client time of the statement itself: writing it, and reading the previous reply. The
/// rest is the program's.
const CLIENTS_OWN: Duration = Duration::from_micros(500);
/// Maximum server time of the statement itself: reading, parsing and planning. The rest is for its
/// rows.
const SERVERS_OWN: Duration = Duration::from_micros(250);
/// Cost of a row in a statement for many rows, as a share of the statement's own work.
const ROW_SHARE: f64 = 0.08;
/// Bytes of a reply, or of a writing statement, for column names and text instead of rows.
const NAMES: u64 = 128;
