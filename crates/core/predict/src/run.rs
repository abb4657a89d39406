//! Runs the plans of one or several clients over a link, in virtual time.

mod beyond;
mod computing;
mod dependencies;
mod pooled;
mod progress;
mod reply;
mod request;
mod shared_cores;
mod together;
mod workers;

pub use progress::Times;

use crate::client_node::{ClientId, ClientNode, Generation};
use crate::connections::KeptFlows;
use crate::cores::Whose;
use crate::links::{Links, ReplayConnection};
use crate::locks::{Locks, SimulatedLocks};
use crate::plan::{After, NodeId, OperationPlan, PlanNode};
use crate::senders::Senders;
use crate::virtual_time::VirtualTime;
use crate::wake_up::WakeUp;
use link::LinkDescription;
use link::network::NetworkEvent;
use link::tcp::Flow;
use model::{Nanos, Protocol};
use pooled::Pooled;
use progress::Progress;
use shared_cores::SharedCores;
use std::collections::{HashMap, VecDeque};
use workers::WorkerPool;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Wake {
    Begin(ClientId),
    /// The client has computed after its last reply.
    Finish(ClientId),
    CheckCores(Whose),
    /// A worker has so much to compute after its reply.
    AfterReply(Nanos),
    Node(ClientNode, NodeEvent),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum NodeEvent {
    Start,
    RequestArrived,
    Reply,
    Replied,
    ReplyArrived,
}

pub struct SimulatedRun<'a> {
    links: Vec<LinkDescription>,
    network: Links<Wake>,
    clients: Vec<Client<'a>>,
    /// Indexed by [`Whose`]; web servers without separate cores share those of the servers.
    computing: [Option<SharedCores<Wake>>; 3],
    wake_up: WakeUp,
    /// Per connection, the client's last send and the server's last reply, where cores are shared.
    computed_at: Vec<[Option<VirtualTime>; 2]>,
    /// `None` if their number is unlimited.
    workers: Option<WorkerPool>,
    pooled: Pooled,
    locks: Locks<'a>,
    finished: Option<ClientId>,
    /// Whether a reply had to be released, see [`SimulatedRun::release_stuck`].
    pub was_stuck: bool,
}

struct Client<'a> {
    plan: &'a OperationPlan,
    generation: Generation,
    connections: Vec<ReplayConnection>,
    begin: VirtualTime,
    progress: Progress,
    servers: Vec<Server>,
    uses: Vec<pooled::Use>,
}

/// The server of one moved connection.
#[derive(Debug, Default, Clone)]
struct Server {
    state: ServerState,
    waiting: VecDeque<ClientNode>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum ServerState {
    #[default]
    Idle,
    /// From the first waiting request whose reply may be computed until that has been computed.
    Answering,
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
    Finished(ClientId),
    Over,
}

impl<'a> SimulatedRun<'a> {
    /// Idle links, at least one, with room for `clients` clients without plans.
    pub fn new(links: &[LinkDescription], clients: u32, computing: Computing) -> Self {
        let shared = |cores: Option<u32>| cores.map(SharedCores::new);
        Self {
            links: links.to_vec(),
            network: Links::new(links, VirtualTime::BEGIN),
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
        let workers = workers.map(WorkerPool::new);
        Self { workers, ..self }
    }

    #[must_use]
    pub fn with_pools(
        self,
        limits: Option<&HashMap<Protocol, u32>>,
        idle_limits: &HashMap<Protocol, u32>,
    ) -> Self {
        Self {
            pooled: Pooled::new(limits, idle_limits),
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

    pub fn release_locks(&mut self, client: ClientId) {
        for next in self.locks.release(client) {
            self.compute_reply(next);
        }
    }

    /// Adds a connection with optional earlier flows, and returns its number.
    pub fn add_connection(&mut self, link: u32, before: Option<[Flow; 2]>) -> ReplayConnection {
        self.network.add_connection(link, before)
    }

    /// Adds a client that begins `plan` at `at` on `connections`.
    pub fn add_client(
        &mut self,
        plan: &'a OperationPlan,
        connections: Vec<ReplayConnection>,
        at: VirtualTime,
    ) {
        let client = ClientId::new(self.clients.len());
        self.clients.push(Client {
            plan,
            generation: Generation::default(),
            connections: Vec::new(),
            begin: at,
            progress: Progress::default(),
            servers: Vec::new(),
            uses: Vec::new(),
        });
        self.begin(client, plan, connections, at);
    }

    pub fn begin(
        &mut self,
        client: ClientId,
        plan: &'a OperationPlan,
        connections: Vec<ReplayConnection>,
        at: VirtualTime,
    ) {
        self.give_all_back(client);
        for (place, connection) in connections.iter().enumerate() {
            self.set_up_connection(plan, place, *connection);
            self.keep_first_window(plan, place, *connection);
        }
        let this = &mut self.clients[client.index()];
        (this.plan, this.connections, this.begin) = (plan, connections, at);
        this.generation = this.generation.next();
        this.progress.reset(plan.nodes.len());
        this.servers.clear();
        this.servers.resize(plan.connections.len(), Server::default());
        this.uses.resize(plan.connections.len(), pooled::Use::default());
        self.network.wake_at(at, Wake::Begin(client));
    }

    fn set_up_connection(&mut self, plan: &OperationPlan, place: usize, connection: ReplayConnection) {
        if let Some(window) = plan.windows[place] {
            self.network.limit_window(connection, window);
        }
        if plan.senders == Senders::Paced {
            self.network.use_bbr(connection);
        }
    }

    fn keep_first_window(&mut self, plan: &OperationPlan, place: usize, connection: ReplayConnection) {
        if let Some(packets) = plan.first_windows[place] {
            self.network.begin_with(connection, packets);
        }
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
            NetworkEvent::Wake(Wake::Finish(client)) => self.finished = Some(client),
            NetworkEvent::Wake(Wake::CheckCores(whose)) => self.check_cores(whose),
            NetworkEvent::Wake(Wake::AfterReply(work)) => self.end_after_reply(work),
            NetworkEvent::Wake(Wake::Node(id, due)) if self.is_current(id) => self.go_on(id, due),
            NetworkEvent::Arrived(waiter) => {
                if let Some(id) = ClientNode::from_waiter(waiter).filter(|id| self.is_current(*id)) {
                    self.arrived(id);
                }
            }
            // Arriving bytes matter only to an emulation.
            NetworkEvent::Wake(Wake::Node(..)) | NetworkEvent::Received(_) => {}
        }
    }

    fn go_on(&mut self, id: ClientNode, due: NodeEvent) {
        match due {
            NodeEvent::Start => self.start(id),
            NodeEvent::RequestArrived => self.request_arrived(id),
            NodeEvent::Reply => self.reply(id),
            NodeEvent::Replied => self.replied(id),
            NodeEvent::ReplyArrived => self.complete(id),
        }
    }

    pub const fn now(&self) -> VirtualTime {
        self.network.now()
    }

    pub fn times(&self, client: ClientId) -> (VirtualTime, &[Times]) {
        let client = &self.clients[client.index()];
        (client.begin, client.progress.times())
    }

    pub fn client_after(&self, client: ClientId) -> Nanos {
        let client = &self.clients[client.index()];
        if self.computing[Whose::Clients.index()].is_none() {
            return client.plan.client_after;
        }
        let times = client.progress.times().iter();
        let last = times.filter_map(|times| times.completed).max();
        self.now().since(last.unwrap_or(client.begin))
    }

    /// Times of the first client's nodes, and the final flows of each connection in the order added.
    pub fn into_times_and_flows(mut self) -> (Vec<Times>, Vec<KeptFlows>) {
        let times = self
            .clients
            .drain(..)
            .next()
            .map(|client| client.progress.into_times());
        (times.unwrap_or_default(), self.network.into_flows())
    }

    fn begin_now(&mut self, client: ClientId) {
        let plan = self.clients[client.index()].plan;
        if plan.nodes.is_empty() {
            self.replied_all(client);
        }
        for &root in &plan.roots {
            self.start_after_computing(self.id(client, root));
        }
    }

    /// On shared cores the client computes on; otherwise its plan ends, and its own time is only
    /// added.
    fn replied_all(&mut self, client: ClientId) {
        let after = self.clients[client.index()].plan.client_after;
        if self.computing[Whose::Clients.index()].is_some() {
            self.compute(Whose::Clients, after, Wake::Finish(client));
        } else {
            self.finished = Some(client);
        }
    }

    #[inline]
    fn id(&self, client: ClientId, node: NodeId) -> ClientNode {
        ClientNode::new(client, self.clients[client.index()].generation, node)
    }

    /// Whether the id belongs to the client's current plan. Unawaited requests and server computing
    /// of an earlier plan may come late.
    #[inline]
    fn is_current(&self, id: ClientNode) -> bool {
        self.client(id).generation == id.generation()
    }

    #[inline]
    fn client(&self, id: ClientNode) -> &Client<'a> {
        &self.clients[id.client().index()]
    }

    #[inline]
    fn progress(&mut self, id: ClientNode) -> &mut Progress {
        &mut self.clients[id.client().index()].progress
    }

    #[inline]
    fn node(&self, id: ClientNode) -> &'a PlanNode {
        &self.client(id).plan.nodes[id.node().index()]
    }

    /// Another node of the same plan.
    #[inline]
    fn beside(&self, id: ClientNode, node: NodeId) -> ClientNode {
        self.id(id.client(), node)
    }

    #[inline]
    fn has_happened(&self, id: ClientNode, what: After) -> bool {
        self.client(id).progress.has_happened(id.node(), what)
    }

    #[inline]
    fn link_of(&self, id: ClientNode) -> &LinkDescription {
        self.client(id).plan.link(&self.links, self.node(id))
    }

    #[inline]
    fn server(&mut self, id: ClientNode) -> &mut Server {
        let connection = self.node(id).connection;
        &mut self.clients[id.client().index()].servers[connection.index()]
    }

    #[inline]
    fn connection(&self, id: ClientNode) -> ReplayConnection {
        self.client(id).connections[self.node(id).connection.index()]
    }
}
