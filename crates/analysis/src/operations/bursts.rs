//! Bursts: what no request caused and no transaction holds, of one connection, without a pause in which its
//! client rests.
//!
//! 1. A pause ends a burst when it is longer than [`TIMES_THE_MEAN`] times the mean pause within it so far,
//!    and than [`MIN_PAUSE`]; one of [`MAX_PAUSE`] always does. A pause is the client's: from the reply
//!    having reached it to its next request.
//! 2. A transaction ends it, and so does a statement that waits for an event ([`waits_for_event`]): that wait
//!    is a pause.
//! 3. So does a statement whose comment names another route.
//! 4. Connecting, however slow it is, belongs to what follows it within [`AFTER_CONNECTING`], a burst or a
//!    transaction.
//!
//! Where the figures are from: docs/definitions.md#bursts.

use super::Member;
use super::naming::Naming;
use super::span;
use crate::events::waits_for_event;
use crate::verb;
use model::{Endpoint, OperationKind, Phase, TransactionState};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

/// The shortest pause that ends a burst.
const MIN_PAUSE: Duration = Duration::from_millis(10);

/// Pauses from which on all end a burst.
const MAX_PAUSE: Duration = Duration::from_secs(1);

/// A pause so many times as long as those before it is none of them.
const TIMES_THE_MEAN: u32 = 10;

/// The longest pause between connecting and what it was done for: a program that has just begun is slow, and
/// a pool that connects ahead rests for longer.
const AFTER_CONNECTING: Duration = Duration::from_millis(100);

/// Different statements of a burst that are counted.
const MAX_COUNTED: usize = 1000;

/// Where an exchange goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Nobody waits for it.
    Alone,
    Transaction {
        is_over: bool,
    },
    Burst,
    /// It is an operation by itself.
    Event,
}

/// Where an exchange of a connection goes that is, or is not, inside of a transaction.
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

/// What is known of a burst in progress.
#[derive(Debug, Default)]
pub(super) struct Burst {
    pauses: u32,
    paused: Duration,
    exchanges: u32,
    /// Executions of statements that work.
    executions: u32,
    /// Of those that only test the connection.
    trials: u32,
    /// Statements that work, up to [`MAX_COUNTED`].
    statements: HashSet<Arc<str>>,
    /// The one of these that came last for the first time.
    last: Option<Arc<str>>,
    /// The route that comments name.
    route: Option<Arc<str>>,
    connects: bool,
    server: Option<Endpoint>,
    /// Nothing was added since the last look.
    is_resting: bool,
}

impl Burst {
    /// Whether an exchange that begins after a pause still belongs to it.
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

    /// Adds an exchange after a pause.
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

    /// Whether it consists of connecting alone.
    pub(super) fn only_connects(&self) -> bool {
        self.connects && self.exchanges == 0
    }

    /// Whether nothing was added since this was last asked.
    pub(super) fn rests(&mut self) -> bool {
        std::mem::replace(&mut self.is_resting, true)
    }

    /// What kind of operation it is.
    pub(super) fn kind(&self) -> OperationKind {
        match (self.connects, self.exchanges) {
            (true, 0) => OperationKind::Connection,
            (false, 1) => OperationKind::Transaction,
            _ => OperationKind::Burst,
        }
    }

    /// Its name: the route; else its first statement, and how it goes on, so that bursts of one name ask the
    /// same.
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

/// The name of connecting alone.
pub(super) fn connecting(server: Endpoint) -> Arc<str> {
    Arc::from(format!("connecting to {server}"))
}

/// The name of what begins with connecting: it waits for more than what does not.
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

/// The client's pause before an exchange, where the one before it ended then.
pub(super) fn pause(member: &Member, ended: model::Timestamp) -> Duration {
    span::started(&member.exchange).since(ended)
}
