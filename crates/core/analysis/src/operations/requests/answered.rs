//! Answered requests are emitted, or wait for opaque exchanges that may be theirs.

use super::super::after_reply;
use super::super::grouped::{Grouped, GroupedSink, assemble, group_name};
use super::super::member::{Member, Members};
use super::{MAXIMUM_MEMBERS, MAXIMUM_WINDOWS, OpenRequest, Requests};
use model::{Operation, OperationKind, OperationStep, Timestamp};
use std::sync::Arc;

#[derive(Debug)]
pub(super) struct Answered {
    pub(super) request: OpenRequest,
    pub(super) name: Arc<str>,
    /// First byte of the reply; `ended` is the last.
    pub(super) replied: Timestamp,
    pub(super) ended: Timestamp,
}

/// Answered requests waiting for an opaque exchange; beyond it the oldest stops waiting.
const MAXIMUM_WAITING: usize = 1_000;

impl Requests {
    pub(super) fn answered(&mut self, member: Member, out: &mut GroupedSink<'_>) -> Vec<Member> {
        let connection = member.exchange.connection;
        let Some(position) = self.position_of(&member) else {
            out(Grouped::Alone(member.exchange, member.protocol));
            return Vec::new();
        };
        let mut request = self.open.remove(position);
        let name = group_name(OperationKind::Http, &member);
        let ended = member.exchange.ended();
        let host = request.host;
        let replied = member.exchange.first.reply_started.unwrap_or(ended);
        if let Some(window) = self.windows.get_mut(&host) {
            window.answered(request.id, replied, ended);
        }
        self.lives.answered(host, request.started, ended);
        for handshake in &mut request.members {
            if handshake.exchange.connection == connection {
                handshake.protocol = member.protocol;
            }
        }
        request.members.push(member);
        let answered = Answered {
            request,
            name,
            replied,
            ended,
        };
        if self.awaited.contains_key(&answered.request.id) {
            if self.waiting.len() >= MAXIMUM_WAITING {
                let oldest = self.waiting.remove(0);
                self.emit_request(oldest, out);
            }
            if let Some((outer, _)) = answered.request.outer {
                *self.awaited.entry(outer).or_default() += 1;
                self.within.insert(answered.request.id);
            }
            self.waiting.push(answered);
        } else {
            self.emit_request(answered, out);
        }
        self.decide(host, ended, false, out)
    }

    /// The open request that an exchange answers. FastCGI may answer out of order.
    fn position_of(&self, member: &Member) -> Option<usize> {
        let of_connection = |open: &OpenRequest| open.connection == member.exchange.connection;
        let arrived = member.exchange.first.request_ended;
        self.open
            .iter()
            .position(|open| of_connection(open) && open.started == arrived)
            .or_else(|| self.open.iter().position(of_connection))
    }

    pub(super) fn no_longer_awaited(&mut self, id: u64, out: &mut GroupedSink<'_>) {
        match self.awaited.get_mut(&id) {
            Some(count) if *count > 1 => *count -= 1,
            _ => {
                self.awaited.remove(&id);
                if let Some(position) = self.waiting.iter().position(|answered| answered.request.id == id) {
                    let answered = self.waiting.remove(position);
                    self.emit_request(answered, out);
                }
            }
        }
    }

    /// Emits an answered request, or adds it to its outer request.
    pub(super) fn emit_request(&mut self, answered: Answered, out: &mut GroupedSink<'_>) {
        let Answered {
            mut request,
            name,
            replied,
            ..
        } = answered;
        let (members, late) = after_reply::split(std::mem::take(&mut request.members), request.connection);
        request.members = members;
        let after_reply = steps_after_reply(&late);
        for member in late {
            out(Grouped::Alone(member.exchange, member.protocol));
        }
        if !request.is_contended {
            self.shapes.learn(&request.name, &request.members);
            self.learn_alone(&request, replied);
        }
        if let Some((outer, assigned)) = request.outer {
            let open = self.request(outer);
            if let Some(open) = open.filter(|open| open.members.len() < MAXIMUM_MEMBERS) {
                for member in &mut request.members {
                    member.assigned = Some(member.assigned.map_or(assigned, |inner| inner.max(assigned)));
                }
                open.members.append(&mut request.members);
                if self.within.remove(&request.id) {
                    self.no_longer_awaited(outer, out);
                }
                return;
            }
        }
        let mut members = Members::default();
        for member in request.members {
            members.push(member, &mut self.emptied);
        }
        let operation = assemble(request.id, OperationKind::Http, name, members, None, false);
        out(Grouped::Operation(Operation {
            after_reply,
            ..operation
        }));
    }

    fn learn_alone(&mut self, request: &OpenRequest, replied: Timestamp) {
        if self.windows.len() < MAXIMUM_WINDOWS || self.windows.contains_key(&request.host) {
            let window = self.windows.entry(request.host).or_default();
            window.learn_alone(request, replied, &self.lives);
        }
    }
}

fn steps_after_reply(late: &[Member]) -> Vec<OperationStep> {
    let step = |member: &Member| OperationStep::first((*member.exchange).clone(), member.protocol);
    let mut steps: Vec<OperationStep> = late.iter().map(step).collect();
    steps.sort_by_key(|step| step.exchange.at);
    steps
}
