//! Open operations: their exchanges are held until they end, or are cut.

use super::bursts::{self, Burst};
use super::grouped::{Grouped, GroupedSink, assemble, group_name};
use super::member::{Member, Members};
use super::naming::Naming;
use super::{MAXIMUM_HELD, MAXIMUM_ROOM, MAXIMUM_STEPS, Operations, span, take_id};
use model::{ConnectionId, OperationKind, OperationStep, Phase, RequestId, Timestamp};
use std::net::IpAddr;
use std::sync::Arc;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Key {
    Connection(ConnectionId),
    Setup(ConnectionId),
    Burst(ConnectionId),
    Request(RequestId),
    Host(IpAddr),
    All,
}

#[derive(Debug)]
pub(super) struct Group {
    pub(super) id: u64,
    pub(super) kind: OperationKind,
    pub(super) members: Members,
    pub(super) from: Option<Timestamp>,
    pub(super) ended: Timestamp,
    pub(super) name: Option<Arc<str>>,
    pub(super) naming: Naming,
    /// The name was emitted with an earlier part.
    pub(super) is_named: bool,
    pub(super) connects: bool,
    pub(super) burst: Option<Box<Burst>>,
}

impl Group {
    fn finished(&self) -> (OperationKind, Arc<str>) {
        let given = || self.name.clone().unwrap_or_else(|| Arc::from(self.kind.name()));
        match &self.burst {
            _ if self.is_named => (self.kind, given()),
            Some(burst) => (burst.kind(), burst.name(&self.naming).unwrap_or_else(given)),
            None if self.connects => (self.kind, Arc::from(bursts::after_connecting(&given(), true))),
            None => (self.kind, given()),
        }
    }

    /// Whether all members come after the last reply (`Terminate`, statements closed). No client
    /// waits for these, so alone they are no operation.
    fn is_of_stragglers(&self) -> bool {
        let nobody_waited = |step: &OperationStep| {
            let exchange = &step.exchange;
            exchange.turns == 0
                && exchange.reply_bytes == 0
                && exchange.executions == 0
                && exchange.request_messages > 0
                && span::ended(exchange) <= span::started(exchange)
        };
        self.from.is_none() && self.members.steps.iter().all(nobody_waited)
    }
}

impl Operations {
    /// By start, for the same order in every run.
    pub(super) fn keys_by_age(&self) -> Vec<Key> {
        let mut keys: Vec<(u64, Key)> = self.groups.iter().map(|(key, group)| (group.id, *key)).collect();
        keys.sort_unstable_by_key(|(id, _)| *id);
        keys.into_iter().map(|(_, key)| key).collect()
    }

    pub(super) fn add(&mut self, key: Key, kind: OperationKind, member: Member, out: &mut GroupedSink<'_>) {
        let ended = span::ended(&member.exchange);
        let group = self.groups.entry(key).or_insert_with(|| Group {
            id: take_id(&mut self.next_id),
            kind,
            members: Members::with_capacity(self.usual_steps),
            from: None,
            ended,
            name: None,
            naming: Naming::default(),
            is_named: false,
            connects: false,
            burst: matches!(key, Key::Burst(_)).then(Box::default),
        });
        if let Some(burst) = &mut group.burst {
            burst.add(&member, bursts::pause(&member, group.ended));
        }
        group.ended = group.ended.max(ended);
        if group.name.is_none() {
            let given = match kind {
                OperationKind::Connection if matches!(key, Key::Setup(_)) => {
                    Some(bursts::connecting(member.sides.server))
                }
                OperationKind::Connection => self.names.get(&member.sides.server).cloned(),
                OperationKind::Marked => self.marks.get(&member.sides.client.address).cloned(),
                OperationKind::Http
                | OperationKind::Transaction
                | OperationKind::Request
                | OperationKind::Burst
                | OperationKind::Whole => None,
            };
            group.name = Some(given.unwrap_or_else(|| group_name(kind, &member)));
        }
        let by_statements = matches!(kind, OperationKind::Transaction | OperationKind::Request);
        let is_work = member.exchange.phase == Phase::Work;
        if !group.is_named && is_work && (by_statements || group.burst.is_some()) {
            group.naming.offer(&member.exchange);
            group.name = group.naming.name().or(group.name.as_ref()).cloned();
        }
        group.members.push(member, &mut self.emptied);
        self.held += 1;
        if group.members.len() >= MAXIMUM_STEPS {
            self.cut(key, out);
        } else if self.held >= MAXIMUM_HELD {
            for key in self.keys_by_age() {
                self.cut(key, out);
            }
        }
    }

    fn cut(&mut self, key: Key, out: &mut GroupedSink<'_>) {
        let groups = self.groups.len();
        let Some(group) = self.groups.get_mut(&key) else {
            return;
        };
        let next = match group.members.len() {
            0 => return,
            // The next part will be as long. With many groups, their reserves together would exceed
            // the limit.
            MAXIMUM_STEPS.. if groups * MAXIMUM_STEPS <= MAXIMUM_HELD / 2 => {
                Members::with_capacity(MAXIMUM_STEPS)
            }
            _ => Members::default(),
        };
        let members = std::mem::replace(&mut group.members, next);
        self.held -= members.len();
        let (from, ended) = (group.from, group.ended);
        group.from = Some(ended);
        let (kind, name) = group.finished();
        (group.kind, group.name, group.is_named) = (kind, Some(name.clone()), true);
        let operation = assemble(group.id, kind, name, members, from, true);
        out(Grouped::Operation(operation));
    }

    pub(super) fn close(&mut self, key: Key, out: &mut GroupedSink<'_>) {
        let Some(group) = self.groups.remove(&key) else {
            return;
        };
        self.held -= group.members.len();
        self.usual_steps = group.members.len().min(MAXIMUM_ROOM);
        if group.is_of_stragglers() {
            for step in group.members.steps {
                out(Grouped::Alone(Box::new(step.exchange), step.protocol));
            }
            return;
        }
        let (kind, name) = group.finished();
        out(Grouped::Operation(assemble(
            group.id,
            kind,
            name,
            group.members,
            group.from,
            false,
        )));
    }
}
