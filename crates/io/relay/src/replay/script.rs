//! An operation as a script for two ends: the sender of each message, and its conditions.
//!
//! Follows the rules of docs/prediction.md, "What is replayed". Deliberately separate from the
//! predictor: a replay must not rest on the code that it proves.

use super::ReplayError;
use model::{ConnectionId, Operation, OperationStep, PerSide, Phase, Side, Step};
use std::collections::{HashMap, HashSet};
use std::time::Duration;

#[derive(Debug)]
pub struct ReplayScript {
    pub(super) nodes: Vec<Node>,
    pub(super) roots: Vec<u32>,
    pub(super) channels: Vec<ChannelPlan>,
    pub(super) client_after: Duration,
}

#[derive(Debug)]
pub(super) struct Node {
    pub(super) transfer: Transfer,
    pub(super) has_reply: bool,
    pub(super) bytes: PerSide<u64>,
    /// Time over which each side produces its bytes.
    pub(super) inside: PerSide<Duration>,
    /// Server time before the reply's first byte, including waits of unknown cause.
    pub(super) server_before: Duration,
    pub(super) after: Option<(u32, After)>,
    pub(super) also_after: Vec<u32>,
    /// Client time between the first condition and the request.
    pub(super) client_before: Duration,
    pub(super) reply_after: Vec<u32>,
    /// Nodes that wait for this one to start, arrive or complete.
    pub(super) dependents: Vec<u32>,
    /// Nodes that wait for this one to complete as a further condition.
    pub(super) joined_by: Vec<u32>,
    pub(super) reply_waiters: Vec<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Transfer {
    Handshake(u32),
    /// The greeting of a server that speaks first, once this channel is open.
    Greeting(u32),
    Data(u32),
    /// Not over the link: the measured times each way.
    Timed {
        request: Duration,
        reply: Duration,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum After {
    Completion,
    RequestSent,
    RequestArrived,
}

/// A connection of the operation that crosses the link.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ChannelPlan {
    pub(super) opened_within: bool,
    pub(super) closed_within: bool,
}

impl ReplayScript {
    /// `moved` selects exchanges with connections over the link; the others keep their
    /// measured times.
    ///
    /// # Errors
    /// If the operation is only a part of a longer one, has too many connections or bytes, moves no
    /// connection, or its exchanges wait for each other in a circle.
    pub fn new(operation: &Operation, moved: &dyn Fn(&OperationStep) -> bool) -> Result<Self, ReplayError> {
        if operation.continues {
            return Err(ReplayError::Partial);
        }
        let mut reader = Reader::default();
        for (index, step) in operation.steps.iter().enumerate() {
            reader.add(index, step, moved(step));
        }
        reader.finish(operation)
    }

    pub fn steps(&self) -> usize {
        self.nodes.len()
    }

    pub fn connections(&self) -> usize {
        self.channels.len()
    }
}

#[derive(Default)]
struct Reader {
    nodes: Vec<Node>,
    first: Vec<u32>,
    connections: Vec<ConnectionId>,
    channels: Vec<ChannelPlan>,
    places: HashMap<ConnectionId, u32>,
    /// Channels with a handshake and no exchange yet.
    fresh: HashSet<u32>,
}

impl Reader {
    fn add(&mut self, index: usize, step: &OperationStep, moved: bool) {
        let exchange = &step.exchange;
        let mut after = self.waits_for(index, step);
        let mut client_before = step.client_before;
        let channel = moved.then(|| self.channel(step));
        self.first.push(self.nodes.len() as u32);
        self.connections.push(exchange.connection);
        let mut previous: Option<Step> = None;
        for part in exchange.steps_with_pooler() {
            if let Some(previous) = previous {
                after = Some((self.nodes.len() as u32 - 1, After::Completion));
                client_before = pause_between(&previous, &part);
            }
            let transfer = match channel {
                None => timed(&part, step.reply_after.is_some()),
                Some((channel, _)) if exchange.is_handshake() => Transfer::Handshake(channel),
                Some((channel, true)) if part.request_bytes == 0 && previous.is_none() => {
                    Transfer::Greeting(channel)
                }
                Some((channel, _)) => Transfer::Data(channel),
            };
            let waits_inside = step.reply_after.is_some();
            self.nodes
                .push(node(&part, transfer, after, client_before, waits_inside));
            previous = Some(part);
        }
    }

    /// Also returns whether this is the first exchange after the handshake.
    fn channel(&mut self, step: &OperationStep) -> (u32, bool) {
        let exchange = &step.exchange;
        let next = self.channels.len() as u32;
        let place = *self.places.entry(exchange.connection).or_insert(next);
        if place == next {
            self.channels.push(ChannelPlan::default());
        }
        let fresh = match exchange.is_handshake() {
            true => self.fresh.insert(place),
            false => self.fresh.remove(&place),
        };
        let plan = &mut self.channels[place as usize];
        plan.opened_within |= exchange.is_handshake();
        plan.closed_within |= exchange.phase == Phase::Close;
        (place, fresh)
    }

    /// Ignores dependencies that point forward, which no observation can produce.
    fn waits_for(&self, index: usize, step: &OperationStep) -> Option<(u32, After)> {
        let after = step.after.map(|after| after as usize)?;
        if after >= index {
            return None;
        }
        let what = match step.after_start {
            false => return Some((self.last(after), After::Completion)),
            true if self.connections[after] == step.exchange.connection => After::RequestSent,
            true => After::RequestArrived,
        };
        Some((self.first[after], what))
    }

    fn last(&self, index: usize) -> u32 {
        self.first
            .get(index + 1)
            .map_or(self.nodes.len() as u32, |next| *next)
            - 1
    }

    fn finish(mut self, operation: &Operation) -> Result<ReplayScript, ReplayError> {
        for (index, step) in operation.steps.iter().enumerate() {
            let waited_for = step.reply_after.iter().chain(&step.reply_also_after);
            let waited_for = waited_for.map(|after| *after as usize);
            for inner in waited_for.filter(|inner| *inner < self.first.len() && *inner != index) {
                let (outer, inner) = (self.last(index), self.last(inner));
                self.nodes[outer as usize].reply_after.push(inner);
                self.nodes[inner as usize].reply_waiters.push(outer);
            }
            for other in step.also_after.iter().filter(|other| (**other as usize) < index) {
                let (waiter, other) = (self.first[index], self.last(*other as usize));
                self.nodes[waiter as usize].also_after.push(other);
                self.nodes[other as usize].joined_by.push(waiter);
            }
        }
        let mut roots = Vec::new();
        for index in 0..self.nodes.len() {
            match self.nodes[index].after {
                Some((after, _)) => self.nodes[after as usize].dependents.push(index as u32),
                None => roots.push(index as u32),
            }
        }
        let script = ReplayScript {
            nodes: self.nodes,
            roots,
            channels: self.channels,
            client_after: operation.client_after,
        };
        script.check()?;
        Ok(script)
    }
}

impl ReplayScript {
    pub(super) fn check_clients(&self, clients: u32) -> Result<(), ReplayError> {
        let connections = self.channels.len().saturating_mul(clients as usize);
        match connections > MAX_CONNECTIONS {
            true => Err(ReplayError::TooManyConnections {
                connections,
                most: MAX_CONNECTIONS,
            }),
            false => Ok(()),
        }
    }

    fn check(&self) -> Result<(), ReplayError> {
        if self.channels.is_empty() {
            return Err(ReplayError::NothingMoved);
        }
        self.check_clients(1)?;
        let over_link = |node: &&Node| !matches!(node.transfer, Transfer::Timed { .. });
        let bytes = self.nodes.iter().filter(over_link).fold(0_u64, |sum, node| {
            node.bytes
                .iter()
                .fold(sum, |sum, bytes| sum.saturating_add(*bytes))
        });
        if bytes > MAX_BYTES {
            return Err(ReplayError::TooManyBytes {
                bytes,
                most: MAX_BYTES,
            });
        }
        self.check_order()
    }

    /// Detects circles, since every node must become possible.
    fn check_order(&self) -> Result<(), ReplayError> {
        let mut started = vec![false; self.nodes.len()];
        let mut completed = vec![false; self.nodes.len()];
        let mut todo = self.roots.clone();
        while let Some(index) = todo.pop() {
            let node = &self.nodes[index as usize];
            if node.also_after.iter().any(|other| !completed[*other as usize]) {
                continue;
            }
            if !std::mem::replace(&mut started[index as usize], true) {
                todo.extend(self.dependents(index, false));
            }
            let held = node.reply_after.iter().any(|inner| !completed[*inner as usize]);
            if held || std::mem::replace(&mut completed[index as usize], true) {
                continue;
            }
            todo.extend(self.dependents(index, true));
            todo.extend(self.joined(index, &started, &completed));
            let waiting = node.reply_waiters.iter().copied();
            todo.extend(waiting.filter(|waiter| started[*waiter as usize]));
        }
        match completed.iter().position(|completed| !completed) {
            Some(exchange) => Err(ReplayError::Circle { exchange }),
            None => Ok(()),
        }
    }

    fn joined(&self, of: u32, started: &[bool], completed: &[bool]) -> Vec<u32> {
        let is_due = |waiter: &u32| match self.nodes[*waiter as usize].after {
            None => true,
            Some((after, After::Completion)) => completed[after as usize],
            Some((after, _)) => started[after as usize],
        };
        let joined = self.nodes[of as usize].joined_by.iter().copied();
        joined.filter(is_due).collect()
    }

    fn dependents(&self, of: u32, completion: bool) -> impl Iterator<Item = u32> + '_ {
        let is_wanted = move |dependent: &u32| {
            let after = self.nodes[*dependent as usize].after;
            after.is_some_and(|(_, what)| (what == After::Completion) == completion)
        };
        self.nodes[of as usize]
            .dependents
            .iter()
            .copied()
            .filter(is_wanted)
    }
}

fn node(
    step: &Step,
    transfer: Transfer,
    after: Option<(u32, After)>,
    client_before: Duration,
    waits_inside: bool,
) -> Node {
    let inside = step.server_inside_reply.min(step.server);
    let before = step.server - inside;
    // Without a server-side round-trip time the cause of the wait is unknown: it is kept whole.
    let is_data = matches!(transfer, Transfer::Data(_) | Transfer::Greeting(_));
    let unknown = if is_data && step.server_side_rtt.is_none() && !waits_inside {
        measured_wait(step).saturating_sub(before)
    } else {
        Duration::ZERO
    };
    let has_reply = step.reply_started.is_some();
    let mut bytes = PerSide::new(step.request_bytes, step.reply_bytes);
    if matches!(transfer, Transfer::Data(_)) {
        // A socket cannot send a packet without payload: one byte takes as long.
        bytes[Side::Client] = step.request_bytes.max(1);
    }
    if is_data && has_reply {
        bytes[Side::Server] = step.reply_bytes.max(1);
    }
    Node {
        transfer,
        has_reply,
        bytes,
        inside: PerSide::new(step.client_inside_request, inside),
        server_before: before + unknown,
        after,
        client_before,
        also_after: Vec::new(),
        reply_after: Vec::new(),
        dependents: Vec::new(),
        joined_by: Vec::new(),
        reply_waiters: Vec::new(),
    }
}

/// From the request's end to the reply's start at the observation point.
fn measured_wait(step: &Step) -> Duration {
    step.reply_started
        .map_or(Duration::ZERO, |started| started.since(step.request_ended))
}

/// The times of a step that is not moved: request and reply as seen at the observation point, and
/// half a round trip each. A wait explained by neither server time nor round trip stays with the
/// reply, unless that waited for other steps.
fn timed(step: &Step, waits_inside: bool) -> Transfer {
    let client_side = step.client_side_rtt.unwrap_or_default();
    let server_side = step.server_side_rtt.unwrap_or_default();
    let half = (client_side + server_side) / 2;
    let before = step.server.saturating_sub(step.server_inside_reply);
    let unexplained = if waits_inside {
        Duration::ZERO
    } else {
        measured_wait(step).saturating_sub(server_side + before)
    };
    let reply_span = match (step.reply_started, step.reply_ended) {
        (Some(started), Some(ended)) => ended.since(started).saturating_sub(step.server_inside_reply),
        _ => Duration::ZERO,
    };
    let request_span = step.request_ended.since(step.request_started);
    Transfer::Timed {
        request: request_span.saturating_sub(step.client_inside_request) + half,
        reply: unexplained + reply_span + client_side + server_side - half,
    }
}

/// Client time between two steps of an exchange, less the way to the client and back.
fn pause_between(previous: &Step, next: &Step) -> Duration {
    match previous.reply_ended {
        Some(ended) => next
            .request_started
            .since(ended)
            .saturating_sub(next.client_side_rtt.unwrap_or_default()),
        None => next.request_started.since(previous.request_ended),
    }
}

/// Each takes two sockets; the usual limit of open files is 1024.
const MAX_CONNECTIONS: usize = 400;

const MAX_BYTES: u64 = 4 << 30;
