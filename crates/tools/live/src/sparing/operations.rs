//! Operations in progress, the statements of each, and which executions the remedy would remove.

mod bursts;
mod opening;
mod proving;
mod visit;

use super::alternation::Alternation;
use super::reading::Request;
use super::spared::Spared;
use super::stage::{Arm, Results, Stage};
use anyhow::{Result, bail};
use model::{Fingerprint, Timestamp, TransactionState};
use proving::Proving;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use visit::Visit;

/// Of a connection: unique across the relays.
pub(super) type Number = u64;

#[derive(Debug)]
pub(super) struct Operations {
    stage: Stage,
    results: Results,
    proving: Option<Proving>,
    /// Round-trip time of the link.
    rtt: Duration,
    alternation: Alternation,
    /// Whether operations are HTTP requests; otherwise transactions and bursts of a connection.
    by_request: bool,
    /// By their connection, of a web client or of the database.
    in_progress: HashMap<Number, InProgress>,
    begun: u64,
    ended: u64,
    visits: HashMap<Number, Visit>,
    statements: HashMap<Fingerprint, Statement>,
    /// Connections that have logged in.
    logins: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Statement {
    /// Executions in one operation.
    most: u32,
    is_named: bool,
    /// Connections that have begun with it.
    begins: u64,
}

#[derive(Debug)]
struct InProgress {
    number: u64,
    name: Arc<str>,
    began: Timestamp,
    /// Stages before its own.
    stage: usize,
    phase: u64,
    /// Whether it began beside operations of its phase only.
    is_pure: bool,
    executed: HashMap<Fingerprint, u32>,
    removable: u64,
    /// Round trips without delay.
    removed: u64,
    has_reply: bool,
}

/// A piece of a client's bytes, decoded.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece<'a> {
    pub(super) requests: &'a [Request],
    /// Messages without a reply belong to the request before them.
    pub(super) one_way: bool,
    pub(super) is_whole: bool,
    /// No earlier bytes are on their way.
    pub(super) at_rest: bool,
    /// Only statements that set a new connection up.
    pub(super) sets_up: bool,
}

impl Operations {
    pub(super) fn new(spared: Spared, by_request: bool, rtt: Duration) -> Self {
        Self {
            stage: Stage::new(spared),
            results: Results::new(by_request),
            proving: None,
            rtt,
            alternation: Alternation::default(),
            by_request,
            in_progress: HashMap::new(),
            begun: 0,
            ended: 0,
            visits: HashMap::new(),
            statements: HashMap::new(),
            logins: 0,
        }
    }

    pub(super) fn http_request(&mut self, connection: Number, at: Timestamp, name: &Arc<str>) {
        let is_pipelined = self.in_progress.contains_key(&connection);
        self.end(connection, at);
        self.begin(connection, at, name);
        // The next reply is the predecessor's.
        if let Some(operation) = self.in_progress.get_mut(&connection) {
            operation.is_pure &= !is_pipelined;
        }
    }

    pub(super) fn http_reply(&mut self, connection: Number, at: Timestamp) {
        self.mark_replied(connection);
        self.end(connection, at);
    }

    fn mark_replied(&mut self, key: Number) {
        if let Some(operation) = self.in_progress.get_mut(&key) {
            operation.has_reply = true;
        }
    }

    fn begin(&mut self, key: Number, began: Timestamp, name: &Arc<str>) {
        let phase = self.alternation.begin(name, self.in_progress.len());
        let is_pure = self.in_progress.values().all(|other| other.phase == phase);
        self.begun += 1;
        let at_once = self.in_progress.len() + 1;
        self.results.most_at_once = self.results.most_at_once.max(at_once);
        let stage = self.begin_in_stage(began);
        self.in_progress.insert(
            key,
            InProgress {
                number: self.begun,
                name: name.clone(),
                began,
                stage,
                phase,
                is_pure,
                executed: HashMap::new(),
                removable: 0,
                removed: 0,
                has_reply: false,
            },
        );
    }

    /// Without a reply, a web request is mixed, and operations of a connection count nowhere.
    pub(super) fn end(&mut self, key: Number, at: Timestamp) {
        let Some(operation) = self.in_progress.remove(&key) else {
            return;
        };
        self.ended += 1;
        if !operation.has_reply && !self.by_request {
            return;
        }
        if operation.stage != self.stages_before() {
            return;
        }
        self.results.ended += 1;
        let is_pure = operation.is_pure && operation.phase == self.alternation.phase();
        let took = at.since(operation.began);
        let arm = match is_pure && operation.has_reply {
            false => Arm::Mixed,
            true if self.alternation.spares() => Arm::Without {
                took,
                removed: operation.removed,
            },
            true => Arm::With(took),
        };
        if !matches!(arm, Arm::Mixed) {
            self.alternation.ended(operation.phase);
        }
        if operation.removable > 0 || self.stage.spared == Spared::Control {
            self.results.add(operation.name, arm);
        }
        if self.stage.is_proved(&self.results) {
            self.next_stage();
        }
    }

    /// A client's bytes on a database connection. Returns whether they are spared.
    pub(super) fn process_piece(&mut self, connection: Number, at: Timestamp, piece: Piece<'_>) -> bool {
        if !self.by_request {
            self.end_burst_before(connection, at, piece.requests);
            self.begin_burst(connection, at, piece.requests);
        }
        let visit = self.visits.entry(connection).or_default();
        if piece.requests.is_empty() {
            return visit.is_spared && piece.one_way && piece.is_whole && piece.at_rest;
        }
        let at_rest = piece.at_rest && visit.pending_replies == 0;
        // A request after a pause continues the one before.
        let continued = u32::from(std::mem::take(&mut visit.reply_paused) && visit.pending_replies > 0);
        visit.pending_replies += piece.requests.len() as u32 - continued;
        let spares = self.spares();
        let (mut is_removable, mut removable) = (piece.is_whole, 0);
        for request in piece.requests {
            let is_empty = request.executes.is_empty() && request.others.is_empty();
            is_removable &= !is_empty;
            for fingerprint in &request.executes {
                let (is_named, is_one) = self.record_execution(connection, fingerprint);
                self.results.executions.all += u64::from(is_named && spares);
                is_removable &= is_one;
                removable += u64::from(is_one);
            }
            let others = request.others.iter();
            is_removable &= others
                .filter(|other| !request.executes.contains(other))
                .all(|other| self.is_named(other) && self.executed(connection, other) > 0);
        }
        if piece.sets_up && self.set_up_is_usual(piece.requests) {
            is_removable |= piece.is_whole && self.stage.spared == Spared::Connecting;
        }
        let is_spared = is_removable && at_rest && spares;
        self.count_removable(connection, removable, u64::from(is_spared));
        if spares {
            let executions = &mut self.results.executions;
            executions.removable += removable;
            executions.spared += if is_spared { removable } else { 0 };
            executions.not_at_rest += if at_rest { 0 } else { removable };
        }
        if let Some(visit) = self.visits.get_mut(&connection) {
            visit.is_spared = is_spared;
        }
        is_spared
    }

    /// Whether exchanges of operations in progress are spared.
    fn spares(&self) -> bool {
        self.alternation.spares() && !self.in_progress.is_empty()
    }

    fn is_named(&self, fingerprint: &Fingerprint) -> bool {
        let known = self.statements.get(fingerprint);
        let least = self.stage.spared.min_executions();
        known.is_some_and(|statement| statement.is_named && statement.most >= least)
    }

    /// Counts an execution. Returns whether it is named, and whether the remedy removes it.
    fn record_execution(&mut self, connection: Number, fingerprint: &Fingerprint) -> (bool, bool) {
        let earlier = self.execute(connection, fingerprint);
        let statement = self.statement(fingerprint);
        statement.most = statement.most.max(earlier + 1);
        let is_named = self.is_named(fingerprint);
        (is_named, is_named && earlier > 0)
    }

    fn statement(&mut self, fingerprint: &Fingerprint) -> &mut Statement {
        let spared = &self.stage.spared;
        let statement = self.statements.entry(fingerprint.clone());
        statement.or_insert_with_key(|fingerprint| Statement {
            is_named: spared.names(fingerprint),
            ..Statement::default()
        })
    }

    /// # Errors
    /// If statements ran, and none of them is the one to spare.
    pub(super) fn check_named(&self) -> Result<()> {
        let is_stated = matches!(self.stage.spared, Spared::Statement { .. }) && !self.proves();
        if !is_stated || self.statements.is_empty() || self.named_statement().is_some() {
            return Ok(());
        }
        let near: Vec<_> = self.stage.spared.nearest(self.statements.keys());
        bail!(
            "--spare: '{}' did not run. Name a statement as it is printed; the nearest that ran: {}",
            self.printed(),
            near.join(", ")
        )
    }

    /// The first named statement that ran.
    fn named_statement(&self) -> Option<&Fingerprint> {
        let mut named = self.statements.iter().filter(|(_, statement)| statement.is_named);
        named.next().map(|(fingerprint, _)| fingerprint)
    }

    /// Operations that the remedy would shorten: the owner, or all in progress if it is unknown.
    fn count_removable(&mut self, connection: Number, removable: u64, removed: u64) {
        let owner = self.owner(connection);
        for (key, operation) in &mut self.in_progress {
            if owner.is_none_or(|owner| owner == *key) {
                operation.removable += removable;
                operation.removed += removed;
            }
        }
    }

    /// The key of the operation in progress to which a database connection belongs, if known.
    fn owner(&self, connection: Number) -> Option<Number> {
        if !self.by_request {
            return Some(connection);
        }
        let (key, number) = self.visits.get(&connection)?.owner?;
        let operation = self.in_progress.get(&key)?;
        (operation.number == number).then_some(key)
    }

    /// Counts an execution; returns those before it in its operation.
    fn execute(&mut self, connection: Number, fingerprint: &Fingerprint) -> u32 {
        if self.by_request {
            self.find_owner(connection, fingerprint);
        }
        let earlier = self.executed(connection, fingerprint);
        let owner = self.owner(connection);
        let counts = [
            owner
                .and_then(|owner| self.in_progress.get_mut(&owner))
                .map(|of| &mut of.executed),
            self.visits.get_mut(&connection).map(|of| &mut of.executed),
        ];
        for executed in counts.into_iter().flatten() {
            *executed.entry(fingerprint.clone()).or_default() += 1;
        }
        earlier
    }

    fn executed(&self, connection: Number, fingerprint: &Fingerprint) -> u32 {
        let owner = self.owner(connection);
        let executed = match owner.and_then(|owner| self.in_progress.get(&owner)) {
            Some(operation) => Some(&operation.executed),
            None => self.visits.get(&connection).map(|visit| &visit.executed),
        };
        executed
            .and_then(|executed| executed.get(fingerprint))
            .copied()
            .unwrap_or_default()
    }

    /// With one request in progress, it is the owner. With several, a connection stays with its
    /// operation until an operation has ended and another statement than that of a loop comes.
    fn find_owner(&mut self, connection: Number, fingerprint: &Fingerprint) {
        let is_known = self.owner(connection).is_some();
        let mut each = self.in_progress.iter();
        let only = each.next().map(|(key, operation)| (*key, operation.number));
        let only = only.filter(|_| each.next().is_none());
        let (begun, ended) = (self.begun, self.ended);
        let oldest = self.in_progress.values().map(|operation| operation.number).min();
        let Some(visit) = self.visits.get_mut(&connection) else {
            return;
        };
        let owner_ended = oldest.is_none_or(|oldest| oldest > visit.begun);
        let loops = visit.executed.get(fingerprint).is_some_and(|count| *count > 1);
        let is_other = match (only, visit.owner) {
            (Some(_), owner) => owner != only,
            (None, Some(_)) => !is_known,
            (None, None) => owner_ended || (ended != visit.ended && !loops),
        };
        if is_other {
            (visit.owner, visit.begun) = (only, begun);
            visit.executed.clear();
        }
        visit.ended = ended;
    }

    pub(super) fn pause_reply(&mut self, connection: Number) {
        self.visits.entry(connection).or_default().reply_paused = true;
    }

    pub(super) fn process_reply(
        &mut self,
        connection: Number,
        at: Timestamp,
        state: Option<TransactionState>,
    ) {
        let visit = self.visits.entry(connection).or_default();
        let was_inside = visit.transaction;
        visit.pending_replies = visit.pending_replies.saturating_sub(1);
        (visit.reply_paused, visit.replied) = (false, at);
        if let Some(state) = state {
            visit.transaction = state != TransactionState::Idle;
        }
        let is_over = was_inside && !visit.transaction;
        if !self.by_request {
            self.mark_replied(connection);
            if is_over {
                self.end(connection, at);
            }
        }
    }

    pub(super) fn close_connection(&mut self, connection: Number) {
        if let Some(visit) = self.visits.remove(&connection)
            && !self.by_request
        {
            self.end(connection, visit.replied);
        }
    }
}

#[cfg(test)]
mod tests;
