//! Finds the wait that each exchange of an operation depends on.
//!
//! 1. An exchange with a server that is a client itself (a web server with a database) contains
//!    those between its request's arrival and the end of its reply at that server. The innermost
//!    such exchange is the parent. A web server may begin its reply before its last query.
//! 2. A pipelined request waited for the earlier *request* on its connection; if its client pipelines
//!    regularly, see [`super::pipelines`].
//! 3. Any other exchange waited for the sibling (same parent) that ended last before it began; the
//!    first child waited for its parent's request; the operation's first exchange waited for none.
//! 4. A parent's reply waited for the whole child that ended last, though its first bytes may leave earlier.
//!
//! This is causality by time: independent siblings in sequence look dependent.
//! `predict::concurrency` adds the evidence of all operations of a name.

use super::calls;
use super::member::Members;
use super::moment::Moment;
use super::pipelines::{self, Pipelined};
use super::span;
use foldhash::HashMap;
use model::{ConnectionId, ConnectionMap, OperationStep, Timestamp};

#[derive(Debug)]
pub(super) struct Linked {
    pub(super) steps: Vec<OperationStep>,
    pub(super) parents: Vec<Option<u32>>,
    pub(super) moments: Vec<Moment>,
    pub(super) by_end: Vec<u32>,
}

/// Orders the members of an operation and links each to its wait.
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
    calls::mark(&mut steps, &parents);
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
        // An exchange that has not begun cannot be waited for, even if it takes no time (a one-way
        // message).
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

/// The child of each parent that ended last. Usually no step has a parent.
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

/// Latest step of each connection. Usually the next one is on the same.
#[derive(Debug, Default)]
struct Latest {
    last: Option<(ConnectionId, u32)>,
    before: ConnectionMap<u32>,
}

impl Latest {
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

/// Whether the client waited for the reply of `earlier`, by its passing before the next request.
/// Shifting the reply to a client on this host would make it too late: the kernel's round trip
/// exceeds the time from reply to request.
fn turned_around(earlier: &Moment, moment: &Moment) -> bool {
    moment.begins_turn
        && earlier.replied.is_some_and(|replied| replied <= moment.at)
        && earlier.ended > moment.started
}

/// Takes the first of: the step it was pipelined behind, the sibling that ended last, the parent.
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
        // The time before the last child's end belongs to the children or lies between them.
        first.server_inside_reply = first.server_inside_reply.min(finished.since(child_ended));
        first.server = own + first.server_inside_reply;
        first.server_margin = first.server_margin.within(own);
    }
}
