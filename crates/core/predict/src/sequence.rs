//! Replays requests in a row over links that only delay: each time follows from the one before.
//!
//! Equal to [`crate::run`] to the nanosecond, with the same flows at the end.

use crate::connections::KeptFlows;
use crate::critical_path;
use crate::plan::{After, Crossing, Measured, NodeId, OperationPlan, PlanNode, nanos};
use crate::replay::RunAlone;
use crate::run::Times;
use crate::senders::Senders;
use crate::virtual_time::VirtualTime;
use crate::wake_up::{RestedWork, WakeUp, Waking};
use link::LinkDescription;
use link::delayed::{self, DelayedConnection};
use link::tcp::Flow;
use model::{Direction, Nanos, Side};

/// Of requests in a row.
#[derive(Debug)]
pub struct InSequence {
    order: Order,
    /// Per connection, of the messages that cross its link in a direction.
    largest: Vec<[u64; 2]>,
    /// Of client and server before each message.
    work: Vec<[RestedWork; 2]>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    /// Each request waits for the reply before it.
    OneByOne,
    /// So do the calls that the server of the first request makes before its reply.
    WithinFirst,
}

impl InSequence {
    pub fn from_plan(plan: &OperationPlan) -> Option<Self> {
        let [first, others @ ..] = plan.nodes.as_slice() else {
            return None;
        };
        let order = match first.dependencies.reply_after {
            None => Order::OneByOne,
            Some(last) if last.index() == others.len() && !others.is_empty() => Order::WithinFirst,
            Some(_) => return None,
        };
        let follows = |(place, node): (usize, &PlanNode)| {
            let what = match order {
                Order::WithinFirst if place == 0 => After::RequestArrived,
                Order::WithinFirst | Order::OneByOne => After::Completion,
            };
            let waits = &node.dependencies;
            waits.after == Some(NodeId::new(place)) && waits.after_what == what && waits.reply_after.is_none()
        };
        let is_one_by_one = first.dependencies.after.is_none()
            && others.iter().enumerate().all(follows)
            && plan.nodes.iter().all(is_whole)
            && plan.joins.is_empty()
            && plan.reply_joins.is_empty()
            && (order == Order::OneByOne || others.iter().all(|node| node.connection != first.connection));
        is_one_by_one.then(|| Self {
            order,
            largest: largest(plan),
            work: plan.nodes.iter().map(work).collect(),
        })
    }

    /// The flows of the plan's connections at their beginning, as `before` or new; `before` again
    /// if a link does more than delay, or a message does not fit its windows.
    pub fn flows(
        &self,
        plan: &OperationPlan,
        links: &[LinkDescription],
        before: Vec<Option<KeptFlows>>,
    ) -> Result<Vec<KeptFlows>, Vec<Option<KeptFlows>>> {
        if !links.iter().all(LinkDescription::only_delays) {
            return Err(before);
        }
        let mut flows = Vec::with_capacity(before.len());
        for (place, before) in before.into_iter().enumerate() {
            let new = || Box::new(delayed::new_flows(plan.link_at(links, place)));
            let mut both = before.unwrap_or_else(new);
            if plan.senders == Senders::Paced {
                both.iter_mut().for_each(Flow::use_bbr);
            }
            if let Some(window) = plan.windows[place] {
                both.iter_mut().for_each(|flow| flow.limit_window(window));
            }
            if let Some(packets) = plan.first_windows[place] {
                both[Direction::ServerToClient.index()].begin_with(packets);
            }
            flows.push(both);
        }
        let begin = VirtualTime::BEGIN.timestamp();
        let fits = flows.iter().zip(&self.largest).all(|(flows, largest)| {
            let mut directions = flows.iter().zip(largest);
            directions.all(|(flow, bytes)| flow.sends_at_once(*bytes, begin))
        });
        if fits {
            Ok(flows)
        } else {
            Err(flows.into_iter().map(Some).collect())
        }
    }

    /// Takes those of [`InSequence::flows`].
    pub fn run(
        &self,
        plan: &OperationPlan,
        links: &[LinkDescription],
        wake_up: &WakeUp,
        mut flows: Vec<KeptFlows>,
    ) -> RunAlone {
        let rtts = (0..flows.len()).map(|place| nanos(plan.link_at(links, place).rtt));
        let rtts = rtts.collect();
        let connections = flows.iter_mut().enumerate();
        let connections =
            connections.map(|(place, flows)| DelayedConnection::new(plan.link_at(links, place), flows));
        let mut sequence = Sequence {
            plan,
            work: &self.work,
            rtts,
            wake_up,
            connections: connections.collect(),
            times: vec![Times::default(); plan.nodes.len()],
        };
        sequence.run(self.order);
        sequence
            .connections
            .into_iter()
            .for_each(DelayedConnection::finish);
        let times = sequence.times;
        let along = match self.order {
            Order::OneByOne => critical_path::along_row,
            Order::WithinFirst => critical_path::along,
        };
        let critical_path = along(plan, VirtualTime::BEGIN, &times, plan.client_after, links);
        RunAlone {
            times,
            flows,
            critical_path,
        }
    }
}

fn work(node: &PlanNode) -> [RestedWork; 2] {
    let Measured {
        client_before,
        server_before,
        rested,
        ..
    } = node.measured;
    [
        RestedWork::new(client_before, rested[0]),
        RestedWork::new(server_before, rested[1]),
    ]
}

fn largest(plan: &OperationPlan) -> Vec<[u64; 2]> {
    let mut largest = vec![[0; 2]; plan.connections.len()];
    for node in plan.nodes.iter().filter(|node| node.crossing == Crossing::Moved) {
        let [request, reply] = &mut largest[node.connection.index()];
        *request = node.bytes.request.max(*request);
        *reply = node.bytes.reply.max(*reply);
    }
    largest
}

/// Whether request and reply each leave at once, as far as they cross the link.
fn is_whole(node: &PlanNode) -> bool {
    let measured = &node.measured;
    let leaves_at_once = || {
        let inside = measured.client_inside.saturating_add(measured.server_inside);
        inside.is_zero() && measured.held_back == [Nanos::ZERO; 2]
    };
    let stays = matches!(node.crossing, Crossing::Measured { .. });
    node.has_reply && !node.on_stream && (stays || leaves_at_once())
}

struct Sequence<'a> {
    plan: &'a OperationPlan,
    work: &'a [[RestedWork; 2]],
    rtts: Vec<Nanos>,
    wake_up: &'a WakeUp,
    connections: Vec<DelayedConnection<'a>>,
    times: Vec<Times>,
}

impl Sequence<'_> {
    fn run(&mut self, order: Order) {
        let mut at = VirtualTime::BEGIN;
        let nodes = (0..self.plan.nodes.len()).map(NodeId::new);
        for node in nodes {
            at = self.request(node, at);
            if order == Order::OneByOne || node.index() > 0 {
                at = self.reply(node, at);
            }
        }
        if order == Order::WithinFirst {
            self.reply(NodeId::new(0), at);
        }
    }

    fn request(&mut self, id: NodeId, ready: VirtualTime) -> VirtualTime {
        let node = &self.plan.nodes[id.index()];
        let waited_for = match node.dependencies.after_what {
            After::Completion => node.dependencies.after.unwrap_or(id),
            After::RequestSent | After::RequestArrived => id,
        };
        let waking = self.waking(id, Side::Client, waited_for);
        let started = ready.after(node.measured.client_before.saturating_add(waking.expected));
        let arrived = match node.crossing {
            Crossing::Measured { request, .. } => started.after(request).after(node.measured.client_inside),
            Crossing::Moved | Crossing::Handshake => self.send_request(node, started),
        };
        let times = &mut self.times[id.index()];
        (times.started, times.arrived) = (Some(started), Some(arrived));
        times.waking[0] = waking;
        arrived
    }

    fn send_request(&mut self, node: &PlanNode, at: VirtualTime) -> VirtualTime {
        let connection = &mut self.connections[node.connection.index()];
        let (direction, at) = (Direction::ClientToServer, at.timestamp());
        VirtualTime::from_timestamp(if node.crossing == Crossing::Handshake {
            connection.open();
            connection.carry_empty(direction, at)
        } else if node.bytes.request == 0 {
            connection.established(at)
        } else {
            connection.carry(direction, at, node.bytes.request)
        })
    }

    fn reply(&mut self, id: NodeId, ready: VirtualTime) -> VirtualTime {
        let node = &self.plan.nodes[id.index()];
        let measured = &node.measured;
        let by_kernel = node.crossing == Crossing::Handshake || measured.server_before.is_zero();
        let waking = match by_kernel {
            true => Waking::default(),
            false => self.waking(id, Side::Server, node.dependencies.reply_after.unwrap_or(id)),
        };
        let work = measured.server_before.saturating_add(waking.expected);
        let mut replied = ready.after(work.saturating_add(measured.unknown));
        let times = &mut self.times[id.index()];
        if let Some(timer) = self.plan.timer.filter(|_| self.plan.request == Some(id)) {
            replied = replied.max(times.arrived.unwrap_or(ready).after(timer));
        }
        (times.replied, times.waking[1]) = (Some(replied), waking);
        let completed = match node.crossing {
            Crossing::Measured { reply, .. } => replied.after(reply).after(measured.server_inside),
            Crossing::Moved | Crossing::Handshake => self.send_reply(node, replied),
        };
        self.times[id.index()].completed = Some(completed);
        completed
    }

    fn send_reply(&mut self, node: &PlanNode, at: VirtualTime) -> VirtualTime {
        let connection = &mut self.connections[node.connection.index()];
        let (direction, at) = (Direction::ServerToClient, at.timestamp());
        VirtualTime::from_timestamp(if node.crossing == Crossing::Handshake {
            let completed = connection.carry_empty(direction, at);
            connection.establish(completed);
            completed
        } else if node.bytes.reply == 0 {
            connection.carry_empty(direction, at)
        } else {
            connection.carry(direction, at, node.bytes.reply)
        })
    }

    /// The side rested as long as `waited_for` took longer.
    fn waking(&self, id: NodeId, side: Side, waited_for: NodeId) -> Waking {
        let work = &self.work[id.index()][side as usize];
        self.wake_up
            .after_rest(side, work, work.rested().saturating_add(self.longer(waited_for)))
    }

    fn longer(&self, id: NodeId) -> Nanos {
        let node = &self.plan.nodes[id.index()];
        match node.crossing {
            Crossing::Measured { .. } => Nanos::ZERO,
            Crossing::Handshake | Crossing::Moved => {
                self.rtts[node.connection.index()].saturating_sub(node.measured.round_trip)
            }
        }
    }
}

#[cfg(test)]
#[path = "../tests/made/mod.rs"]
mod made;

#[cfg(test)]
mod tests {
    use super::made::{Made, in_sequence, operation_step, step};
    use super::*;
    use crate::connections::ConnectionHistory;
    use crate::replay::simulate;
    use model::{ConnectionId, Operation};
    use proptest::prelude::*;
    use std::time::Duration;

    const OUTER: u32 = 9;

    /// A request, for which its server makes the calls of `inner`.
    fn within(inner: Operation, rtt: Duration, server_after: Duration) -> Operation {
        let mut steps = inner.steps;
        let made = Made::query(400, 3_000)
            .on(OUTER)
            .server(inner.duration + server_after);
        let mut outer = operation_step(&made, step(inner.at, rtt, &made));
        outer.reply_after = Some(steps.len() as u32);
        for (place, call) in steps.iter_mut().enumerate() {
            call.after = Some(place as u32);
            call.after_start = place == 0;
        }
        steps.insert(0, outer);
        Operation {
            duration: inner.duration + rtt + server_after,
            steps,
            ..inner
        }
    }

    fn query() -> impl Strategy<Value = Made> {
        let bytes = || prop_oneof![4 => 1_u64..1_400, 1 => 1_400_u64..14_480, 1 => 14_480_u64..90_000];
        let micros = || prop_oneof![Just(0_u64), 1_u64..3_000, 30_000_u64..90_000];
        (0_u32..2, bytes(), bytes(), micros(), micros()).prop_map(|(on, up, down, server, client)| {
            let made = Made::query(up.min(4_000), down).on(on);
            made.server(Duration::from_micros(server))
                .client_before(Duration::from_micros(client))
        })
    }

    fn operations() -> impl Strategy<Value = Vec<Operation>> {
        let one = (
            (0_usize..3, proptest::collection::vec(query(), 1..6)),
            0_u64..2_000_000,
            0_u64..400,
            any::<bool>(),
        );
        proptest::collection::vec(one, 1..6).prop_map(|operations| {
            let mut pauses = 0;
            let made = operations
                .into_iter()
                .map(|((opening, queries), pause, rtt, is_within)| {
                    let rtt = Duration::from_micros(rtt);
                    let greeting = Made::query(0, 90).server(Duration::from_micros(pause / 50));
                    let opening = [Made::handshake(), greeting].into_iter().take(opening);
                    let queries: Vec<Made> = opening.chain(queries).collect();
                    let mut operation = in_sequence(rtt, &queries);
                    if is_within {
                        operation = within(operation, rtt, Duration::from_micros(pause / 100));
                    }
                    pauses += pause;
                    operation.at = operation.at.after(Duration::from_micros(pauses));
                    operation
                });
            made.collect()
        })
    }

    fn as_text(replayed: &(Vec<Times>, Vec<KeptFlows>)) -> String {
        format!("{replayed:?}")
    }

    /// Replays on kept connections by both ways, and returns how many were no simulation.
    fn compare(
        operations: &[Operation],
        rtt: Duration,
        wake_up: WakeUp,
        stays: Option<ConnectionId>,
        senders: Senders,
    ) -> usize {
        let links = [LinkDescription::with_rtt(rtt)];
        let mut history = ConnectionHistory::default();
        let mut computed = 0;
        for operation in operations {
            let moved = |step: &model::OperationStep| (Some(step.exchange.connection) != stays).then_some(0);
            let plan = OperationPlan {
                senders,
                ..OperationPlan::new(operation, &moved)
            };
            let ids = plan.connections.iter();
            let before: Vec<_> = ids.map(|id| history.take_flows(*id, operation.at)).collect();
            let simulated = simulate(&plan, &links, &wake_up, before.clone());
            if let Some(sequence) = InSequence::from_plan(&plan)
                && let Ok(flows) = sequence.flows(&plan, &links, before)
            {
                computed += 1;
                let alone = sequence.run(&plan, &links, &wake_up, flows);
                let along =
                    critical_path::along(&plan, VirtualTime::BEGIN, &simulated.0, plan.client_after, &links);
                assert_eq!(format!("{:?}", alone.critical_path), format!("{along:?}"));
                assert_eq!(as_text(&(alone.times, alone.flows)), as_text(&simulated));
            }
            history.put(&plan, simulated.1, operation, operation.duration);
        }
        computed
    }

    proptest! {
        #[test]
        fn times_and_flows_are_those_of_the_simulation(
            operations in operations(),
            rtt in prop_oneof![Just(0_u64), 100_u64..500, 5_000_u64..150_000],
            (assumed, paced) in any::<(bool, bool)>(),
            stays in proptest::option::of(prop_oneof![Just(0_u32), Just(1), Just(OUTER)]),
        ) {
            let wake_up = if assumed { WakeUp::Assumed } else { WakeUp::None };
            let senders = if paced { Senders::Paced } else { Senders::AsMeasured };
            compare(&operations, Duration::from_micros(rtt), wake_up, stays.map(ConnectionId), senders);
        }
    }

    #[test]
    fn small_exchanges_one_after_another_need_no_simulation() {
        let queries = [
            Made::query(60, 300),
            Made::query(40, 9_000).server(Duration::from_millis(50)),
        ];
        let one = in_sequence(Duration::from_micros(100), &queries);
        let page = within(one.clone(), Duration::from_micros(100), Duration::ZERO);
        let opening = [Made::handshake(), Made::query(0, 90), queries[0]];
        let session = in_sequence(Duration::from_micros(100), &opening);
        let operations = [session, one.clone(), page, one];
        for rtt in [0, 10, 120] {
            let rtt = Duration::from_millis(rtt);
            assert_eq!(
                compare(&operations, rtt, WakeUp::Assumed, None, Senders::AsMeasured),
                4
            );
        }
        let more_than_a_window = in_sequence(Duration::ZERO, &[Made::query(60, 20_000)]);
        assert_eq!(
            compare(
                &[more_than_a_window],
                Duration::ZERO,
                WakeUp::None,
                None,
                Senders::AsMeasured
            ),
            0
        );
    }

    #[test]
    fn single_packets_of_paced_senders_need_no_simulation() {
        let small = [Made::query(60, 300), Made::query(40, 900)];
        let session = [Made::handshake(), Made::query(0, 90), small[0]];
        let large = [Made::query(60, 80_000)];
        let mut operations = [&session[..], &small, &large, &small]
            .map(|queries| in_sequence(Duration::from_micros(100), queries));
        for (seconds, operation) in (0..).zip(&mut operations) {
            operation.at = operation.at.after(Duration::from_secs(seconds));
        }
        let computed = |millis| {
            let rtt = Duration::from_millis(millis);
            compare(&operations, rtt, WakeUp::Assumed, None, Senders::Paced)
        };
        assert_eq!([computed(10), computed(120)], [3, 3]);
        assert_eq!(computed(0), 0, "each packet comes sooner than a pause is over");
    }
}
