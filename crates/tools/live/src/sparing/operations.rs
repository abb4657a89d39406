//! Operations in progress, the statements of each, and which executions the remedy would remove.

use super::alternation::Alternation;
use super::reading::Request;
use super::spared::Spared;
use analysis::verb;
use model::{Fingerprint, SparedExecutions, SparedOperation, SparingOutcome, Timestamp, TransactionState};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

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
    /// Most executions of a statement in an operation.
    most: HashMap<Fingerprint, u32>,
    measured: BTreeMap<Arc<str>, SparedOperation>,
    executions: SparedExecutions,
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
}

/// Requests of a database connection for one operation, as far as known.
#[derive(Debug, Default)]
struct Visit {
    /// The operation's connection, and its number.
    owner: Option<(Number, u64)>,
    executed: HashMap<Fingerprint, u32>,
    /// Operations ended when it last asked.
    ended: u64,
    transaction: bool,
    asks: bool,
    began: Timestamp,
    replied: Timestamp,
    pauses: u32,
    paused: Duration,
    is_spared: bool,
}

impl Visit {
    /// Whether a pause ends the burst, as in the analysis.
    fn is_over(&self, at: Timestamp) -> bool {
        let mean = self.paused.checked_div(self.pauses).unwrap_or_default();
        let longest = (mean * TIMES_THE_MEAN).clamp(MIN_PAUSE, MAX_PAUSE);
        !self.asks && !self.transaction && at.since(self.replied) > longest
    }
}

/// What a piece of a client's bytes holds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece<'a> {
    pub(super) requests: &'a [Request],
    /// Messages without a reply belong to the request before them.
    pub(super) one_way: bool,
    pub(super) is_whole: bool,
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
        self.end(connection, at);
        self.begin(connection, at, name);
    }

    pub(super) fn http_reply(&mut self, connection: Number, at: Timestamp) {
        self.end(connection, at);
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
            },
        );
    }

    fn end(&mut self, key: Number, at: Timestamp) {
        let Some(operation) = self.in_progress.remove(&key) else {
            return;
        };
        self.ended += 1;
        let current = self.alternation.phase();
        let measured = self
            .measured
            .entry(operation.name)
            .or_insert_with_key(|name| SparedOperation::new(name.clone()));
        if operation.is_pure && operation.phase == current {
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
    pub(super) fn asked(
        &mut self,
        connection: Number,
        at: Timestamp,
        piece: Piece<'_>,
        spared: &Spared,
    ) -> bool {
        if !self.by_request {
            self.end_bursts(connection, at, piece.requests);
        }
        let visit = self.visits.entry(connection).or_default();
        if piece.requests.is_empty() {
            return visit.is_spared && piece.one_way && piece.is_whole && piece.at_rest;
        }
        visit.asks = true;
        let (mut is_removable, mut removable) = (piece.is_whole, 0);
        for request in piece.requests {
            let is_empty = request.executes.is_empty() && request.others.is_empty();
            is_removable &= !is_empty;
            for fingerprint in &request.executes {
                let is_one = self.executes(connection, fingerprint, spared);
                is_removable &= is_one;
                removable += u64::from(is_one);
            }
            let others = request.others.iter();
            is_removable &= others
                .filter(|other| !request.executes.contains(other))
                .all(|other| self.means(spared, other) && self.executed(connection, other) > 0);
        }
        let is_spared = is_removable && piece.at_rest && self.spares();
        self.concern(connection, removable);
        if self.spares() {
            self.executions.removable += removable;
            self.executions.spared += if is_spared { removable } else { 0 };
            self.executions.not_at_rest += if piece.at_rest { 0 } else { removable };
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

    fn means(&self, spared: &Spared, fingerprint: &Fingerprint) -> bool {
        spared.means(
            fingerprint,
            self.most.get(fingerprint).copied().unwrap_or_default(),
        )
    }

    /// Counts an execution; returns whether the remedy removes it.
    fn executes(&mut self, connection: Number, fingerprint: &Fingerprint, spared: &Spared) -> bool {
        if !self.by_request && !self.in_progress.contains_key(&connection) && verb::is_work(fingerprint) {
            let began = self.visits.get(&connection).map(|visit| visit.began);
            self.begin(connection, began.unwrap_or_default(), fingerprint);
        }
        let earlier = self.execute(connection, fingerprint);
        let most = self.most.entry(fingerprint.clone()).or_default();
        *most = (earlier + 1).max(*most);
        let is_meant = self.means(spared, fingerprint);
        self.executions.all += u64::from(is_meant && self.spares());
        is_meant && earlier > 0
    }

    /// Operations that the remedy would shorten: the owner, or all in progress if it is unknown.
    fn concern(&mut self, connection: Number, removable: u64) {
        let owner = self.owner(connection);
        for (key, operation) in &mut self.in_progress {
            if owner.is_none_or(|owner| owner == *key) {
                operation.removable += removable;
            }
        }
    }

    /// A connection is opened, and connecting is to be spared. Returns whether it is.
    pub(super) fn connects(&mut self, connection: Number, at: Timestamp) -> bool {
        if !self.by_request {
            self.end_bursts(connection, at, &[Request::default()]);
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
        let ended = self.ended;
        let Some(visit) = self.visits.get_mut(&connection) else {
            return;
        };
        let loops = visit.executed.get(fingerprint).is_some_and(|count| *count > 1);
        let is_other = match (only, visit.owner) {
            (Some(_), owner) => owner != only,
            (None, Some(_)) => !is_known,
            (None, None) => ended != visit.ended && !loops,
        };
        if is_other {
            visit.owner = only;
            visit.executed.clear();
        }
        visit.ended = ended;
    }

    /// Ends the burst of a connection before its next request, and those that rest.
    fn end_bursts(&mut self, connection: Number, at: Timestamp, requests: &[Request]) {
        let over = |number: &Number, visit: &Visit| {
            let begins = *number == connection && !visit.transaction && begins_transaction(requests);
            (visit.is_over(at) || begins).then_some((*number, visit.replied))
        };
        let over: Vec<_> = self
            .visits
            .iter()
            .filter_map(|(number, visit)| over(number, visit))
            .collect();
        for (number, replied) in over {
            self.end(number, replied);
        }
        if requests.is_empty() {
            return;
        }
        let goes_on = self.in_progress.contains_key(&connection);
        let visit = self.visits.entry(connection).or_default();
        if !goes_on && !visit.transaction && !visit.asks {
            *visit = Visit {
                began: at,
                replied: at,
                ..Visit::default()
            };
        } else if !visit.asks {
            visit.pauses += 1;
            visit.paused += at.since(visit.replied);
        }
    }

    pub(super) fn replied(&mut self, connection: Number, at: Timestamp, state: Option<TransactionState>) {
        let visit = self.visits.entry(connection).or_default();
        let was_inside = visit.transaction;
        (visit.asks, visit.replied) = (false, at);
        if let Some(state) = state {
            visit.transaction = state != TransactionState::Idle;
        }
        if was_inside && !visit.transaction && !self.by_request {
            self.end(connection, at);
        }
    }

    pub(super) fn closed(&mut self, connection: Number) {
        if let Some(visit) = self.visits.remove(&connection)
            && !self.by_request
        {
            self.end(connection, visit.replied);
        }
    }

    pub(super) fn finish(&mut self) -> SparingOutcome {
        if !self.by_request {
            let open: Vec<_> = self.visits.keys().copied().collect();
            open.into_iter().for_each(|number| self.closed(number));
        }
        SparingOutcome {
            executions: std::mem::take(&mut self.executions),
            operations: std::mem::take(&mut self.measured).into_values().collect(),
            ..SparingOutcome::default()
        }
    }
}

fn begins_transaction(requests: &[Request]) -> bool {
    let first = requests.first().and_then(|request| request.executes.first());
    first.is_some_and(|text| text.starts_with("begin") || text.starts_with("start transaction"))
}

/// Name of operations of new connections.
const CONNECTING: &str = "connecting";

/// As in `analysis::operations`.
const MIN_PAUSE: Duration = Duration::from_millis(10);
const MAX_PAUSE: Duration = Duration::from_secs(1);
const TIMES_THE_MEAN: u32 = 10;

#[cfg(test)]
mod tests;
