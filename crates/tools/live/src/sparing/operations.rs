//! Operations in progress, the statements of each, and which executions the remedy would remove.

mod visit;

use super::alternation::Alternation;
use super::reading::Request;
use super::spared::Spared;
use analysis::verb;
use model::{Fingerprint, SparedExecutions, SparedOperation, SparingOutcome, Timestamp, TransactionState};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use visit::{Visit, begins_transaction};

/// Of a connection: unique across the relays.
pub(super) type Number = u64;

#[derive(Debug, Default)]
pub(super) struct Operations {
    alternation: Alternation,
    /// Whether operations are HTTP requests; otherwise transactions and bursts of a connection.
    by_request: bool,
    /// By their connection, of a web client or of the database.
    in_progress: HashMap<Number, InProgress>,
    begun: u64,
    ended: u64,
    visits: HashMap<Number, Visit>,
    statements: HashMap<Fingerprint, Statement>,
    measured: BTreeMap<Arc<str>, SparedOperation>,
    executions: SparedExecutions,
}

#[derive(Debug, Clone, Copy, Default)]
struct Statement {
    /// Executions in one operation.
    most: u32,
    is_named: bool,
}

#[derive(Debug)]
struct InProgress {
    number: u64,
    name: Arc<str>,
    began: Timestamp,
    phase: u64,
    /// Whether it began beside operations of its phase only.
    is_pure: bool,
    executed: HashMap<Fingerprint, u32>,
    removable: u64,
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
}

impl Operations {
    pub(super) fn new(by_request: bool) -> Self {
        Self {
            by_request,
            ..Self::default()
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
        self.in_progress.insert(
            key,
            InProgress {
                number: self.begun,
                name: name.clone(),
                began,
                phase,
                is_pure,
                executed: HashMap::new(),
                removable: 0,
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
        let current = self.alternation.phase();
        let measured = self
            .measured
            .entry(operation.name)
            .or_insert_with_key(|name| SparedOperation::new(name.clone()));
        if operation.is_pure && operation.has_reply && operation.phase == current {
            self.alternation.ended(operation.phase);
            let arm = match self.alternation.spares() {
                true => &mut measured.without,
                false => &mut measured.with,
            };
            arm.add(at.since(operation.began));
            measured.concerned += u64::from(operation.removable > 0);
        } else {
            measured.mixed += 1;
        }
    }

    /// A client's bytes on a database connection. Returns whether they are spared.
    pub(super) fn process_piece(
        &mut self,
        connection: Number,
        at: Timestamp,
        piece: Piece<'_>,
        spared: &Spared,
    ) -> bool {
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
                let (is_named, is_one) = self.record_execution(connection, fingerprint, spared);
                self.executions.all += u64::from(is_named && spares);
                is_removable &= is_one;
                removable += u64::from(is_one);
            }
            let others = request.others.iter();
            is_removable &= others
                .filter(|other| !request.executes.contains(other))
                .all(|other| self.is_named(other, spared) && self.executed(connection, other) > 0);
        }
        let is_spared = is_removable && at_rest && spares;
        self.count_removable(connection, removable);
        if spares {
            self.executions.removable += removable;
            self.executions.spared += if is_spared { removable } else { 0 };
            self.executions.not_at_rest += if at_rest { 0 } else { removable };
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

    fn is_named(&self, fingerprint: &Fingerprint, spared: &Spared) -> bool {
        let known = self.statements.get(fingerprint);
        known.is_some_and(|statement| statement.is_named && statement.most >= spared.min_executions())
    }

    /// Counts an execution. Returns whether it is named, and whether the remedy removes it.
    fn record_execution(
        &mut self,
        connection: Number,
        fingerprint: &Fingerprint,
        spared: &Spared,
    ) -> (bool, bool) {
        let earlier = self.execute(connection, fingerprint);
        let statement = self.statements.entry(fingerprint.clone());
        let statement = statement.or_insert_with_key(|fingerprint| Statement {
            most: 0,
            is_named: spared.names(fingerprint),
        });
        statement.most = statement.most.max(earlier + 1);
        let is_named = self.is_named(fingerprint, spared);
        (is_named, is_named && earlier > 0)
    }

    /// The first named statement that ran.
    pub(super) fn named_statement(&self) -> Option<&Fingerprint> {
        let mut named = self.statements.iter().filter(|(_, statement)| statement.is_named);
        named.next().map(|(fingerprint, _)| fingerprint)
    }

    /// Operations that the remedy would shorten: the owner, or all in progress if it is unknown.
    fn count_removable(&mut self, connection: Number, removable: u64) {
        let owner = self.owner(connection);
        for (key, operation) in &mut self.in_progress {
            if owner.is_none_or(|owner| owner == *key) {
                operation.removable += removable;
            }
        }
    }

    /// A connection is opened, and connecting is to be spared. Returns whether it is.
    pub(super) fn open_connection(&mut self, connection: Number, at: Timestamp) -> bool {
        if !self.by_request {
            self.end_burst_before(connection, at, &[Request::default()]);
            self.end_bursts(at);
            self.begin(connection, at, &Arc::from(CONNECTING));
        }
        for operation in self.in_progress.values_mut() {
            operation.removable += 1;
        }
        if self.spares() {
            self.executions.all += 1;
            self.executions.removable += 1;
            self.executions.spared += 1;
        }
        self.spares()
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

    fn end_burst_before(&mut self, connection: Number, at: Timestamp, requests: &[Request]) {
        if let Some(visit) = self.visits.get(&connection)
            && (visit.is_over(at) || (!visit.transaction && begins_transaction(requests)))
        {
            self.end(connection, visit.replied);
        }
        if requests.is_empty() {
            return;
        }
        let goes_on = self.in_progress.contains_key(&connection);
        let visit = self.visits.entry(connection).or_default();
        if !goes_on && !visit.transaction && visit.pending_replies == 0 {
            *visit = Visit {
                began: at,
                replied: at,
                ..Visit::default()
            };
        } else if visit.pending_replies == 0 {
            visit.pauses += 1;
            visit.paused += at.since(visit.replied);
        }
    }

    fn begin_burst(&mut self, connection: Number, at: Timestamp, requests: &[Request]) {
        let mut executes = requests.iter().flat_map(|request| &request.executes);
        let work = executes.find(|fingerprint| verb::is_work(fingerprint));
        if let Some(work) = work.filter(|_| !self.in_progress.contains_key(&connection)) {
            self.end_bursts(at);
            let began = self.visits.get(&connection).map_or(at, |visit| visit.began);
            self.begin(connection, began, work);
        }
    }

    /// Before another begins: of connections that rest.
    fn end_bursts(&mut self, at: Timestamp) {
        let over = |number: &Number| {
            let visit = self.visits.get(number).filter(|visit| visit.is_over(at))?;
            Some((*number, visit.replied))
        };
        let over: Vec<_> = self.in_progress.keys().filter_map(over).collect();
        for (number, replied) in over {
            self.end(number, replied);
        }
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

    pub(super) fn finish(&mut self) -> SparingOutcome {
        if !self.by_request {
            let open: Vec<_> = self.visits.keys().copied().collect();
            open.into_iter().for_each(|number| self.close_connection(number));
        }
        SparingOutcome {
            executions: std::mem::take(&mut self.executions),
            operations: std::mem::take(&mut self.measured).into_values().collect(),
            ..SparingOutcome::default()
        }
    }
}

/// Name of operations of new connections.
const CONNECTING: &str = "connecting";

#[cfg(test)]
mod tests;
