//! What each exchange of an operation waited for.
//!
//! 1. An exchange whose server is the client of others (a web server asking a database) contains those that lie
//!    between its request reaching that server and the end of its reply leaving it. The innermost such exchange is the
//!    parent. A web server may begin its reply before it has asked everything.
//! 2. A request sent on a connection while an earlier reply of that connection was owed waited for the earlier *request*.
//! 3. Any other exchange waited for the sibling (same parent) that ended last before it began; the first child waited
//!    for its parent's request; the first of the operation waited for nothing.
//! 4. A parent's reply waited for the child that ended last, all of it: that its first bytes may leave before the last
//!    child is a difference of less than the time in which they were produced.
//!
//! This is causality by time: two siblings that follow each other without depending on each other look dependent. What all
//! operations of a name show beyond that is in `predict::concurrency`.

use super::span;
use super::{Settled, Timestamp};
use foldhash::HashMap;
use model::{ConnectionMap, OperationStep, Protocol};

/// The steps in order of their start, and for each its parent.
#[derive(Debug)]
pub(super) struct Linked {
    pub(super) steps: Vec<OperationStep>,
    pub(super) parents: Vec<Option<u32>>,
}

/// Orders the members of an operation and finds what each waited for.
pub(super) fn link(mut members: Vec<Settled>) -> Linked {
    members.sort_by_key(|member| member.exchange.at);
    let parents = parents(&members);
    let triggers = triggers(&members, &parents);
    let mut steps: Vec<OperationStep> = members
        .into_iter()
        .zip(triggers)
        .map(|(member, trigger)| OperationStep {
            exchange: member.exchange,
            protocol: member.protocol,
            after: trigger.map(|trigger| trigger.step),
            after_start: trigger.is_some_and(|trigger| trigger.by_request),
            client_before: trigger.map(|trigger| trigger.client_before).unwrap_or_default(),
            also_after: Vec::new(),
            reply_after: None,
            reply_also_after: Vec::new(),
            assigned: member.assigned,
        })
        .collect();
    wait_for_children(&mut steps, &parents);
    Linked { steps, parents }
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

fn parents(members: &[Settled]) -> Vec<Option<u32>> {
    let mut open: Vec<u32> = Vec::new();
    let mut parents = Vec::with_capacity(members.len());
    for (index, member) in members.iter().enumerate() {
        let (started, ended) = (span::started(&member.exchange), span::ended(&member.exchange));
        open.retain(|&candidate| span::ended(&members[candidate as usize].exchange) >= started);
        let parent = open.iter().rev().copied().find(|&candidate| {
            let container = &members[candidate as usize];
            container.exchange.connection != member.exchange.connection
                && container.sides.server_host == member.sides.client_host
                && container.sides.server != member.sides.server
                && span::reached_server(&container.exchange) <= started
                && span::finished_at_server(&container.exchange).is_some_and(|finished| ended <= finished)
        });
        parents.push(parent);
        if may_contain(member.protocol) && !member.exchange.is_handshake() {
            open.push(index as u32);
        }
    }
    parents
}

fn triggers(members: &[Settled], parents: &[Option<u32>]) -> Vec<Option<Trigger>> {
    let mut by_end: Vec<u32> = (0..members.len() as u32).collect();
    by_end.sort_by_key(|&index| span::ended(&members[index as usize].exchange));
    let mut next_to_end = 0;
    let mut last_ended: HashMap<Option<u32>, u32> = HashMap::default();
    let mut latest_on: ConnectionMap<u32> = ConnectionMap::default();
    let mut triggers = Vec::with_capacity(members.len());
    for (index, member) in members.iter().enumerate() {
        let started = span::started(&member.exchange);
        while let Some(&ending) = by_end.get(next_to_end) {
            // What has not begun yet cannot be waited for, even when it is over at once (a one-way message).
            if span::ended(&members[ending as usize].exchange) > started || ending >= index as u32 {
                break;
            }
            last_ended.insert(parents[ending as usize], ending);
            next_to_end += 1;
        }
        let earlier = latest_on.insert(member.exchange.connection, index as u32);
        let pipelined = earlier.filter(|&earlier| {
            !member.exchange.first.turn && span::ended(&members[earlier as usize].exchange) > started
        });
        let waited = earlier.filter(|&earlier| {
            parents[earlier as usize] == parents[index] && turned_around(&members[earlier as usize], member)
        });
        if let Some(earlier) = waited {
            last_ended.insert(parents[index], earlier);
        }
        triggers.push(trigger(members, parents[index], pipelined, &last_ended, started));
    }
    triggers
}

/// Whether a client waited for the reply of `earlier`, which passed before it asked again on the same connection. The kernel's
/// round trip to a client on this host is longer than it takes from reply to request: shifted to the client by it, the reply
/// would come too late.
fn turned_around(earlier: &Settled, member: &Settled) -> bool {
    let last = earlier.exchange.more.last().unwrap_or(&earlier.exchange.first);
    member.exchange.first.turn
        && last.reply_ended.is_some_and(|ended| ended <= member.exchange.at)
        && span::ended(&earlier.exchange) > span::started(&member.exchange)
}

fn trigger(
    members: &[Settled],
    parent: Option<u32>,
    pipelined: Option<u32>,
    last_ended: &HashMap<Option<u32>, u32>,
    started: Timestamp,
) -> Option<Trigger> {
    if let Some(step) = pipelined {
        let since = span::started(&members[step as usize].exchange);
        return Some(Trigger {
            step,
            by_request: true,
            client_before: started.since(since),
        });
    }
    if let Some(&step) = last_ended.get(&parent) {
        let since = span::ended(&members[step as usize].exchange);
        return Some(Trigger {
            step,
            by_request: false,
            client_before: started.since(since),
        });
    }
    let step = parent?;
    let since = span::reached_server(&members[step as usize].exchange);
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
    }
}
