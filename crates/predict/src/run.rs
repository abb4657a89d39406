//! Runs the plans of one or several clients over a link, in virtual time.

mod beyond;
mod computing;
mod dependencies;
mod pooled;
mod reply;
mod request;
mod shared_cores;
mod together;

use crate::cores::Whose;
use crate::links::Links;
use crate::locks::{Locks, SimulatedLocks};
use crate::plan::{NodeIndex, OperationPlan, PlanNode};
use crate::virtual_time::VirtualTime;
use crate::wake_up::{WakeUp, Waking};
use link::LinkDescription;
use link::network::NetworkEvent;
use link::tcp::Flow;
use model::Protocol;
use pooled::Pooled;
use shared_cores::SharedCores;
use std::collections::{HashMap, VecDeque};

#[derive(Debug, Clone, Copy, Default)]
pub struct Times {
    /// The client begins to send.
    pub started: Option<VirtualTime>,
    /// The last byte of the request is at the server.
    pub arrived: Option<VirtualTime>,
    /// The first byte of the reply leaves the server.
    pub replied: Option<VirtualTime>,
    /// The last byte of the reply is at the client.
    pub completed: Option<VirtualTime>,
    /// Wake-up allowance within the client time before the request and the server time before the
    /// reply.
    pub waking: [Waking; 2],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Wake {
    Begin(u32),
    Rest(u32),
    Look(u8),
    Node(u64, NodeEvent),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum NodeEvent {
    Start,
    RequestArrived,
    Reply,
    Replied,
    ReplyArrived,
}

/// Waiter of bytes without a waiter.
const NOBODY: u64 = u64::MAX;

/// An id combines client, generation and node.
const NODE_BITS: u32 = 32;
const NODES: u64 = (1 << NODE_BITS) - 1;
const GENERATION_BITS: u32 = 12;
const GENERATIONS: u64 = (1 << GENERATION_BITS) - 1;

pub struct SimulatedRun<'a> {
    links: Vec<LinkDescription>,
    network: Links<Wake>,
    clients: Vec<Client<'a>>,
    /// Indexed by [`Whose`]; web servers without separate cores share those of the servers.
    computing: [Option<SharedCores<Wake>>; 3],
    wake_up: WakeUp,
    /// Per connection, the client's last send and the server's last reply, where cores are shared.
    computed_at: Vec<[Option<u64>; 2]>,
    /// Idle workers and the requests that wait for one; `None` if their number is unlimited.
    workers: Option<(u32, VecDeque<u64>)>,
    pooled: Pooled,
    locks: Locks<'a>,
    finished: Option<u32>,
    /// Whether a reply had to be released, see [`SimulatedRun::release_stuck`].
    pub was_stuck: bool,
}

struct Client<'a> {
    plan: &'a OperationPlan,
    /// Number of plans begun, truncated to fit an id: distinguishes late events of earlier plans.
    generation: u64,
    connections: Vec<u32>,
    begin: VirtualTime,
    times: Vec<Times>,
    servers: Vec<Server>,
    uses: Vec<pooled::Use>,
    unfinished: usize,
    checked: usize,
}

#[derive(Debug, Default, Clone)]
struct Server {
    busy: bool,
    waiting: VecDeque<u64>,
}

/// Number of cores; `None` if each job has a separate one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Computing {
    pub client: Option<u32>,
    pub server: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunProgress {
    Went,
    Finished(u32),
    Over,
}

impl<'a> SimulatedRun<'a> {
    /// Idle links, at least one, with room for `clients` clients without plans.
    pub fn new(links: &[LinkDescription], clients: u32, computing: Computing) -> Self {
        let shared = |cores: Option<u32>| cores.map(SharedCores::new);
        Self {
            links: links.to_vec(),
            network: Links::new(links, VirtualTime::BEGIN.as_nanos()),
            clients: Vec::with_capacity(clients as usize),
            computing: [shared(computing.client), shared(computing.server), None],
            wake_up: WakeUp::None,
            computed_at: Vec::new(),
            workers: None,
            pooled: Pooled::default(),
            locks: Locks::default(),
            finished: None,
            was_stuck: false,
        }
    }

    #[must_use]
    pub fn with_wake_up(self, wake_up: WakeUp) -> Self {
        Self { wake_up, ..self }
    }

    #[must_use]
    pub fn with_web_servers(mut self, cores: Option<u32>) -> Self {
        self.computing[Whose::WebServers.index()] = cores.map(SharedCores::new);
        self
    }

    /// Limits concurrent requests with calls of their server.
    #[must_use]
    pub fn with_workers(self, workers: Option<u32>) -> Self {
        let workers = workers.map(|workers| (workers.max(1), VecDeque::new()));
        Self { workers, ..self }
    }

    #[must_use]
    pub fn with_pools(self, limits: Option<&HashMap<Protocol, u32>>) -> Self {
        Self {
            pooled: limits.map(Pooled::new).unwrap_or_default(),
            ..self
        }
    }

    #[must_use]
    pub fn with_locks(self, locks: Option<SimulatedLocks<'a>>) -> Self {
        Self {
            locks: Locks::new(locks),
            ..self
        }
    }

    fn may_wait(&self, node: &PlanNode) -> bool {
        node.locks.is_some_and(|key| self.locks.concern(key))
    }

    pub fn release_locks(&mut self, client: u32) {
        for next in self.locks.release(client) {
            self.compute_reply(next);
        }
    }

    /// Adds a connection with optional earlier flows, and returns its number.
    pub fn add_connection(&mut self, link: u32, before: Option<[Flow; 2]>) -> u32 {
        self.network.add_connection(link, before)
    }

    /// Adds a client that begins `plan` at `at` on `connections`.
    pub fn add_client(&mut self, plan: &'a OperationPlan, connections: Vec<u32>, at: VirtualTime) {
        let client = self.clients.len() as u32;
        self.clients.push(Client {
            plan,
            generation: 0,
            connections: Vec::new(),
            begin: at,
            times: Vec::new(),
            servers: Vec::new(),
            uses: Vec::new(),
            unfinished: 0,
            checked: 0,
        });
        self.begin(client, plan, connections, at);
    }

    pub fn begin(&mut self, client: u32, plan: &'a OperationPlan, connections: Vec<u32>, at: VirtualTime) {
        self.give_all_back(client);
        let this = &mut self.clients[client as usize];
        for (connection, window) in connections.iter().zip(&plan.windows) {
            if let Some(window) = window {
                self.network.limit_window(*connection, *window);
            }
        }
        for (connection, packets) in connections.iter().zip(&plan.first_windows) {
            if let Some(packets) = packets {
                self.network.begin_with(*connection, *packets);
            }
        }
        (this.plan, this.connections, this.begin) = (plan, connections, at);
        this.generation = (this.generation + 1) & GENERATIONS;
        this.times.clear();
        this.times.resize(plan.nodes.len(), Times::default());
        this.servers.clear();
        this.servers.resize(plan.connections.len(), Server::default());
        this.uses.resize(plan.connections.len(), pooled::Use::default());
        (this.unfinished, this.checked) = (plan.nodes.len(), 0);
        self.network.wake_at(at.as_nanos(), Wake::Begin(client));
    }

    pub fn advance(&mut self) -> RunProgress {
        let Some(network_event) = self.network.advance() else {
            return if self.release_stuck() {
                RunProgress::Went
            } else {
                RunProgress::Over
            };
        };
        self.happened(network_event);
        self.finished
            .take()
            .map_or(RunProgress::Went, RunProgress::Finished)
    }

    fn happened(&mut self, network_event: NetworkEvent<Wake>) {
        match network_event {
            NetworkEvent::Wake(Wake::Begin(client)) => self.begin_now(client),
            NetworkEvent::Wake(Wake::Rest(client)) => self.finished = Some(client),
            NetworkEvent::Wake(Wake::Look(whose)) => self.check_cores(whose),
            NetworkEvent::Wake(Wake::Node(id, due)) if self.is_current(id) => self.go_on(id, due),
            NetworkEvent::Arrived(id) if id != NOBODY && self.is_current(id) => self.arrived(id),
            // Arriving bytes matter only to an emulation.
            NetworkEvent::Wake(Wake::Node(..)) | NetworkEvent::Arrived(_) | NetworkEvent::Received(_) => {}
        }
    }

    fn go_on(&mut self, id: u64, due: NodeEvent) {
        match due {
            NodeEvent::Start => self.start(id),
            NodeEvent::RequestArrived => self.request_arrived(id),
            NodeEvent::Reply => self.reply(id),
            NodeEvent::Replied => self.replied(id),
            NodeEvent::ReplyArrived => self.complete(id),
        }
    }

    pub const fn now(&self) -> VirtualTime {
        VirtualTime::from_nanos(self.network.now())
    }

    pub fn times(&self, client: u32) -> (VirtualTime, &[Times]) {
        let client = &self.clients[client as usize];
        (client.begin, &client.times)
    }

    pub fn client_after(&self, client: u32) -> u64 {
        let client = &self.clients[client as usize];
        if self.computing[0].is_none() {
            return client.plan.client_after;
        }
        let last = client.times.iter().filter_map(|times| times.completed).max();
        self.now().since(last.unwrap_or(client.begin))
    }

    /// Times of the first client's nodes, and the final flows, two per connection in the order
    /// added.
    pub fn into_times_and_flows(mut self) -> (Vec<Times>, Vec<Flow>) {
        let times = self.clients.drain(..).next().map(|client| client.times);
        (times.unwrap_or_default(), self.network.into_flows())
    }

    fn begin_now(&mut self, client: u32) {
        let plan = self.clients[client as usize].plan;
        if plan.nodes.is_empty() {
            self.replied_all(client);
        }
        for &root in &plan.roots {
            self.start_after_computing(self.id(client, root));
        }
    }

    /// On shared cores the client computes on; otherwise its plan ends, and its own time is only
    /// added.
    fn replied_all(&mut self, client: u32) {
        let after = self.clients[client as usize].plan.client_after;
        if self.computing[0].is_some() {
            self.compute(Whose::Clients, after, Wake::Rest(client));
        } else {
            self.finished = Some(client);
        }
    }

    fn id(&self, client: u32, node: NodeIndex) -> u64 {
        let generation = self.clients[client as usize].generation;
        u64::from(client) << (GENERATION_BITS + NODE_BITS) | generation << NODE_BITS | node.index() as u64
    }

    const fn parts(id: u64) -> (usize, usize) {
        let client = id >> (GENERATION_BITS + NODE_BITS);
        (client as usize, (id & NODES) as usize)
    }

    /// Whether the id belongs to the client's current plan. Unawaited requests and server computing
    /// of an earlier plan may come late.
    fn is_current(&self, id: u64) -> bool {
        let (client, _) = Self::parts(id);
        self.clients[client].generation == id >> NODE_BITS & GENERATIONS
    }

    fn node(&self, id: u64) -> &'a PlanNode {
        let (client, node) = Self::parts(id);
        &self.clients[client].plan.nodes[node]
    }

    fn beside(&self, id: u64, node: NodeIndex) -> u64 {
        self.id(Self::parts(id).0 as u32, node)
    }

    fn link_of(&self, id: u64) -> &LinkDescription {
        let (client, node) = Self::parts(id);
        let plan = self.clients[client].plan;
        plan.link(&self.links, &plan.nodes[node])
    }

    fn times_of(&mut self, id: u64) -> &mut Times {
        let (client, node) = Self::parts(id);
        &mut self.clients[client].times[node]
    }

    fn server(&mut self, id: u64) -> &mut Server {
        let (client, node) = Self::parts(id);
        let client = &mut self.clients[client];
        &mut client.servers[client.plan.nodes[node].connection as usize]
    }

    fn connection(&self, id: u64) -> u32 {
        let (client, node) = Self::parts(id);
        let client = &self.clients[client];
        client.connections[client.plan.nodes[node].connection as usize]
    }
}
