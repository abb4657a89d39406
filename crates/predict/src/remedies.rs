//! Operations replayed without what the remedies of findings leave out.
//!
//! What is left out loses its way: no round trip. What remains of its work and its bytes depends on the
//! remedy ([`Remains`]), and how much that is cannot be seen: so an operation is replayed with what is
//! likely, with the least and with the most that may remain. A saving is what the operation as a whole gains,
//! with all that overlapped.

use crate::plan::{Crossing, OperationPlan, PlanNode, nanos};
use foldhash::HashMap;
use model::{FindingKey, FindingKind, LeftOut, Remains};
use std::time::Duration;

/// How much of the work that depends on the remedy is taken to remain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Estimate {
    /// None.
    Least,
    /// As much as in the applications that were measured (docs/definitions.md#work-that-remains).
    Likely,
    /// As much as before, and for what is one statement's own half.
    Most,
}

/// What remedies save on one target, over the operations that were replayed without them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RemedySum {
    /// Time saved in them, if the most, what is likely, and the least of the work remains.
    saved: [Duration; 3],
    /// What each of them takes without, likewise: the least first.
    left: Vec<[Duration; 3]>,
}

impl RemedySum {
    /// Time saved in an operation on average, and its bounds: the least, what is likely, and the most.
    pub fn saved(&self) -> [Duration; 3] {
        self.saved.map(|sum| sum.div_f64(self.left.len().max(1) as f64))
    }

    /// The medians of what an operation takes without: the least, what is likely, and the most.
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

/// What remedies save, by finding and target.
#[derive(Debug, Default)]
pub struct Remedies {
    sums: HashMap<FindingKey, Vec<RemedySum>>,
    last_operation: HashMap<FindingKey, u64>,
}

impl Remedies {
    /// Adds an operation, or a part of one: on each of the targets on which it was replayed what it takes
    /// (`full`), and what without, with each [`Estimate`].
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

    /// What the remedy of a finding saves on the target with this number; `None` if nothing was replayed
    /// without it.
    pub fn remedy_sum(&self, finding: &FindingKey, target: usize) -> Option<&RemedySum> {
        let sum = self.sums.get(finding)?.get(target)?;
        (!sum.left.is_empty()).then_some(sum)
    }

    /// The findings whose remedies left something out of an operation.
    pub fn findings(&self) -> impl Iterator<Item = &FindingKey> {
        self.sums.keys()
    }
}

/// The plan without what these leave out.
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
    // The last round trip before on each connection, which takes along the bytes of what falls away.
    let mut carriers: Vec<Option<usize>> = vec![None; plan.connections.len()];
    let mut first_of_connection = vec![true; plan.connections.len()];
    for (place, kind) in falls_away.into_iter().enumerate() {
        let connection = plan.nodes[place].connection as usize;
        let Some(kind) = kind else {
            if plan.nodes[place].crossing == Crossing::Moved && plan.nodes[place].has_reply {
                carriers[connection] = Some(place);
            }
            continue;
        };
        let was_moved = plan.nodes[place].crossing == Crossing::Moved;
        if let Some(carrier) = carriers[connection].filter(|_| was_moved) {
            let [request, reply] = carried(kind, &plan.nodes[place], estimate);
            plan.nodes[carrier].request_bytes += request;
            plan.nodes[carrier].reply_bytes += reply;
        }
        let is_first = std::mem::take(&mut first_of_connection[connection]);
        lessen(&mut plan.nodes[place], kind.remains(), is_first, estimate);
    }
    plan
}

/// A node loses its way, and what does not remain of its work.
fn lessen(node: &mut PlanNode, remains: Remains, is_first: bool, estimate: Estimate) {
    node.crossing = Crossing::Measured {
        request: 0,
        reply: 0,
        round_trip: 0,
        recovery: 0,
    };
    let of_call = |work: u64, own: Duration| match estimate {
        Estimate::Least => 0,
        Estimate::Likely => without_share(work, own, 1.0 - ROW_SHARE),
        Estimate::Most => without_share(work, own, 0.5),
    };
    match remains {
        Remains::Work | Remains::WorkAndBytes => {}
        Remains::Rows => {
            node.client_before = of_call(node.client_before, CLIENTS_OWN);
            node.server_before = of_call(node.server_before, SERVERS_OWN);
            node.server_inside = of_call(node.server_inside, SERVERS_OWN);
        }
        Remains::Client => {
            node.client_before = of_call(node.client_before, CLIENTS_OWN);
            (node.server_before, node.server_inside) = (0, 0);
        }
        Remains::Nothing => {
            // Until it connects the client may do anything.
            if !is_first {
                node.client_before = 0;
            }
            (node.server_before, node.server_inside, node.unknown) = (0, 0, 0);
        }
    }
}

/// Work less a share of what is the statement's own of it.
fn without_share(work: u64, own: Duration, share: f64) -> u64 {
    let own = work.min(nanos(own));
    work - (own as f64 * share) as u64
}

/// Bytes of a request and of its reply that another round trip takes along.
fn carried(kind: FindingKind, node: &PlanNode, estimate: Estimate) -> [u64; 2] {
    let beyond_names = |bytes: u64| match estimate {
        Estimate::Least => 0,
        Estimate::Likely => bytes.saturating_sub(NAMES),
        Estimate::Most => bytes,
    };
    match (kind.remains(), kind) {
        (Remains::WorkAndBytes, FindingKind::SmallFetch) => [0, node.reply_bytes],
        (Remains::WorkAndBytes, _) => [node.request_bytes, node.reply_bytes],
        (Remains::Rows, FindingKind::NPlusOne) => [0, beyond_names(node.reply_bytes)],
        (Remains::Rows, _) => [beyond_names(node.request_bytes), node.reply_bytes],
        (Remains::Work | Remains::Client | Remains::Nothing, _) => [0, 0],
    }
}

/// Of a client's time before a statement, what is the statement's own at most: to write it and to read the
/// reply to the one before. What is longer, the program computes.
const CLIENTS_OWN: Duration = Duration::from_micros(500);
/// Of a server's time for a statement, what is the statement's own at most: to read, parse and plan it. What
/// is longer, its rows take.
const SERVERS_OWN: Duration = Duration::from_micros(250);
/// Of what is a statement's own, a row of a statement for many costs this share.
const ROW_SHARE: f64 = 0.08;
/// Bytes of a reply, or of a statement that writes, that are there once however many its rows: the columns'
/// names, the text.
const NAMES: u64 = 128;
