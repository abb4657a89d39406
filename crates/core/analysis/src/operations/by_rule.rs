//! Assigns an exchange to an operation by the run's [`Rule`].

use super::background::Cause;
use super::bursts::{self, Place};
use super::group::Key;
use super::grouped::{Grouped, GroupedSink};
use super::member::Member;
use super::rule::Rule;
use super::{Operations, mark, span};
use crate::events::watches_server;
use model::StageOutput;
use model::{OperationKind, Phase, TransactionState};
use std::sync::Arc;

impl Operations {
    pub(super) fn exchange(&mut self, member: Member, out: &mut GroupedSink<'_>) {
        let is_joined = matches!(self.rule, Rule::Connection | Rule::Whole);
        if !is_joined && member.exchange.fingerprint.as_deref().is_some_and(watches_server) {
            return out(Grouped::Alone(member.exchange, member.protocol));
        }
        match self.rule {
            Rule::Auto | Rule::Http => {
                if member.protocol.carries_requests() && member.exchange.executions > 0 {
                    self.background
                        .ended(member.exchange.connection, member.exchange.ended());
                }
                let cause = match self.requests.may_go_on(&member) {
                    true => Cause::Request,
                    false => self.background.cause_of(&member),
                };
                let unclaimed = match cause {
                    Cause::Host => StageOutput::Go(Member {
                        outside_requests: true,
                        ..member
                    }),
                    Cause::Doubtful(likely) => self.requests.claim(member, Some(likely), out),
                    Cause::Request => self.requests.claim(member, None, out),
                };
                unclaimed.each(|member| self.process_ungrouped(member, out));
            }
            Rule::Connection => self.add(
                Key::Connection(member.exchange.connection),
                OperationKind::Connection,
                member,
                out,
            ),
            Rule::Transaction => self.by_transaction(member, out),
            Rule::Gap(pause) => {
                let key = Key::Host(member.sides.client.address);
                let started = span::started(&member.exchange);
                if self
                    .groups
                    .get(&key)
                    .is_some_and(|group| started.since(group.ended) > pause)
                {
                    self.close(key, out);
                }
                self.add(key, OperationKind::Burst, member, out);
            }
            Rule::Marked => self.by_mark(member, out),
            Rule::Whole => self.add(Key::All, OperationKind::Whole, member, out),
        }
    }

    pub(super) fn process_ungrouped(&mut self, member: Member, out: &mut GroupedSink<'_>) {
        if self.rule == Rule::Http {
            return out(Grouped::Alone(member.exchange, member.protocol));
        }
        self.identified_or_by_burst(member, out);
    }

    /// An exchange with a request's identifier, and its transaction, belong to that request; the
    /// rest are grouped by transactions and bursts.
    fn identified_or_by_burst(&mut self, member: Member, out: &mut GroupedSink<'_>) {
        let sorted = self.identified.process_member(member);
        sorted.each(|(member, request)| match request {
            Some((request, assigned)) => {
                let member = Member {
                    assigned: Some(assigned),
                    ..member
                };
                self.add(Key::Request(request), OperationKind::Request, member, out);
            }
            None if self.statements_alone => self.by_transaction(member, out),
            None => self.by_burst(member, out),
        });
        self.close_idle_requests(out);
    }

    /// Closes requests that have been idle for long; beyond the limit, those idle longest.
    fn close_idle_requests(&mut self, out: &mut GroupedSink<'_>) {
        for request in self.identified.over() {
            self.close(Key::Request(request), out);
        }
    }

    /// A mark is not part of the operation it names.
    fn by_mark(&mut self, member: Member, out: &mut GroupedSink<'_>) {
        let host = member.sides.client.address;
        match mark::find_mark(&member.exchange) {
            Some(name) => {
                self.close(Key::Host(host), out);
                match name {
                    "" => self.marks.remove(&host),
                    name => self.marks.insert(host, Arc::from(name)),
                };
                out(Grouped::Alone(member.exchange, member.protocol));
            }
            None if self.marks.contains_key(&host) => {
                self.add(Key::Host(host), OperationKind::Marked, member, out);
            }
            None => out(Grouped::Alone(member.exchange, member.protocol)),
        }
    }

    /// By transaction, and outside transactions by burst ([`bursts`]).
    pub(super) fn by_burst(&mut self, member: Member, out: &mut GroupedSink<'_>) {
        let connection = member.exchange.connection;
        let (transaction, burst) = (Key::Connection(connection), Key::Burst(connection));
        match bursts::position_of(&member, self.groups.contains_key(&transaction)) {
            Place::Alone => out(Grouped::Alone(member.exchange, member.protocol)),
            Place::Event => {
                self.close(burst, out);
                self.add(burst, OperationKind::Burst, member, out);
                self.close(burst, out);
            }
            Place::Burst => {
                if !self.goes_on(burst, &member) {
                    self.close(burst, out);
                }
                self.add(burst, OperationKind::Burst, member, out);
            }
            Place::Transaction { is_over } => {
                self.begin_transaction(&member, out);
                self.add(transaction, OperationKind::Transaction, member, out);
                if is_over {
                    self.close(transaction, out);
                }
            }
        }
    }

    fn goes_on(&self, key: Key, member: &Member) -> bool {
        self.groups.get(&key).is_some_and(|group| {
            let pause = bursts::pause(member, group.ended);
            let burst = group.burst.as_ref();
            burst.is_some_and(|burst| burst.goes_on(member, pause))
        })
    }

    /// Ends the burst before a transaction. Connecting directly before belongs to the transaction.
    fn begin_transaction(&mut self, member: &Member, out: &mut GroupedSink<'_>) {
        let key = Key::Burst(member.exchange.connection);
        let goes_on = self.goes_on(key, member);
        let burst = self.groups.get(&key).and_then(|group| group.burst.as_ref());
        let connects = burst.is_some_and(|burst| burst.only_connects());
        if goes_on
            && connects
            && let Some(mut group) = self.groups.remove(&key)
        {
            (group.kind, group.burst, group.connects) = (OperationKind::Transaction, None, true);
            self.groups
                .insert(Key::Connection(member.exchange.connection), group);
        } else {
            self.close(key, out);
        }
    }

    fn by_transaction(&mut self, member: Member, out: &mut GroupedSink<'_>) {
        let connection = member.exchange.connection;
        match member.exchange.phase {
            Phase::Connect | Phase::Tls | Phase::Login => {
                self.add(Key::Setup(connection), OperationKind::Connection, member, out);
            }
            Phase::Close => out(Grouped::Alone(member.exchange, member.protocol)),
            Phase::Work => {
                self.close(Key::Setup(connection), out);
                let goes_on = match member.exchange.transaction {
                    Some(TransactionState::Open | TransactionState::Failed) => true,
                    Some(TransactionState::Idle) => false,
                    None => member.exchange.executions == 0 && member.protocol.is_database(),
                };
                self.add(
                    Key::Connection(connection),
                    OperationKind::Transaction,
                    member,
                    out,
                );
                if !goes_on {
                    self.close(Key::Connection(connection), out);
                }
            }
        }
    }
}
