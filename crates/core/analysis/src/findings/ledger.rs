//! Sums waste over operations; at the end selects, prices and words the findings.

use super::clients::Clients;
use super::fingerprint_ids::is_catalogue;
use super::framework_remedies;
use super::loops::Evidence;
use super::remedies;
use super::software::Software;
use super::{FindingsReport, unrewritten_batch};
use foldhash::HashMap;
use model::{
    ConnectionId, Finding, FindingKey, FindingKind, FindingOwners, Fingerprint, Operation, Protocol, Saving,
    Timestamp, is_unseen_fingerprint,
};
use std::cmp::Reverse;
use std::sync::Arc;
use std::time::Duration;

#[derive(Debug, Clone)]
pub(super) struct Waste {
    pub(super) kind: FindingKind,
    pub(super) fingerprint: Option<Fingerprint>,
    pub(super) connection: ConnectionId,
    pub(super) protocol: Protocol,
    pub(super) dependent: Option<bool>,
    pub(super) count: u64,
    pub(super) turns: u64,
    pub(super) saves_turns: u64,
    /// Saved only if a driver makes them, not if the program does at each use.
    pub(super) programs_perhaps: u64,
    /// Saved waits that are not round trips.
    pub(super) saves_waits: u64,
    /// Saved time that is independent of distance.
    pub(super) spares: Duration,
    pub(super) evidence: Evidence,
    /// A loop so tight that it may be a driver's.
    pub(super) may_be_drivers: bool,
}

impl Waste {
    pub(super) fn new(kind: FindingKind, connection: ConnectionId, protocol: Protocol) -> Self {
        Self {
            kind,
            fingerprint: None,
            connection,
            protocol,
            dependent: None,
            count: 0,
            turns: 0,
            saves_turns: 0,
            programs_perhaps: 0,
            saves_waits: 0,
            spares: Duration::ZERO,
            evidence: Evidence::Sure,
            may_be_drivers: false,
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Ledger {
    entries: HashMap<FindingKey, Entry>,
    left_out: u64,
    noted: u64,
}

#[derive(Debug)]
struct Entry {
    first: Waste,
    operations: u64,
    last_operation: Option<u64>,
    weak_until: Timestamp,
    is_weak: bool,
    /// Operations with weak evidence overlapped: perhaps clients of a pool.
    is_side_by_side: bool,
}

pub(super) const MAX_ENTRIES: usize = 4096;

impl Ledger {
    pub(super) fn record_waste(&mut self, waste: Waste, operation: &Operation) {
        self.note_named(waste, &operation.name, Some(operation));
    }

    pub(super) fn note_named(&mut self, waste: Waste, name: &Arc<str>, operation: Option<&Operation>) {
        self.noted += 1;
        let key = FindingKey {
            kind: waste.kind,
            fingerprint: waste.fingerprint.clone(),
            operation_name: name.clone(),
        };
        if self.entries.len() >= MAX_ENTRIES && !self.entries.contains_key(&key) {
            self.left_out += 1;
            return;
        }
        let entry = self.entries.entry(key);
        let entry = entry
            .and_modify(|entry| entry.add(&waste))
            .or_insert_with(|| Entry {
                is_weak: waste.evidence == Evidence::Weak,
                first: waste,
                operations: 0,
                last_operation: None,
                weak_until: Timestamp::default(),
                is_side_by_side: false,
            });
        let id = operation.map(|operation| operation.id);
        if id.is_none() || entry.last_operation != id {
            entry.operations += 1;
            if let Some(operation) = operation {
                entry.is_side_by_side |= operation.at < entry.weak_until;
                entry.weak_until = entry.weak_until.max(operation.at.after(operation.duration));
            }
        }
        entry.last_operation = id;
    }

    pub(super) const fn noted(&self) -> u64 {
        self.noted
    }

    pub(super) fn so_far(&self, clients: &Clients, rtts: &[Duration]) -> FindingsReport {
        let totals = self.totals();
        let entries = self.entries.iter().filter(|(key, entry)| {
            let total = totals.get(&of_all_names(key)).copied().unwrap_or_default();
            total.count >= least(key.kind)
                && !is_first_use(key, total.operations)
                && !entry.may_be_chance(clients)
        });
        let mut findings: Vec<Finding> = entries
            .map(|(key, entry)| finding(key, entry, clients, rtts))
            .collect();
        findings.sort_by(|one, other| order(one).cmp(&order(other)));
        FindingsReport {
            findings,
            left_out: self.left_out,
        }
    }
}

impl Ledger {
    /// Recurrence under another operation name counts.
    fn totals(&self) -> HashMap<(FindingKind, Option<&Fingerprint>), Total> {
        let mut totals: HashMap<_, Total> = HashMap::default();
        for (key, entry) in &self.entries {
            let total = totals.entry(of_all_names(key)).or_default();
            total.count += entry.first.count;
            total.operations += entry.operations;
        }
        totals
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Total {
    count: u64,
    operations: u64,
}

fn of_all_names(key: &FindingKey) -> (FindingKind, Option<&Fingerprint>) {
    (key.kind, key.fingerprint.as_ref())
}

impl Entry {
    fn may_be_chance(&self, clients: &Clients) -> bool {
        let software = software(&self.first, clients);
        self.is_weak && (self.is_side_by_side || software == Software::LoadGenerator)
    }

    fn add(&mut self, waste: &Waste) {
        let sum = &mut self.first;
        sum.count += waste.count;
        sum.turns += waste.turns;
        sum.saves_turns += waste.saves_turns;
        sum.programs_perhaps += waste.programs_perhaps;
        sum.saves_waits += waste.saves_waits;
        sum.spares += waste.spares;
        sum.may_be_drivers &= waste.may_be_drivers;
        sum.dependent = sum.dependent.into_iter().chain(waste.dependent).max();
        self.is_weak &= waste.evidence == Evidence::Weak;
    }
}

fn order(finding: &Finding) -> (Reverse<Duration>, Reverse<u64>, FindingKind, Option<&str>, &str) {
    (
        Reverse(finding.most()),
        Reverse(finding.count),
        finding.kind,
        finding.fingerprint.as_deref(),
        &finding.operation_name,
    )
}

fn software(waste: &Waste, clients: &Clients) -> Software {
    let introduced = clients.introduced(waste.connection);
    introduced.map_or(Software::of_protocol(waste.protocol), |introduced| {
        introduced.software
    })
}

fn finding(key: &FindingKey, entry: &Entry, clients: &Clients, rtts: &[Duration]) -> Finding {
    let sum = &entry.first;
    let introduced = clients.introduced(sum.connection);
    let software = software(sum, clients);
    let is_unrewritten =
        key.kind == FindingKind::RowByRow && sum.may_be_drivers && unrewritten_batch::is_usual_of(software);
    let kind = match is_unrewritten {
        true => FindingKind::UnrewrittenBatch,
        false => key.kind,
    };
    let saves_turns_most = sum
        .saves_turns
        .saturating_sub(sum.count.saturating_mul(remedies::turns_left(kind, software)));
    let programs = programs_perhaps(sum, software, clients);
    let saves_turns = saves_turns_most.saturating_sub(programs);
    let saves = |turns: u64, rtt: Duration| {
        let waits = u32::try_from(turns + sum.saves_waits).unwrap_or(u32::MAX);
        rtt.saturating_mul(waits) + sum.spares
    };
    let mut words = remedy(kind, software, key, sum, clients);
    if programs > 0 {
        words = format!("{words} {}", remedies::PROGRAMS_PERHAPS);
    }
    Finding {
        remedy: words,
        kind,
        fingerprint: key.fingerprint.clone(),
        operation_name: key.operation_name.clone(),
        operations: entry.operations,
        owners: FindingOwners::Known,
        dependent: sum.dependent,
        count: sum.count,
        turns: sum.turns,
        saves_turns,
        saves_turns_most,
        savings: rtts
            .iter()
            .map(|&rtt| Saving {
                rtt,
                saves: saves(saves_turns, rtt),
                bounds: (programs > 0)
                    .then(|| [saves_turns, saves_turns_most].map(|turns| saves(turns, rtt))),
                remedied: None,
            })
            .collect(),
        driver: introduced.and_then(|introduced| introduced.driver.clone()),
    }
}

/// Set-up round trips that the program may make at each use; zero if a driver or framework makes
/// them once per connection.
fn programs_perhaps(sum: &Waste, software: Software, clients: &Clients) -> u64 {
    let driver = clients
        .introduced(sum.connection)
        .and_then(|introduced| introduced.driver.as_ref());
    let is_known = driver.is_some() || clients.framework(sum.connection, None).is_some();
    match software.may_leave_settings_to_programs(is_known) {
        true => sum.programs_perhaps,
        false => 0,
    }
}

/// Reads of system tables that did not recur: the first use of a driver or framework.
fn is_first_use(key: &FindingKey, operations: u64) -> bool {
    let is_read = matches!(
        key.kind,
        FindingKind::NPlusOne | FindingKind::RepeatedRead | FindingKind::SmallFetch
    );
    is_read && operations < RECURRING && key.fingerprint.as_deref().is_some_and(is_catalogue)
}

const RECURRING: u64 = 5;

fn remedy(kind: FindingKind, software: Software, key: &FindingKey, sum: &Waste, clients: &Clients) -> String {
    let fingerprint = key.fingerprint.as_ref();
    let text = fingerprint.map(|fingerprint| &**fingerprint);
    let words = clients
        .framework(sum.connection, fingerprint)
        .and_then(|framework| framework_remedies::find_remedy(kind, framework, software, text))
        .unwrap_or_else(|| {
            let ended_by = clients.ended_by(sum.connection);
            remedies::find_remedy(kind, software, text, sum.dependent, ended_by)
        });
    match text.is_some_and(is_unseen_fingerprint) {
        true => format!("{words} {}", remedies::of_unseen(software)),
        false => words,
    }
}

/// Minimum occurrences to report: a single one may not recur.
const fn least(kind: FindingKind) -> u64 {
    match kind {
        FindingKind::NPlusOne
        | FindingKind::RowByRow
        | FindingKind::UnrewrittenBatch
        | FindingKind::Reconnect
        | FindingKind::ControlTurns
        | FindingKind::Sequential
        | FindingKind::AckStall
        | FindingKind::Redirected
        | FindingKind::HeldTransaction
        | FindingKind::SimilarRequests => 5,
        FindingKind::OneShotPrepare | FindingKind::RepeatedRead | FindingKind::CommentDefeatsCache => 3,
        FindingKind::SmallFetch => 2,
        FindingKind::NoCompression
        | FindingKind::WindowLimited
        | FindingKind::FlowControl
        | FindingKind::ListenerTurn
        | FindingKind::CompressionNotAsked => 1,
    }
}
