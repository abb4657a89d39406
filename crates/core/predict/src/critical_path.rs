//! The waits that determined an operation's duration, followed from its end to its beginning.

use crate::plan::{After, Crossing, NodeId, OperationPlan, PlanNode, nanos};
use crate::run::Times;
use crate::virtual_time::VirtualTime;
use crate::wake_up::Waking;
use link::LinkDescription;
use model::{Attribution, Direction, Margin, Nanos, PerDirection};
use std::time::Duration;

#[derive(Debug, Clone, Copy, Default)]
pub struct CriticalPath {
    pub duration: Duration,
    pub attribution: Attribution,
    pub within: Within,
}

/// Parts of a predicted duration that the attribution does not separate.
#[derive(Debug, Clone, Copy, Default)]
pub struct Within {
    /// Wake-up allowance within client and server time.
    pub waking: Duration,
    pub waking_low: Duration,
    pub waking_high: Duration,
    /// Part of the transfer: bytes held back for a delayed acknowledgement.
    pub held_back: Duration,
    /// Part of the transfer: bytes waiting for the receiver's window.
    pub window: Duration,
    /// Part of the unknown time: not explained by the model at the measured distance.
    pub unexplained: Duration,
}

impl Within {
    pub fn add(&mut self, other: &Self) {
        self.waking += other.waking;
        self.waking_low += other.waking_low;
        self.waking_high += other.waking_high;
        self.held_back += other.held_back;
        self.window += other.window;
        self.unexplained += other.unexplained;
    }
}

impl CriticalPath {
    pub fn wait(&mut self, wait: Duration) {
        self.duration += wait;
        self.attribution.unknown += wait;
        self.within.unexplained += wait;
    }
}

/// Duration and attribution along the chain of waits that ends last, each nanosecond once. `after`
/// is the client time after the last reply.
pub fn along(
    plan: &OperationPlan,
    begin: VirtualTime,
    times: &[Times],
    after: Nanos,
    links: &[LinkDescription],
) -> CriticalPath {
    let mut parts = Parts::from_client(after);
    let completed = times.iter().enumerate();
    let completed = completed.filter_map(|(node, times)| Some((times.completed?, node)));
    let last = completed.max_by_key(|(completed, _)| *completed);
    let end = last.map_or(Nanos::ZERO, |(completed, _)| completed.since(begin));
    let mut at = last.map(|(_, node)| (NodeId::new(node), Point::Completed));
    // A node has three points, each visited at most once; the bound guards against corrupt data.
    for _ in 0..=3 * times.len() {
        let Some((node, point)) = at else { break };
        parts.crosses(plan, node, links);
        at = parts.step_back(plan, begin, times, node, point);
    }
    parts.into_path(end, after)
}

/// As [`along`], of requests in a row: the chain has them all.
pub fn along_row(
    plan: &OperationPlan,
    begin: VirtualTime,
    times: &[Times],
    after: Nanos,
    links: &[LinkDescription],
) -> CriticalPath {
    let mut parts = Parts::from_client(after);
    let mut before = Some(begin);
    for (index, (node, when)) in plan.nodes.iter().zip(times).enumerate() {
        let id = NodeId::new(index);
        parts.crosses(plan, id, links);
        parts.wake(when.waking[0]);
        parts.client += span(before, when.started);
        parts.request(node, when);
        parts.before_reply(plan, times, id);
        parts.reply(node, when);
        before = when.completed;
    }
    parts.into_path(before.map_or(Nanos::ZERO, |last| last.since(begin)), after)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Point {
    Completed,
    Arrived,
    Started,
}

#[derive(Debug, Default)]
struct Parts {
    /// The connection crossed last.
    connection: Option<usize>,
    one_way: PerDirection<Nanos>,
    client: Nanos,
    server: Nanos,
    pooler: Nanos,
    round_trip: Nanos,
    transfer: Nanos,
    recovery: Nanos,
    unknown: Nanos,
    waking: Waking,
    held_back: Nanos,
    is_limited: bool,
    window: Nanos,
}

fn span(from: Option<VirtualTime>, to: Option<VirtualTime>) -> Nanos {
    to.map_or(Nanos::ZERO, |to| to.since(from))
}

fn one_ways(link: &LinkDescription) -> PerDirection<Nanos> {
    PerDirection::from_fn(|direction| nanos(link.one_way(direction)))
}

impl Parts {
    fn from_client(after: Nanos) -> Self {
        Self {
            client: after,
            ..Self::default()
        }
    }

    fn crosses(&mut self, plan: &OperationPlan, node: NodeId, links: &[LinkDescription]) {
        let place = plan.nodes[node.index()].connection.index();
        if self.connection.replace(place) != Some(place) {
            self.one_way = one_ways(plan.link_at(links, place));
            self.is_limited = plan.windows[place].is_some();
        }
    }

    /// Attributes the time before `point` of `node` and returns its cause; `None` at the
    /// operation's beginning.
    fn step_back(
        &mut self,
        plan: &OperationPlan,
        begin: VirtualTime,
        times: &[Times],
        node: NodeId,
        point: Point,
    ) -> Option<(NodeId, Point)> {
        let (what, when) = (&plan.nodes[node.index()], &times[node.index()]);
        match point {
            Point::Completed if when.replied.is_none() => {
                self.client += span(when.started, when.completed);
                Some((node, Point::Started))
            }
            Point::Completed => {
                self.reply(what, when);
                Some(self.before_reply(plan, times, node))
            }
            Point::Arrived => {
                self.request(what, when);
                Some((node, Point::Started))
            }
            Point::Started => {
                self.wake(when.waking[0]);
                let Some(after) = what.dependencies.after else {
                    self.client += span(Some(begin), when.started);
                    return None;
                };
                let before = &times[after.index()];
                let (since, point) = match what.dependencies.after_what {
                    After::Completion => (before.completed, Point::Completed),
                    After::RequestSent => (before.started, Point::Started),
                    After::RequestArrived => (before.arrived, Point::Arrived),
                };
                let others = plan.joins.joined_with(node);
                let latest = others.map(|other| (times[other.index()].completed, other)).max();
                let (since, after, point) = match latest {
                    Some((completed, other)) if completed > since => (completed, other, Point::Completed),
                    _ => (since, after, point),
                };
                self.client += span(since, when.started);
                Some((after, point))
            }
        }
    }

    /// The cause of the reply's first byte: the request, or the server's last own call.
    fn before_reply(&mut self, plan: &OperationPlan, times: &[Times], node: NodeId) -> (NodeId, Point) {
        let (what, when) = (&plan.nodes[node.index()], &times[node.index()]);
        let calls = what
            .dependencies
            .reply_after
            .into_iter()
            .chain(plan.reply_joins.joined_with(node));
        let by_timer = plan.request == Some(node) && plan.timer == Some(span(when.arrived, when.replied));
        let inner = calls
            .filter(|_| !by_timer)
            .map(|call| (times[call.index()].completed, call))
            .filter(|(completed, _)| *completed > when.arrived && *completed <= when.replied)
            .max();
        let (since, next) = match inner {
            Some((completed, call)) => (completed, (call, Point::Completed)),
            None => (when.arrived, (node, Point::Arrived)),
        };
        let wait = span(since, when.replied);
        self.wake(when.waking[1]);
        let unknown = what.measured.unknown.min(wait);
        self.unknown += unknown;
        let pooler = what.measured.pooler.min(wait - unknown);
        let behind = what.measured.behind_pooler.min(wait - unknown - pooler);
        self.pooler += pooler;
        self.round_trip += behind;
        self.server += wait - unknown - pooler - behind;
        next
    }

    fn wake(&mut self, waking: Waking) {
        self.waking.expected += waking.expected;
        self.waking.low += waking.low;
        self.waking.high += waking.high;
    }

    fn reply(&mut self, what: &PlanNode, when: &Times) {
        let span = span(when.replied, when.completed);
        let inside = what.measured.server_inside.min(span);
        self.server += inside;
        self.network(what, span - inside, Direction::ServerToClient);
    }

    fn request(&mut self, what: &PlanNode, when: &Times) {
        let span = span(when.started, when.arrived);
        let inside = what.measured.client_inside.min(span);
        self.client += inside;
        self.network(what, span - inside, Direction::ClientToServer);
    }

    fn network(&mut self, what: &PlanNode, span: Nanos, direction: Direction) {
        let (distance, recovery) = match (what.crossing, direction) {
            (Crossing::Handshake | Crossing::Moved, _) => (self.one_way[direction], Nanos::ZERO),
            (Crossing::Measured { round_trip, .. }, Direction::ClientToServer) => {
                (round_trip / 2, Nanos::ZERO)
            }
            (
                Crossing::Measured {
                    round_trip, recovery, ..
                },
                Direction::ServerToClient,
            ) => (round_trip - round_trip / 2, recovery),
        };
        let distance = distance.min(span);
        let recovery = recovery.min(span - distance);
        let transfer = span - distance - recovery;
        self.round_trip += distance;
        self.recovery += recovery;
        self.transfer += transfer;
        let held_back = what.measured.held_back[direction.index()].min(transfer);
        self.held_back += held_back;
        if self.is_limited {
            self.window += transfer - held_back;
        }
    }

    fn into_path(self, end: Nanos, after: Nanos) -> CriticalPath {
        CriticalPath {
            duration: end.saturating_add(after).into(),
            attribution: self.attribution(),
            within: Within {
                waking: self.waking.expected.into(),
                waking_low: self.waking.low.into(),
                waking_high: self.waking.high.into(),
                held_back: self.held_back.into(),
                window: self.window.into(),
                unexplained: Duration::ZERO,
            },
        }
    }

    fn attribution(&self) -> Attribution {
        Attribution {
            client: self.client.into(),
            server: self.server.into(),
            server_margin: Margin::default(),
            pooler: self.pooler.into(),
            round_trip: self.round_trip.into(),
            transfer: self.transfer.into(),
            recovery: self.recovery.into(),
            unknown: self.unknown.into(),
        }
    }
}
