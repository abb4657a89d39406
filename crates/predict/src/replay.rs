//! One operation on one link, in virtual time.

use crate::path;
use crate::plan::{After, NONE, Passage, Plan, nanos};
use crate::predictor::Target;
use link::LinkDescription;
use link::network::{Happening, Network};
use link::tcp::Flow;
use model::{Attribution, Direction, Operation, OperationStep};
use std::collections::VecDeque;
use std::time::Duration;

/// What an operation takes on a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replayed {
    /// From the operation's begin to its end.
    pub duration: Duration,
    /// Where the time goes; sums to `duration`.
    pub attribution: Attribution,
    /// Turns of the exchanges that were moved to the link.
    pub turns_moved: u64,
    /// For each of the operation's steps, in their order.
    pub steps: Vec<StepTimes>,
}

/// Times of one exchange, counted from the operation's begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepTimes {
    /// Its client began to send.
    pub started: Duration,
    /// Its client had the last byte of the reply (or, without a reply, had sent its request).
    pub completed: Duration,
}

/// Replays `operation` on `target`; `moved` tells which exchanges' connections move to the target's link. All
/// others keep their measured times.
pub fn replay(operation: &Operation, target: &Target, moved: &dyn Fn(&OperationStep) -> bool) -> Replayed {
    let plan = Plan::new(operation, moved);
    let (times, _) = Run::new(&plan, target, std::iter::empty()).run();
    let steps = (0..operation.steps.len())
        .map(|index| step_times(&plan, &times, index))
        .collect();
    let (duration, attribution) = path::along(&plan, &times, target);
    Replayed {
        duration,
        attribution,
        turns_moved: plan.turns_moved,
        steps,
    }
}

fn step_times(plan: &Plan, times: &[Times], index: usize) -> StepTimes {
    let since_begin = |time: u64| Duration::from_nanos(time.saturating_sub(BEGIN));
    StepTimes {
        started: since_begin(times[plan.first_nodes[index] as usize].started),
        completed: since_begin(times[plan.last_node(index) as usize].completed),
    }
}

/// Times of a node in nanoseconds of virtual time; [`NEVER`] where it did not come to it.
#[derive(Debug, Clone, Copy)]
pub struct Times {
    /// The client begins to send.
    pub started: u64,
    /// The last byte of the request is at the server.
    pub arrived: u64,
    /// The first byte of the reply leaves the server.
    pub replied: u64,
    /// The last byte of the reply is at the client.
    pub completed: u64,
}

/// What a replay wants to be woken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Wake {
    /// A node's client begins.
    Start(u32),
    /// A measured request reaches its server.
    RequestArrived(u32),
    /// A node's server begins to answer.
    Reply(u32),
    /// A node's server has given its whole reply to its network stack.
    Replied(u32),
    /// A measured reply reaches its client.
    ReplyArrived(u32),
}

/// When each replay begins in its virtual time. Not zero, so that connections can have a past.
pub const BEGIN: u64 = 1_000_000_000_000_000;

/// A time that did not come.
pub const NEVER: u64 = u64::MAX;

/// A replay in progress.
pub struct Run<'a> {
    plan: &'a Plan,
    link: LinkDescription,
    network: Network<Wake>,
    times: Vec<Times>,
    servers: Vec<Server>,
}

/// The serving side of a moved connection: it answers requests one after another.
#[derive(Debug, Default, Clone)]
struct Server {
    busy: bool,
    waiting: VecDeque<u32>,
}

impl<'a> Run<'a> {
    /// A replay of `plan` about to begin. `before` are the flows of its connections, in the plan's order, as they were
    /// left by an earlier replay; connections without any start anew.
    pub fn new(plan: &'a Plan, target: &Target, before: impl Iterator<Item = Option<[Flow; 2]>>) -> Self {
        let mut network = Network::new(&target.link, BEGIN);
        let before = before.chain(std::iter::repeat_with(|| None));
        plan.connections
            .iter()
            .zip(before)
            .for_each(|(_, before)| network.add_connection(before));
        let never = Times {
            started: NEVER,
            arrived: NEVER,
            replied: NEVER,
            completed: NEVER,
        };
        Self {
            plan,
            link: target.link,
            network,
            times: vec![never; plan.nodes.len()],
            servers: vec![Server::default(); plan.connections.len()],
        }
    }

    /// Replays to the end: the times of all nodes, and the flows as they are then, two a connection.
    pub fn run(mut self) -> (Vec<Times>, Vec<Flow>) {
        for &root in &self.plan.roots {
            self.network.wake_at(
                BEGIN.saturating_add(self.plan.nodes[root as usize].client_before),
                Wake::Start(root),
            );
        }
        let mut checked = 0;
        loop {
            while let Some(happening) = self.network.advance() {
                match happening {
                    Happening::Wake(Wake::Start(node)) => self.start(node),
                    Happening::Wake(Wake::RequestArrived(node)) => self.request_arrived(node),
                    Happening::Wake(Wake::Reply(node)) => self.reply(node),
                    Happening::Wake(Wake::Replied(node)) => self.replied(node),
                    Happening::Wake(Wake::ReplyArrived(node)) => self.complete(node),
                    Happening::Arrived(node) => self.arrived(node),
                    // Only told to an emulation.
                    Happening::Received(_) => {}
                }
            }
            if !self.release_stuck(&mut checked) {
                return (self.times, self.network.into_flows());
            }
        }
    }

    fn start(&mut self, node: u32) {
        let what = &self.plan.nodes[node as usize];
        self.times[node as usize].started = self.network.now();
        match what.passage {
            Passage::Handshake => {
                self.network.open(what.connection);
                self.network.send_handshake(Direction::ClientToServer, node);
            }
            Passage::Moved if what.request_bytes == 0 => {
                self.network.wait_for_establishment(what.connection, node)
            }
            Passage::Moved => {
                let flow = 2 * what.connection;
                let bytes = what.request_bytes.min(SIMULATED_BYTES);
                self.network.write(flow, bytes, what.client_inside, node);
            }
            Passage::Measured { request, .. } => {
                let at = self
                    .network
                    .now()
                    .saturating_add(request)
                    .saturating_add(what.client_inside);
                self.network.wake_at(at, Wake::RequestArrived(node));
            }
        }
        self.release(node, After::RequestSent);
        if !what.has_reply {
            let sent = self.network.now().saturating_add(what.client_inside);
            self.network.wake_at(sent, Wake::ReplyArrived(node));
        }
    }

    /// All simulated bytes of a request, or of a reply, have arrived: of the request when it was not there yet.
    fn arrived(&mut self, node: u32) {
        let what = &self.plan.nodes[node as usize];
        let request = self.times[node as usize].arrived == NEVER;
        let (bytes, direction, wake) = if request {
            (
                what.request_bytes,
                Direction::ClientToServer,
                Wake::RequestArrived(node),
            )
        } else {
            (
                what.reply_bytes,
                Direction::ServerToClient,
                Wake::ReplyArrived(node),
            )
        };
        match beyond_simulated(&self.link, direction, bytes) {
            0 if request => self.request_arrived(node),
            0 => self.complete(node),
            rest => self
                .network
                .wake_at(self.network.now().saturating_add(rest), wake),
        }
    }

    fn request_arrived(&mut self, node: u32) {
        self.times[node as usize].arrived = self.network.now();
        self.release(node, After::RequestArrived);
        let what = &self.plan.nodes[node as usize];
        if !what.has_reply {
            return;
        }
        match what.passage {
            Passage::Measured { .. } => self.serve_measured(node),
            Passage::Handshake | Passage::Moved => {
                self.servers[what.connection as usize].waiting.push_back(node);
                self.serve_next(what.connection);
            }
        }
    }

    /// Lets the server of a moved connection begin its next reply, when it is free and nothing else is waited for.
    fn serve_next(&mut self, connection: u32) {
        let server = &self.servers[connection as usize];
        let Some(&node) = server.waiting.front() else {
            return;
        };
        if server.busy || self.waits_for_others(node) {
            return;
        }
        let server = &mut self.servers[connection as usize];
        server.waiting.pop_front();
        server.busy = true;
        self.wake_for_reply(node);
    }

    fn serve_measured(&mut self, node: u32) {
        if !self.waits_for_others(node) {
            self.wake_for_reply(node);
        }
    }

    fn wake_for_reply(&mut self, node: u32) {
        let what = &self.plan.nodes[node as usize];
        let at = self
            .network
            .now()
            .saturating_add(what.server_before)
            .saturating_add(what.unknown);
        self.network.wake_at(at, Wake::Reply(node));
    }

    fn waits_for_others(&self, node: u32) -> bool {
        let reply_after = self.plan.nodes[node as usize].reply_after;
        reply_after != NONE && self.times[reply_after as usize].completed == NEVER
    }

    fn reply(&mut self, node: u32) {
        let what = &self.plan.nodes[node as usize];
        let now = self.network.now();
        self.times[node as usize].replied = now;
        match what.passage {
            Passage::Measured { reply, .. } => {
                let at = now.saturating_add(reply).saturating_add(what.server_inside);
                self.network.wake_at(at, Wake::ReplyArrived(node));
                return;
            }
            Passage::Handshake => self.network.send_handshake(Direction::ServerToClient, node),
            Passage::Moved if what.reply_bytes == 0 => {
                self.network.send_empty(Direction::ServerToClient, node)
            }
            Passage::Moved => {
                let flow = 2 * what.connection + 1;
                let bytes = what.reply_bytes.min(SIMULATED_BYTES);
                self.network.write(flow, bytes, what.server_inside, node);
            }
        }
        if what.server_inside == 0 {
            self.replied(node);
        } else {
            self.network
                .wake_at(now.saturating_add(what.server_inside), Wake::Replied(node));
        }
    }

    fn replied(&mut self, node: u32) {
        let connection = self.plan.nodes[node as usize].connection;
        self.servers[connection as usize].busy = false;
        self.serve_next(connection);
    }

    fn complete(&mut self, node: u32) {
        if self.times[node as usize].completed != NEVER {
            return;
        }
        self.times[node as usize].completed = self.network.now();
        let what = &self.plan.nodes[node as usize];
        if what.passage == Passage::Handshake {
            self.network.establish(what.connection);
        }
        self.release(node, After::Completion);
        let mut waiter = what.first_reply_waiter;
        while waiter != NONE {
            let what = &self.plan.nodes[waiter as usize];
            let times = &self.times[waiter as usize];
            match what.passage {
                Passage::Measured { .. } if times.arrived != NEVER && times.replied == NEVER => {
                    self.wake_for_reply(waiter);
                }
                Passage::Measured { .. } => {}
                Passage::Handshake | Passage::Moved => self.serve_next(what.connection),
            }
            waiter = self.plan.nodes[waiter as usize].next_reply_waiter;
        }
    }

    /// Starts the nodes that waited for `what` of `node`.
    fn release(&mut self, node: u32, what: After) {
        let mut next = self.plan.nodes[node as usize].first_dependent;
        while next != NONE {
            let dependent = &self.plan.nodes[next as usize];
            if dependent.after_what == what {
                let at = self.network.now().saturating_add(dependent.client_before);
                self.network.wake_at(at, Wake::Start(next));
            }
            next = dependent.next_dependent;
        }
    }

    /// A reply that waits for a step which waits for that reply (no observation can produce it, a damaged one can)
    /// is let go. False when nothing was stuck.
    fn release_stuck(&mut self, checked: &mut usize) -> bool {
        while *checked < self.times.len() {
            let node = *checked as u32;
            *checked += 1;
            let times = self.times[node as usize];
            let stuck =
                times.arrived != NEVER && times.replied == NEVER && self.plan.nodes[node as usize].has_reply;
            if stuck {
                let connection = self.plan.nodes[node as usize].connection;
                self.servers[connection as usize]
                    .waiting
                    .retain(|waiting| *waiting != node);
                self.wake_for_reply(node);
                return true;
            }
        }
        false
    }
}

/// Payload of one message that is simulated packet by packet: enough that slow start is long over. What is beyond it
/// goes on at the pace reached then.
const SIMULATED_BYTES: u64 = 64 << 20;

/// Bytes that are in flight at most once windows have grown: Linux's default receive buffer less its reserve.
const FULL_WINDOW: u64 = 3 << 20;

/// Time for what of `bytes` is not simulated: at the link's rate, or a full window each round trip, whichever is
/// slower. In nanoseconds, at most a year.
fn beyond_simulated(link: &LinkDescription, direction: Direction, bytes: u64) -> u64 {
    let rest = u128::from(bytes.saturating_sub(SIMULATED_BYTES));
    let payload = u128::from(link.payload_per_packet()).max(1);
    let wire_bits = rest * u128::from(link.mtu) * 8 / payload;
    let at_rate = link.rate[direction.index()].map_or(0, |rate| {
        wire_bits * 1_000_000_000 / u128::from(rate.as_bits_per_second())
    });
    let at_window = rest * link.rtt.as_nanos() / u128::from(FULL_WINDOW);
    nanos(Duration::from_nanos(
        u64::try_from(at_rate.max(at_window)).unwrap_or(u64::MAX),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(link: &str, bytes: u64) -> f64 {
        let link = link.parse().expect("a link");
        beyond_simulated(&link, Direction::ServerToClient, bytes) as f64 / 1e9
    }

    #[test]
    fn what_is_not_simulated_goes_on_at_the_rate_or_a_window_a_round_trip() {
        assert_eq!(seconds("rtt=10ms rate=1mbit", SIMULATED_BYTES), 0.0);
        // 10 MB at 100 Mbit/s, 1500 of 1448 bytes on the wire.
        let rest = seconds("rtt=1ms rate=100mbit", SIMULATED_BYTES + 10_000_000);
        assert!((rest - 0.8 * 1500.0 / 1448.0).abs() < 1e-6, "{rest}");
        // 30 MiB are ten windows.
        let rest = seconds("rtt=200ms", SIMULATED_BYTES + (30 << 20));
        assert!((rest - 2.0).abs() < 1e-6, "{rest}");
        assert_eq!(seconds("rtt=0ms", u64::MAX), 0.0);
        assert!(seconds("rtt=1h rate=1kbit", u64::MAX) <= 366.0 * 86_400.0);
    }
}
