//! What each exchange of an operation waited for.
//!
//! 1. An exchange whose server is the client of others (a web server asking a database) contains those that
//!    lie between its request reaching that server and the end of its reply leaving it. The innermost such
//!    exchange is the parent. A web server may begin its reply before it has asked everything.
//! 2. A request sent on a connection while an earlier reply of that connection was owed waited for the
//!    earlier *request*; one whose client pipelines, for what [`super::pipelines`] finds.
//! 3. Any other exchange waited for the sibling (same parent) that ended last before it began; the first
//!    child waited for its parent's request; the first of the operation waited for nothing.
//! 4. A parent's reply waited for the child that ended last, all of it: that its first bytes may leave before
//!    the last child is a difference of less than the time in which they were produced.
//!
//! This is causality by time: two siblings that follow each other without depending on each other look
//! dependent. What all operations of a name show beyond that is in `predict::concurrency`.

use super::pipelines::{self, Pipelined};
use super::span;
use super::{Members, Timestamp};
use foldhash::HashMap;
use model::{ConnectionId, ConnectionMap, OperationStep, Protocol};

/// The steps in order of their start, and for each its parent.
#[derive(Debug)]
pub(super) struct Linked {
    pub(super) steps: Vec<OperationStep>,
    pub(super) parents: Vec<Option<u32>>,
    /// What was inspected of each.
    pub(super) moments: Vec<Moment>,
    /// Their order by their end.
    pub(super) by_end: Vec<u32>,
}

/// What of a step is inspected again and again. Steps are large, and these lie side by side: all of an
/// operation's stay in the processor's cache.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment {
    pub(super) at: Timestamp,
    pub(super) started: Timestamp,
    pub(super) ended: Timestamp,
    /// When its reply had passed.
    pub(super) replied: Option<Timestamp>,
    pub(super) connection: ConnectionId,
    pub(super) turns: u32,
    /// Whether its first request was waited for.
    pub(super) begins_turn: bool,
    /// Whether its server may ask other servers on its behalf.
    may_contain: bool,
}

impl Moment {
    pub(super) fn from_step(step: &OperationStep) -> Self {
        let exchange = &step.exchange;
        Self {
            at: exchange.at,
            started: span::started(exchange),
            ended: span::ended(exchange),
            replied: exchange.more.last().unwrap_or(&exchange.first).reply_ended,
            connection: exchange.connection,
            turns: exchange.turns,
            begins_turn: exchange.first.turn,
            may_contain: may_contain(step.protocol) && !exchange.is_handshake(),
        }
    }
}

/// Orders the members of an operation and finds what each waited for.
pub(super) fn link(mut members: Members) -> Linked {
    let all = |steps: &[OperationStep]| steps.iter().map(Moment::from_step).collect::<Vec<Moment>>();
    let mut moments = all(&members.steps);
    if !moments.is_sorted_by_key(|moment| moment.at) {
        members = members.sorted();
        moments = all(&members.steps);
    }
    let parents = parents(&members, &moments);
    let mut steps = members.steps;
    let mut by_end: Vec<u32> = (0..steps.len() as u32).collect();
    by_end.sort_by_key(|&index| moments[index as usize].ended);
    let pipelined = pipelines::find(&steps, &moments, &parents);
    let triggers = triggers(&steps, &moments, &parents, &by_end, &pipelined);
    for (index, (step, trigger)) in steps.iter_mut().zip(triggers).enumerate() {
        let window = pipelined.get(index).copied().flatten().and_then(|one| one.window);
        step.also_after = window.into_iter().collect();
        step.after = trigger.map(|trigger| trigger.step);
        step.after_start = trigger.is_some_and(|trigger| trigger.by_request);
        step.client_before = trigger.map(|trigger| trigger.client_before).unwrap_or_default();
    }
    wait_for_children(&mut steps, &parents);
    Linked {
        steps,
        parents,
        moments,
        by_end,
    }
}

#[derive(Debug, Clone, Copy)]
struct Trigger {
    step: u32,
    by_request: bool,
    client_before: std::time::Duration,
}

/// Whether the server of such a connection may ask other servers on behalf of a request.
fn may_contain(protocol: Protocol) -> bool {
    !protocol.is_database()
}

fn parents(members: &Members, moments: &[Moment]) -> Vec<Option<u32>> {
    let mut open: Vec<u32> = Vec::new();
    let mut parents = Vec::with_capacity(members.len());
    let may_ask = |container: usize, step: usize| {
        let (its, of_step) = members.sides_of(container).zip(members.sides_of(step))?;
        Some(its.server_host == of_step.client_host && its.server != of_step.server)
    };
    for (index, moment) in moments.iter().enumerate() {
        let (started, ended) = (moment.started, moment.ended);
        open.retain(|&candidate| moments[candidate as usize].ended >= started);
        let parent = open.iter().rev().copied().find(|&candidate| {
            let container = &members.steps[candidate as usize];
            container.exchange.connection != moment.connection
                && may_ask(candidate as usize, index) == Some(true)
                && span::reached_server(&container.exchange) <= started
                && span::finished_at_server(&container.exchange).is_some_and(|finished| ended <= finished)
        });
        parents.push(parent);
        if moment.may_contain {
            open.push(index as u32);
        }
    }
    parents
}

fn triggers(
    steps: &[OperationStep],
    moments: &[Moment],
    parents: &[Option<u32>],
    by_end: &[u32],
    found: &[Option<Pipelined>],
) -> Vec<Option<Trigger>> {
    let mut ending = by_end.iter().copied().peekable();
    let mut last_ended = LastEnded::default();
    let mut latest = Latest::default();
    let mut triggers = Vec::with_capacity(moments.len());
    for (index, moment) in moments.iter().enumerate() {
        // What has not begun yet cannot be waited for, even when it is over at once (a one-way message).
        let is_over =
            |&ending: &u32| moments[ending as usize].ended <= moment.started && ending < index as u32;
        while let Some(ended) = ending.next_if(is_over) {
            last_ended.record_step(parents[ended as usize], ended);
        }
        let earlier = latest.replace(moment.connection, index as u32);
        let pipelined = earlier
            .filter(|&earlier| !moment.begins_turn && moments[earlier as usize].ended > moment.started);
        let waited = earlier.filter(|&earlier| {
            parents[earlier as usize] == parents[index] && turned_around(&moments[earlier as usize], moment)
        });
        if let Some(earlier) = waited {
            last_ended.record_step(parents[index], earlier);
        }
        if let Some(found) = found.get(index).copied().flatten() {
            triggers.push(Some(Trigger {
                step: found.behind,
                by_request: true,
                client_before: moment.started.since(found.since(moments)),
            }));
            continue;
        }
        let last_ended = last_ended.last_child(parents[index]);
        triggers.push(trigger(
            steps,
            moments,
            (parents[index], pipelined, last_ended),
            moment.started,
        ));
    }
    triggers
}

/// The child of each parent that ended last so far. Mostly none has a parent.
#[derive(Debug, Default)]
struct LastEnded {
    without_parent: Option<u32>,
    of: HashMap<u32, u32>,
}

impl LastEnded {
    fn record_step(&mut self, parent: Option<u32>, step: u32) {
        match parent {
            None => self.without_parent = Some(step),
            Some(parent) => {
                self.of.insert(parent, step);
            }
        }
    }

    fn last_child(&self, parent: Option<u32>) -> Option<u32> {
        match parent {
            None => self.without_parent,
            Some(parent) => self.of.get(&parent).copied(),
        }
    }
}

/// The latest step of each connection. Mostly the next one is on the same.
#[derive(Debug, Default)]
struct Latest {
    last: Option<(ConnectionId, u32)>,
    before: ConnectionMap<u32>,
}

impl Latest {
    /// Notes a step; returns the one before it on its connection.
    fn replace(&mut self, connection: ConnectionId, step: u32) -> Option<u32> {
        match self.last.replace((connection, step)) {
            Some((last, earlier)) if last == connection => Some(earlier),
            Some((last, earlier)) => {
                self.before.insert(last, earlier);
                self.before.get(&connection).copied()
            }
            None => None,
        }
    }
}

/// Whether a client waited for the reply of `earlier`, which passed before it asked again on the same
/// connection. The kernel's round trip to a client on this host is longer than it takes from reply to
/// request: shifted to the client by it, the reply would come too late.
fn turned_around(earlier: &Moment, moment: &Moment) -> bool {
    moment.begins_turn
        && earlier.replied.is_some_and(|replied| replied <= moment.at)
        && earlier.ended > moment.started
}

/// What a step that began at `started` waited for: of its parent, the earlier step that it was sent behind,
/// and its sibling that ended last.
fn trigger(
    steps: &[OperationStep],
    moments: &[Moment],
    (parent, pipelined, last_ended): (Option<u32>, Option<u32>, Option<u32>),
    started: Timestamp,
) -> Option<Trigger> {
    if let Some(step) = pipelined {
        let since = moments[step as usize].started;
        return Some(Trigger {
            step,
            by_request: true,
            client_before: started.since(since),
        });
    }
    if let Some(step) = last_ended {
        let since = moments[step as usize].ended;
        return Some(Trigger {
            step,
            by_request: false,
            client_before: started.since(since),
        });
    }
    let step = parent?;
    let since = span::reached_server(&steps[step as usize].exchange);
    Some(Trigger {
        step,
        by_request: true,
        client_before: started.since(since),
    })
}

fn wait_for_children(steps: &mut [OperationStep], parents: &[Option<u32>]) {
    let mut last_child: HashMap<u32, (u32, Timestamp)> = HashMap::default();
    for (index, parent) in parents.iter().enumerate() {
        let Some(parent) = parent else { continue };
        let ended = span::ended(&steps[index].exchange);
        let entry = last_child.entry(*parent).or_insert((index as u32, ended));
        if ended >= entry.1 {
            *entry = (index as u32, ended);
        }
    }
    for (parent, (child, child_ended)) in last_child {
        let step = &mut steps[parent as usize];
        step.reply_after = Some(child);
        let left = span::left_server(&step.exchange);
        let own = left.map(|left| left.since(child_ended)).unwrap_or_default();
        let finished = span::finished_at_server(&step.exchange).unwrap_or(child_ended);
        let first = &mut step.exchange.first;
        // What lies before the last child's end is the children's, or the time between them.
        first.server_inside_reply = first.server_inside_reply.min(finished.since(child_ended));
        first.server = own + first.server_inside_reply;
        first.server_margin = first.server_margin.within(own);
    }
}
