//! Totals of a run: statements, operations by name, connections.

mod held;

use crate::by_fingerprint::ByFingerprint;
use crate::fact::Fact;
use crate::fingerprint::{MAXIMUM_FINGERPRINTS, OTHER_STATEMENTS};
use crate::pairing::NO_REPLY;
use crate::waited::waited;
use foldhash::HashMap;
use held::Held;
use model::{
    Attribution, ConnectionOutcome, DistributionBuilder, Exchange, Fingerprint, HeldTransactions,
    NO_TEXT_SEEN, Operation, OperationGroup, OperationKind, Phase, RecognisedStatement, StatementOutcome,
    Summary, TextSource, Timestamp,
};
use std::sync::Arc;
use std::time::Duration;

/// Sums up a run. Memory is bounded by [`MAXIMUM_FINGERPRINTS`], [`MAXIMUM_GROUPS`] (also of
/// transactions) and [`MAXIMUM_CONNECTIONS`].
#[derive(Debug, Default)]
pub struct Overview {
    connections: Vec<ConnectionOutcome>,
    statements: ByFingerprint<Statement>,
    other: OtherRows,
    groups: HashMap<(OperationKind, Arc<str>), Group>,
    held: Held,
    /// Time and round trips of operations emitted in parts, by number.
    unfinished: HashMap<u64, (Duration, u64)>,
    durations: DistributionBuilder,
    summary: Summary,
    first: Option<Timestamp>,
    last: Option<Timestamp>,
}

/// Rows of exchanges without a fingerprint, so that all rows sum to the total.
#[derive(Debug)]
struct OtherRows {
    beyond: Fingerprint,
    closing: Fingerprint,
    unseen: Fingerprint,
    setup: Fingerprint,
}

impl Default for OtherRows {
    fn default() -> Self {
        Self {
            beyond: Arc::from(OTHER_STATEMENTS),
            closing: Arc::from(CLOSING),
            unseen: Arc::from(NO_TEXT_SEEN),
            setup: Arc::from(SETUP),
        }
    }
}

impl OtherRows {
    /// The exchange's fingerprint, or that of its row; `None` for an exchange without round trips
    /// and statement.
    fn fingerprint_of<'a>(&'a self, exchange: &'a Exchange) -> Option<&'a Fingerprint> {
        let row = match exchange.phase {
            Phase::Work if exchange.asked.closes > 0 => &self.closing,
            Phase::Work | Phase::Close => &self.unseen,
            Phase::Connect | Phase::Tls | Phase::Login => &self.setup,
        };
        let row = (exchange.turns > 0).then_some(row);
        exchange.fingerprint.as_ref().or(row)
    }
}

pub const CLOSING: &str = "(prepared statements closed)";

pub const SETUP: &str = "(connection set-up)";

/// Those with most round trips are kept, and all are counted.
pub const MAXIMUM_CONNECTIONS: usize = 1_000;

/// Further names are summed under [`OTHER_OPERATIONS`].
pub const MAXIMUM_GROUPS: usize = 10_000;

pub const OTHER_OPERATIONS: &str = "(other operations)";

#[derive(Debug, Clone, Default)]
pub struct OverviewTotals {
    /// Most round trips first.
    pub connections: Vec<ConnectionOutcome>,
    /// Most round trips first.
    pub statements: Vec<StatementOutcome>,
    /// By kind and name, longest total first.
    pub operations: Vec<OperationGroup>,
    /// Transactions that stayed open between replies, by operation and name, longest total first.
    pub held: Vec<HeldTransactions>,
    pub summary: Summary,
}

#[derive(Debug)]
struct Statement {
    outcome: StatementOutcome,
    durations: DistributionBuilder,
}

#[derive(Debug)]
struct Group {
    group: OperationGroup,
    durations: DistributionBuilder,
}

impl Overview {
    pub fn fact(&mut self, fact: &Fact) {
        match fact {
            Fact::Opened { at, .. } => self.saw(*at),
            Fact::Started { .. } | Fact::Begun { .. } | Fact::Left { .. } => {}
            Fact::Exchange { exchange, protocol } => {
                self.saw(exchange.at);
                self.saw(exchange.ended());
                self.summary.turns += u64::from(exchange.turns);
                self.summary.exchanges += 1;
                self.summary.evidence.exchange(exchange, *protocol);
                self.statement(exchange);
            }
            Fact::Closed(outcome) => self.connection(outcome),
        }
    }

    fn saw(&mut self, at: Timestamp) {
        self.first = Some(self.first.map_or(at, |first| first.min(at)));
        self.last = Some(self.last.map_or(at, |last| last.max(at)));
    }

    fn connection(&mut self, outcome: &ConnectionOutcome) {
        self.saw(outcome.at.after(outcome.duration));
        self.summary.connections += 1;
        self.summary.statements += outcome.statements;
        for (sum, bytes) in self
            .summary
            .payload_bytes
            .iter_mut()
            .zip(outcome.totals.payload_bytes)
        {
            *sum += bytes;
        }
        self.connections.push(outcome.clone());
        if self.connections.len() >= 2 * MAXIMUM_CONNECTIONS {
            self.keep_busiest();
        }
    }

    fn keep_busiest(&mut self) {
        self.connections
            .sort_by_key(|connection| (std::cmp::Reverse(connection.turns), connection.id));
        self.connections.truncate(MAXIMUM_CONNECTIONS);
    }

    fn statement(&mut self, exchange: &Exchange) {
        // Whether the reply was an error, or only came later, is unknown.
        if exchange.error.as_deref() == Some(NO_REPLY) {
            return;
        }
        let Some(fingerprint) = self.other.fingerprint_of(exchange) else {
            return;
        };
        let waited = waited(exchange);
        // Recordings and several connections may bring more fingerprints than one decoder keeps.
        let new = |_, fingerprint: &Fingerprint| Statement::new(fingerprint.clone());
        let number = self.statements.number(fingerprint, MAXIMUM_FINGERPRINTS, new);
        let number = number.or_else(|| self.statements.number(&self.other.beyond, usize::MAX, new));
        let Some(statement) = number.and_then(|number| self.statements.value(number)) else {
            return;
        };
        let outcome = &mut statement.outcome;
        outcome.calls += u64::from(exchange.executions);
        outcome.turns += u64::from(exchange.turns);
        let asked = &exchange.asked;
        outcome.fetches += u64::from(asked.fetches);
        outcome.fetch_rows = asked.fetch_rows.filter(|&rows| rows > 0).or(outcome.fetch_rows);
        outcome.fetch_bytes = asked.fetch_bytes.or(outcome.fetch_bytes);
        outcome.request_bytes += exchange.request_bytes;
        outcome.reply_bytes += exchange.reply_bytes;
        outcome.total += waited.total;
        outcome.server += waited.server;
        outcome.server_margin.add(waited.server_margin);
        outcome.network += waited.network;
        outcome.errors += u64::from(exchange.error.is_some());
        if let Some(rows) = exchange.rows {
            *outcome.rows.get_or_insert(0) += rows;
        }
        statement.durations.add(waited.total);
    }

    /// Adds the rows of statements prepared before the capture to the rows of their texts.
    pub fn recognise(&mut self, recognised: &[RecognisedStatement]) {
        for found in recognised {
            let new = |_, fingerprint: &Fingerprint| Statement::new(fingerprint.clone());
            let number = self.statements.number(&found.unseen, 0, new);
            let Some(unseen) = number.and_then(|number| self.statements.value(number)) else {
                continue;
            };
            let unseen = std::mem::replace(unseen, Statement::new(found.unseen.clone()));
            let number = self.statements.number(&found.text, usize::MAX, new);
            if let Some(statement) = number.and_then(|number| self.statements.value(number)) {
                statement.add(unseen, found.source);
            }
        }
    }

    /// Accepts an operation, or a part of one.
    pub fn operation(&mut self, operation: &Operation) {
        self.held.operation(operation);
        self.summary.attribution.add(&operation.attribution);
        self.summary.setup += operation.setup;
        let (duration, turns) = self.unfinished.remove(&operation.id).unwrap_or_default();
        let (duration, turns) = (duration + operation.duration, turns + u64::from(operation.turns));
        let key = (operation.kind, operation.name.clone());
        let key = if self.groups.len() >= MAXIMUM_GROUPS && !self.groups.contains_key(&key) {
            (operation.kind, Arc::from(OTHER_OPERATIONS))
        } else {
            key
        };
        let group = self
            .groups
            .entry(key)
            .or_insert_with_key(|(kind, name)| Group::new(*kind, name.clone()));
        group.group.turns += u64::from(operation.turns);
        group.group.attribution.add(&operation.attribution);
        group.group.setup += operation.setup;
        group.group.evidence.operation(&operation.steps);
        for step in &operation.steps {
            self.summary.evidence.call(step);
            if let Some(assigned) = step.assigned {
                group.group.assigned.add(assigned, step.probability);
                self.summary.assigned.add(assigned, step.probability);
            }
        }
        if operation.continues {
            self.unfinished.insert(operation.id, (duration, turns));
            return;
        }
        group.group.count += 1;
        group.group.most_turns = group.group.most_turns.max(turns);
        group.durations.add(duration);
        self.durations.add(duration);
        self.summary.operations += 1;
    }

    /// Returns the totals since the last call and starts afresh. An operation in parts is counted
    /// when complete.
    pub fn end_window(&mut self) -> OverviewTotals {
        let next = Self {
            unfinished: std::mem::take(&mut self.unfinished),
            ..Self::default()
        };
        std::mem::replace(self, next).finish()
    }

    pub fn finish(mut self) -> OverviewTotals {
        self.so_far(usize::MAX)
    }

    /// Current totals, at most `most` of each: statements and operations with most round trips, and
    /// transactions open longest. Costs a sort of all names and of the returned samples.
    pub fn so_far(&mut self, most: usize) -> OverviewTotals {
        self.keep_busiest();
        self.summary.duration = self
            .last
            .zip(self.first)
            .map(|(last, first)| last.since(first))
            .unwrap_or_default();
        self.summary.spread = self.durations.distribution();
        let met = |statement: &&mut Statement| statement.durations.count() > 0;
        let mut statements: Vec<&mut Statement> = self.statements.values().filter(met).collect();
        statements.sort_by(|a, b| {
            let (a, b) = (&a.outcome, &b.outcome);
            (b.turns, b.total, &a.fingerprint).cmp(&(a.turns, a.total, &b.fingerprint))
        });
        let mut groups: Vec<&mut Group> = self.groups.values_mut().collect();
        if most < groups.len() {
            groups.sort_by(|a, b| (b.group.turns, &a.group.name).cmp(&(a.group.turns, &b.group.name)));
            groups.truncate(most);
        }
        let mut operations: Vec<OperationGroup> = groups.into_iter().map(Group::outcome).collect();
        operations.sort_by(|a, b| (b.attribution.total(), &a.name).cmp(&(a.attribution.total(), &b.name)));
        OverviewTotals {
            connections: self.connections.iter().take(most).cloned().collect(),
            statements: statements
                .into_iter()
                .take(most)
                .map(Statement::outcome)
                .collect(),
            operations,
            held: self.held.so_far(most),
            summary: self.summary.clone(),
        }
    }
}

impl Statement {
    fn new(fingerprint: Fingerprint) -> Self {
        let outcome = StatementOutcome {
            fingerprint,
            calls: 0,
            turns: 0,
            fetches: 0,
            fetch_rows: None,
            fetch_bytes: None,
            rows: None,
            request_bytes: 0,
            reply_bytes: 0,
            total: Duration::ZERO,
            server: Duration::ZERO,
            server_margin: model::Margin::default(),
            network: Duration::ZERO,
            errors: 0,
            spread: model::Distribution::default(),
            text_source: None,
        };
        Self {
            outcome,
            durations: DistributionBuilder::new(),
        }
    }

    fn add(&mut self, other: Self, source: TextSource) {
        let (sum, added) = (&mut self.outcome, other.outcome);
        sum.calls += added.calls;
        sum.turns += added.turns;
        sum.fetches += added.fetches;
        sum.fetch_rows = sum.fetch_rows.or(added.fetch_rows);
        sum.fetch_bytes = sum.fetch_bytes.or(added.fetch_bytes);
        sum.request_bytes += added.request_bytes;
        sum.reply_bytes += added.reply_bytes;
        sum.total += added.total;
        sum.server += added.server;
        sum.server_margin.add(added.server_margin);
        sum.network += added.network;
        sum.errors += added.errors;
        if let Some(rows) = added.rows {
            *sum.rows.get_or_insert(0) += rows;
        }
        sum.text_source = sum.text_source.max(Some(source));
        self.durations.merge(other.durations);
    }

    fn outcome(&mut self) -> StatementOutcome {
        self.outcome.spread = self.durations.distribution();
        self.outcome.clone()
    }
}

impl Group {
    fn new(kind: OperationKind, name: Arc<str>) -> Self {
        let group = OperationGroup {
            name,
            kind,
            count: 0,
            turns: 0,
            most_turns: 0,
            spread: model::Distribution::default(),
            median_range: None,
            attribution: Attribution::default(),
            setup: Duration::ZERO,
            assigned: model::Assignments::default(),
            evidence: model::Evidence::default(),
        };
        Self {
            group,
            durations: DistributionBuilder::new(),
        }
    }

    fn outcome(&mut self) -> OperationGroup {
        self.group.spread = self.durations.distribution();
        self.group.median_range = self.durations.median_range();
        self.group.clone()
    }
}
