//! The registry of all sums, and their families.

use crate::metrics::family::{FamilyKind, Label, SeriesFamily};
use crate::metrics::names::{Cost, TopNames};
use crate::metrics::operations::OperationSums;
use crate::metrics::targets::{self, StatementKey, StatementSums, TargetSums};
use crate::metrics::text::short;
use analysis::current::Current;
use analysis::fact::Fact;
use analysis::waited::waited;
use model::{
    ConnectionId, ConnectionMap, Endpoint, Evidence, Exchange, Finding, NotSeen, Operation, Protocol,
    Timestamp,
};
use std::sync::Arc;
use std::time::Duration;

/// Maximum names with a separate series; all others are summed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NameLimits {
    pub targets: usize,
    /// Also the limit of transactions.
    pub operations: usize,
    /// Counts a statement once per server.
    pub statements: usize,
    pub findings: usize,
}

impl Default for NameLimits {
    fn default() -> Self {
        Self {
            targets: 50,
            operations: 50,
            statements: 100,
            findings: 20,
        }
    }
}

/// Sums of all observations since the beginning.
///
/// Holds [`NameLimits`], sixteen waiting names per series, and a few bytes per open connection.
#[derive(Debug)]
pub struct Registry {
    limits: NameLimits,
    began: Timestamp,
    refreshed: Timestamp,
    servers: ConnectionMap<Endpoint>,
    current: Current,
    targets: TopNames<Endpoint, TargetSums>,
    statements: TopNames<StatementKey, StatementSums>,
    operations: OperationSums,
    findings: FoundLately,
    evidence: Evidence,
}

/// Findings of the last complete window.
#[derive(Debug, Default)]
struct FoundLately {
    findings: Vec<Finding>,
    window: Duration,
}

impl Registry {
    /// Counters count from `began`.
    pub fn new(limits: NameLimits, began: Timestamp) -> Self {
        Self {
            limits,
            began,
            refreshed: began,
            servers: ConnectionMap::default(),
            current: Current::default(),
            targets: TopNames::new(limits.targets),
            statements: TopNames::new(limits.statements),
            operations: OperationSums::new(limits.operations),
            findings: FoundLately::default(),
            evidence: Evidence::default(),
        }
    }

    pub fn fact(&mut self, fact: &Fact) {
        let now = fact.time();
        if now.since(self.refreshed) >= REFRESH {
            self.refreshed = now;
            self.targets.refresh(now.as_nanos());
            self.statements.refresh(now.as_nanos());
            self.operations.refresh(now.as_nanos());
        }
        self.current.fact(fact);
        match fact {
            Fact::Opened {
                connection, server, ..
            } => {
                self.servers.insert(*connection, *server);
                self.targets.at(server, Cost::default(), now.as_nanos()).opened += 1;
            }
            Fact::Started { .. } | Fact::Begun { .. } | Fact::Left { .. } => {}
            Fact::Exchange { exchange, protocol } => self.exchange(exchange, *protocol, now),
            Fact::Closed(outcome) => {
                self.servers.remove(&outcome.id);
                self.targets.known(&outcome.server).closed += 1;
            }
        }
    }

    fn exchange(&mut self, exchange: &Exchange, protocol: Protocol, now: Timestamp) {
        self.evidence.exchange(exchange, protocol);
        let waited = waited(exchange);
        let cost = Cost {
            turns: u64::from(exchange.turns),
            time: waited.total,
        };
        let target = self.server_of(exchange.connection);
        if let Some(target) = &target {
            let sums = self.targets.at(target, cost, now.as_nanos());
            sums.exchange(exchange, protocol, waited);
        }
        if let Some(fingerprint) = &exchange.fingerprint {
            let key = StatementKey {
                target,
                protocol,
                fingerprint: fingerprint.clone(),
            };
            let sums = self.statements.at(&key, cost, now.as_nanos());
            sums.exchange(exchange, waited);
        }
    }

    fn server_of(&self, connection: ConnectionId) -> Option<Endpoint> {
        self.servers.get(&connection).copied()
    }

    /// Accepts an operation, or a part of one.
    pub fn operation(&mut self, operation: &Operation) {
        let now = operation.at.after(operation.duration);
        operation.steps.iter().for_each(|step| self.evidence.call(step));
        self.operations.process_operation(operation, now.as_nanos());
    }

    /// Replaces the findings by those of the last `window`, costliest first.
    pub fn found(&mut self, findings: &[Finding], window: Duration) {
        let findings = model::sure_findings(findings).take(self.limits.findings);
        let findings = findings.cloned().collect();
        self.findings = FoundLately { findings, window };
    }

    pub fn families(&self) -> Vec<SeriesFamily> {
        let targets = targets::of_targets(self.targets.values());
        let statements = targets::of_statements(self.statements.values());
        let operations = self.operations.families();
        let mut all: Vec<SeriesFamily> = targets.chain(statements).chain(operations).collect();
        all.extend(self.of_now());
        all.extend(self.of_findings());
        all.extend(self.of_evidence());
        all.push(self.of_names());
        all
    }

    fn of_now(&self) -> [SeriesFamily; 3] {
        let totals = self.current.totals();
        let age = totals.oldest_transaction.map(|since| totals.now.since(since));
        let began = self.began.as_nanos();
        let gauge = |name, otel_name, help, value| {
            SeriesFamily::new(name, otel_name, help, FamilyKind::Gauge).with(Vec::new(), began, value)
        };
        [
            gauge(
                "longwire_connections_open",
                "longwire.connections.open",
                "Connections that are open.",
                totals.open as f64,
            ),
            gauge(
                "longwire_transactions_open",
                "longwire.transactions.open",
                "Transactions that are open.",
                totals.transactions as f64,
            ),
            gauge(
                "longwire_transaction_oldest_seconds",
                "longwire.transaction.oldest",
                "How long the oldest open transaction has been open.",
                age.unwrap_or_default().as_secs_f64(),
            )
            .in_unit("s"),
        ]
    }

    fn of_findings(&self) -> [SeriesFamily; 3] {
        let gauge = |name, otel_name, help| SeriesFamily::new(name, otel_name, help, FamilyKind::Gauge);
        let mut turns = gauge(
            "longwire_finding_turns",
            "longwire.finding.turns",
            "Round trips in the last window that remedies of the findings would save.",
        )
        .in_unit("{turn}");
        let mut time = gauge(
            "longwire_finding_saved_seconds",
            "longwire.finding.saved",
            "Time in the last window that remedies of the findings would save at the given round-trip time.",
        )
        .in_unit("s");
        let began = self.began.as_nanos();
        for finding in &self.findings.findings {
            let labels = labels_of(finding);
            turns = turns.with(labels.clone(), began, finding.saves_turns as f64);
            for saving in &finding.savings {
                let mut labels = labels.clone();
                labels.push(("rtt", Arc::from(saving.rtt.as_secs_f64().to_string())));
                time = time.with(labels, began, saving.saves.as_secs_f64());
            }
        }
        let window = gauge(
            "longwire_findings_window_seconds",
            "longwire.findings.window",
            "How long the window was that the findings are of; 0 before the first is over.",
        )
        .in_unit("s");
        [
            turns,
            time,
            window.with(Vec::new(), began, self.findings.window.as_secs_f64()),
        ]
    }

    fn of_evidence(&self) -> [SeriesFamily; 2] {
        let counter = |name, otel_name, help| SeriesFamily::new(name, otel_name, help, FamilyKind::Counter);
        let began = self.began.as_nanos();
        let all = counter(
            "longwire_round_trips_total",
            "longwire.round_trips",
            "Round trips of work with databases, and with what may be one.",
        );
        let unseen = counter(
            "longwire_round_trips_without_statement_total",
            "longwire.round_trips.without_statement",
            "Those of which the statement was not seen: findings are of the others.",
        );
        let unseen = NotSeen::ALL.into_iter().fold(unseen, |family, reason| {
            let count = self.evidence.not_seen_for(reason) as f64;
            family.with(vec![("reason", Arc::from(reason.name()))], began, count)
        });
        [
            all.with(Vec::new(), began, self.evidence.round_trips as f64),
            unseen,
        ]
    }

    fn of_names(&self) -> SeriesFamily {
        let merged = [
            ("target", self.targets.merged()),
            ("operation", self.operations.merged()),
            ("statement", self.statements.merged()),
        ];
        let family = SeriesFamily::new(
            "longwire_names_merged_total",
            "longwire.names.merged",
            "Names dropped from the series because others cost more; their counts are in (other).",
            FamilyKind::Counter,
        );
        merged.into_iter().fold(family, |family, (of, count)| {
            family.with(vec![("of", Arc::from(of))], self.began.as_nanos(), count as f64)
        })
    }
}

fn labels_of(finding: &Finding) -> Vec<Label> {
    let statement = finding
        .fingerprint
        .as_deref()
        .map_or_else(|| Arc::from(""), short);
    vec![
        ("finding", Arc::from(finding.kind.name())),
        ("operation", short(&finding.operation_name)),
        ("statement", statement),
    ]
}

/// Interval between decisions about series.
const REFRESH: Duration = Duration::from_secs(60);
