//! Bursts: statements of one connection outside requests and transactions, without a pause of the
//! client.
//!
//! 1. A pause ends a burst if it exceeds [`MIN_PAUSE`] and [`TIMES_THE_MEAN`] times the burst's mean pause;
//!    [`MAX_PAUSE`] always does. A pause is the client's: from the reply's arrival to the next request.
//! 2. A transaction ends it, and so does a statement that waits for an event ([`waits_for_event`]).
//! 3. So does a statement with another route in a comment.
//! 4. Connecting, however slow, belongs to the burst or transaction that follows within [`AFTER_CONNECTING`].
//!
//! Source of the figures: README.md of this crate.

use super::member::Member;
use super::naming::Naming;
use super::span;
use crate::events::waits_for_event;
use crate::verb;
use foldhash::HashSet;
use model::{Endpoint, OperationKind, Phase, TransactionState};
use std::sync::Arc;
use std::time::Duration;

/// Shorter pauses never end a burst.
const MIN_PAUSE: Duration = Duration::from_millis(10);

/// Longer pauses always end a burst.
const MAX_PAUSE: Duration = Duration::from_secs(1);

const TIMES_THE_MEAN: u32 = 10;

/// Maximum pause after connecting: a program that has just started is slow, and a pool that
/// connects ahead rests longer.
const AFTER_CONNECTING: Duration = Duration::from_millis(100);

const MAX_COUNTED: usize = 1000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// No client waits for it.
    Alone,
    Transaction {
        is_over: bool,
    },
    Burst,
    Event,
}

pub(super) fn position_of(member: &Member, is_inside: bool) -> Place {
    let exchange = &member.exchange;
    if exchange.phase == Phase::Close {
        return Place::Alone;
    }
    match exchange.transaction {
        _ if exchange.phase < Phase::Work => Place::Burst,
        Some(TransactionState::Open | TransactionState::Failed) => Place::Transaction { is_over: false },
        Some(TransactionState::Idle) if is_inside => Place::Transaction { is_over: true },
        None if is_inside => Place::Transaction { is_over: false },
        _ if exchange.fingerprint.as_deref().is_some_and(waits_for_event) => Place::Event,
        _ => Place::Burst,
    }
}

#[derive(Debug, Default)]
pub(super) struct Burst {
    pauses: u32,
    paused: Duration,
    exchanges: u32,
    executions: u32,
    trials: u32,
    /// Working statements, up to [`MAX_COUNTED`].
    statements: HashSet<Arc<str>>,
    /// The newest one of `statements`.
    last: Option<Arc<str>>,
    route: Option<Arc<str>>,
    connects: bool,
    server: Option<Endpoint>,
    is_resting: bool,
}

impl Burst {
    pub(super) fn goes_on(&self, member: &Member, pause: Duration) -> bool {
        if self.only_connects() && member.exchange.phase < Phase::Work {
            return true;
        }
        let mean = self.paused.checked_div(self.pauses).unwrap_or_default();
        let longest = match self.only_connects() {
            true => AFTER_CONNECTING,
            false => (mean * TIMES_THE_MEAN).clamp(MIN_PAUSE, MAX_PAUSE),
        };
        let route = route(member);
        let is_other = route.is_some() && self.route.is_some() && self.route != route;
        pause <= longest && !is_other
    }

    pub(super) fn add(&mut self, member: &Member, pause: Duration) {
        let exchange = &member.exchange;
        if self.only_connects() && exchange.phase == Phase::Work {
            // Programs are slow while they connect.
            (self.pauses, self.paused) = (0, Duration::ZERO);
        } else if self.exchanges > 0 || self.connects {
            self.pauses += 1;
            self.paused += pause;
        }
        self.is_resting = false;
        self.server = Some(member.sides.server);
        self.connects |= exchange.phase < Phase::Work;
        self.exchanges += u32::from(exchange.phase == Phase::Work);
        if self.route.is_none() {
            self.route = route(member);
        }
        let Some(text) = &exchange.fingerprint else {
            return;
        };
        if exchange.executions > 0 && verb::is_trial(text) {
            self.trials = self.trials.saturating_add(1);
        } else if exchange.executions > 0 && verb::is_work(text) {
            self.executions = self.executions.saturating_add(1);
            if self.statements.len() < MAX_COUNTED && self.statements.insert(text.clone()) {
                self.last = Some(text.clone());
            }
        }
    }

    pub(super) fn only_connects(&self) -> bool {
        self.connects && self.exchanges == 0
    }

    pub(super) fn rests(&mut self) -> bool {
        std::mem::replace(&mut self.is_resting, true)
    }

    pub(super) fn kind(&self) -> OperationKind {
        match (self.connects, self.exchanges) {
            (true, 0) => OperationKind::Connection,
            (false, 1) => OperationKind::Transaction,
            _ => OperationKind::Burst,
        }
    }

    /// The route; otherwise the first statement and a summary of the rest, so that bursts of one
    /// name do the same.
    pub(super) fn name(&self, naming: &Naming) -> Option<Arc<str>> {
        let Some(first) = naming.name() else {
            return self.server.map(|server| match self.only_connects() {
                true => connecting(server),
                false => Arc::from(format!("exchanges with {server}")),
            });
        };
        if self.route.is_some() {
            return Some(first.clone());
        }
        let name = match (self.statements.len(), &self.last) {
            (count, Some(last)) if count > 1 => format!("{first} ... {last} ({count} statements)"),
            (0, _) if self.trials > 1 => format!("{first}, repeated"),
            (1, _) if self.executions > 1 => format!("{first}, repeated"),
            _ => first.to_string(),
        };
        Some(Arc::from(after_connecting(&name, self.connects)))
    }
}

pub(super) fn connecting(server: Endpoint) -> Arc<str> {
    Arc::from(format!("connecting to {server}"))
}

/// A separate name for operations that begin with connecting, as they wait for more.
pub(super) fn after_connecting(name: &str, connects: bool) -> String {
    match connects {
        true => format!("connect, {name}"),
        false => name.to_owned(),
    }
}

fn route(member: &Member) -> Option<Arc<str>> {
    member
        .exchange
        .tags
        .as_ref()
        .and_then(|tags| tags.operation_name())
}

/// The client's pause, if the previous exchange ended at `ended`.
pub(super) fn pause(member: &Member, ended: model::Timestamp) -> Duration {
    span::started(&member.exchange).since(ended)
}
