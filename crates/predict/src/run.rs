//! Plans being carried out over one link, in virtual time: one client's, or those of several at once.

mod beyond;
mod pooled;
mod shared_cores;
mod together;

use crate::cores::Whose;
use crate::links::Links;
use crate::locks::{LockKey, Locks};
use crate::plan::{After, Crossing, NodeIndex, OperationPlan, PlanNode, nanos};
use crate::virtual_time::VirtualTime;
use crate::wake_up::{Rest, WakeUp, Waking};
use beyond::{SIMULATED_BYTES, beyond_simulated};
use link::LinkDescription;
use link::network::NetworkEvent;
use link::tcp::Flow;
use model::{Direction, Protocol};
use pooled::Pooled;
use shared_cores::SharedCores;
use std::collections::{HashMap, HashSet, VecDeque};

/// When what happens to a node happened, as far as it came to it.
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
    /// What of the client's computing before the request, and of the server's before the reply, is the
    /// allowance for waking up.
    pub waking: [Waking; 2],
}

/// What a replay waits to be woken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Wake {
    /// A client begins its plan.
    Begin(u32),
    /// A client has computed what it does after its last reply.
    Rest(u32),
    /// Shared cores may have finished something.
    Look(u8),
    /// Something of a node is due.
    Node(u64, NodeEvent),
}

/// What is due of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum NodeEvent {
    /// Its client begins.
    Start,
    /// The measured request reaches its server.
    RequestArrived,
    /// Its server begins to answer.
    Reply,
    /// Its server has given its whole reply to its network stack.
    Replied,
    /// The measured reply reaches its client.
    ReplyArrived,
}

/// The waiter of bytes that nothing waits for.
const NOBODY: u64 = u64::MAX;

/// An id is a client, which of its plans, and a node of that plan.
const NODE_BITS: u32 = 32;
const NODES: u64 = (1 << NODE_BITS) - 1;
const GENERATION_BITS: u32 = 12;
const GENERATIONS: u64 = (1 << GENERATION_BITS) - 1;

/// Clients that carry out plans over one link.
pub struct SimulatedRun<'a> {
    links: Vec<LinkDescription>,
    network: Links<Wake>,
    clients: Vec<Client<'a>>,
    /// By whose they are; web servers without cores of their own share those of the servers.
    computing: [Option<SharedCores<Wake>>; 3],
    wake_up: WakeUp,
    /// For each connection, when its client last sent and its server last replied, where cores are shared.
    computed_at: Vec<[Option<u64>; 2]>,
    /// Idle workers of the server, and the requests that wait for one; `None` if there are as many as needed.
    workers: Option<(u32, VecDeque<u64>)>,
    /// Connections that clients share.
    pooled: Pooled,
    /// What transactions hold.
    locks: Locks<'a>,
    /// A client whose plan has come to its end, to be reported.
    finished: Option<u32>,
    /// Whether a reply had to be released, see [`SimulatedRun::release_stuck`].
    pub was_stuck: bool,
}

/// One client with the plan it carries out.
struct Client<'a> {
    plan: &'a OperationPlan,
    /// How many plans it has begun, as far as an id has room for it: late events of one that is over are
    /// distinguished from what happens of this one.
    generation: u64,
    /// For each connection of the plan, its number in the network.
    connections: Vec<u32>,
    begin: VirtualTime,
    times: Vec<Times>,
    servers: Vec<Server>,
    /// For each connection of the plan, whether the client has it now, where it is one of a pool.
    uses: Vec<pooled::Use>,
    /// Nodes that have not come to their end.
    unfinished: usize,
    /// Nodes searched for what is stuck.
    checked: usize,
}

/// The serving side of a moved connection: it answers requests one after another.
#[derive(Debug, Default, Clone)]
struct Server {
    busy: bool,
    waiting: VecDeque<u64>,
}

/// How many cores compute; absent when each job has one of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Computing {
    /// For all clients together.
    pub client: Option<u32>,
    /// For all servers together, and for what they compute between calls of their own.
    pub server: Option<u32>,
}

/// What one step of a run brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunProgress {
    /// Something that the caller need not know.
    Went,
    /// This client's plan came to its end: its last node, and what a client on shared cores does after it.
    Finished(u32),
    /// Nothing more will happen by itself.
    Over,
}

impl<'a> SimulatedRun<'a> {
    /// Idle links, at least one, with room for `clients` clients, which have no plan yet.
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

    /// The same, with an allowance for sides that rest longer than measured.
    #[must_use]
    pub fn with_wake_up(self, wake_up: WakeUp) -> Self {
        Self { wake_up, ..self }
    }

    /// The same, with web servers that have cores of their own, if they do.
    #[must_use]
    pub fn with_web_servers(mut self, cores: Option<u32>) -> Self {
        self.computing[Whose::WebServers.index()] = cores.map(SharedCores::new);
        self
    }

    /// The place of the cores that these compute on.
    fn cores_of(&self, whose: Whose) -> usize {
        let own = whose.index();
        match whose {
            Whose::WebServers if self.computing[own].is_none() => Whose::Servers.index(),
            Whose::Clients | Whose::Servers | Whose::WebServers => own,
        }
    }

    /// The same, with a server that works on this many requests at once that need calls of its own.
    #[must_use]
    pub fn with_workers(self, workers: Option<u32>) -> Self {
        let workers = workers.map(|workers| (workers.max(1), VecDeque::new()));
        Self { workers, ..self }
    }

    /// The same, with pools of so many connections, which all clients share.
    #[must_use]
    pub fn with_pools(self, limits: &HashMap<Protocol, u32>) -> Self {
        Self {
            pooled: Pooled::new(limits),
            ..self
        }
    }

    /// The same, with what clients hold until their transactions are over.
    #[must_use]
    pub fn with_locks(self, keys: Option<&'a HashSet<LockKey>>) -> Self {
        Self {
            locks: Locks::new(keys),
            ..self
        }
    }

    /// Whether the reply may have to wait for another client's transaction.
    fn may_wait(&self, node: &PlanNode) -> bool {
        node.locks.is_some_and(|key| self.locks.concern(key))
    }

    /// The client has come to the end of its operation: it holds nothing any more.
    pub fn release_locks(&mut self, client: u32) {
        for next in self.locks.release(client) {
            self.compute_reply(next);
        }
    }

    /// Adds a connection to a link, with the flows it had before, if any; returns its number.
    pub fn add_connection(&mut self, link: u32, before: Option<[Flow; 2]>) -> u32 {
        self.network.add_connection(link, before)
    }

    /// Adds a client that begins `plan` at `at`; `connections` are those of the plan.
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

    /// The client begins `plan` at `at`, now or later.
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

    /// Performs the next event.
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
            // Bytes as they come are for an emulation to know.
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

    /// The virtual time.
    pub const fn now(&self) -> VirtualTime {
        VirtualTime::from_nanos(self.network.now())
    }

    /// When the client's plan began, and the times of its nodes so far.
    pub fn times(&self, client: u32) -> (VirtualTime, &[Times]) {
        let client = &self.clients[client as usize];
        (client.begin, &client.times)
    }

    /// The client's time after the last reply of a plan that has just come to its end.
    pub fn client_after(&self, client: u32) -> u64 {
        let client = &self.clients[client as usize];
        if self.computing[0].is_none() {
            return client.plan.client_after;
        }
        let last = client.times.iter().filter_map(|times| times.completed).max();
        self.now().since(last.unwrap_or(client.begin))
    }

    /// The times of the first client's nodes, and the flows as they are now, two a connection, in the order
    /// in which these were added.
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

    /// The client computes on, if it shares its cores; otherwise its plan is over, and its own time is only
    /// counted.
    fn replied_all(&mut self, client: u32) {
        let after = self.clients[client as usize].plan.client_after;
        if self.computing[0].is_some() {
            self.compute(Whose::Clients, after, Wake::Rest(client));
        } else {
            self.finished = Some(client);
        }
    }

    /// The identifier of a node of the plan that the client carries out now.
    fn id(&self, client: u32, node: NodeIndex) -> u64 {
        let generation = self.clients[client as usize].generation;
        u64::from(client) << (GENERATION_BITS + NODE_BITS) | generation << NODE_BITS | node.index() as u64
    }

    /// The client and the node.
    const fn parts(id: u64) -> (usize, usize) {
        let client = id >> (GENERATION_BITS + NODE_BITS);
        (client as usize, (id & NODES) as usize)
    }

    /// Whether it is of the plan that its client carries out now. Of a plan that is over, a request may come
    /// late that nothing waits for, or the end of what a server computed.
    fn is_current(&self, id: u64) -> bool {
        let (client, _) = Self::parts(id);
        self.clients[client].generation == id >> NODE_BITS & GENERATIONS
    }

    fn node(&self, id: u64) -> &'a PlanNode {
        let (client, node) = Self::parts(id);
        &self.clients[client].plan.nodes[node]
    }

    /// The same for another node of the same client.
    fn beside(&self, id: u64, node: NodeIndex) -> u64 {
        self.id(Self::parts(id).0 as u32, node)
    }

    /// The link that the node's connection lies on.
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

    /// The number in the network of the node's connection.
    fn connection(&self, id: u64) -> u32 {
        let (client, node) = Self::parts(id);
        let client = &self.clients[client];
        client.connections[client.plan.nodes[node].connection as usize]
    }

    fn start_after_computing(&mut self, id: u64) {
        let what = self.node(id);
        let [whose, _] = what.whose();
        let longer = match what.after_what {
            After::Completion => self.longer(what.after.map_or(id, |after| self.beside(id, after))),
            After::RequestSent => 0,
            After::RequestArrived => self.longer(id),
        };
        let own = what.rested[0].saturating_add(longer);
        let waking = self.waking(id, whose, 0, what.client_before, own);
        self.times_of(id).waking[0] = waking;
        let work = what.client_before.saturating_add(waking.expected);
        self.compute(whose, work, Wake::Node(id, NodeEvent::Start));
    }

    /// How much longer than measured both sides rest while they wait for each other on the connection of
    /// `id`.
    fn longer(&self, id: u64) -> u64 {
        let what = self.node(id);
        match what.crossing {
            Crossing::Measured { .. } => 0,
            Crossing::Handshake | Crossing::Moved => {
                nanos(self.link_of(id).rtt).saturating_sub(what.round_trip)
            }
        }
    }

    /// The server's allowance before the reply: it has waited for the request, or for the last call that it
    /// made itself.
    fn server_waking(&self, id: u64) -> Waking {
        let what = self.node(id);
        let waited_for = what.reply_after.map_or(id, |call| self.beside(id, call));
        let longer = self.longer(waited_for);
        let [_, whose] = what.whose();
        self.waking(
            id,
            whose,
            1,
            what.server_before,
            what.rested[1].saturating_add(longer),
        )
    }

    /// The allowance for `work` on `whose` cores at one `side` of the connection of `id` that rested `own`
    /// before, or longer where it had to wait for a core, too.
    fn waking(&self, id: u64, whose: Whose, side: usize, work: u64, own: u64) -> Waking {
        let now = self.network.now();
        let shared = self.computing[self.cores_of(whose)].as_ref();
        let before = shared.and_then(|_| self.computed_at.get(self.connection(id) as usize)?[side]);
        let rest = Rest {
            measured: self.node(id).rested[side],
            own: before.map_or(own, |before| own.max(now.saturating_sub(before))),
            processor: shared.and_then(|shared| shared.rest_of_next(now)),
        };
        self.wake_up.waking(work, rest)
    }

    /// One side of the connection of `id` has computed.
    fn computed(&mut self, id: u64, side: usize) {
        if self.computing.iter().all(Option::is_none) {
            return;
        }
        let connection = self.connection(id) as usize;
        if self.computed_at.len() <= connection {
            self.computed_at.resize(connection + 1, [None; 2]);
        }
        self.computed_at[connection][side] = Some(self.network.now());
    }

    /// Wakes when `work` is done: by a core of its own, or by those that all share.
    fn compute(&mut self, whose: Whose, work: u64, then: Wake) {
        let whose = self.cores_of(whose);
        let now = self.network.now();
        match &mut self.computing[whose] {
            Some(shared) if work > 0 => {
                shared.begin(now, work, then);
                self.look_later(whose);
            }
            _ => self.network.wake_at(now.saturating_add(work), then),
        }
    }

    fn look_later(&mut self, whose: usize) {
        if let Some(shared) = &mut self.computing[whose]
            && let Some(at) = shared.look_at()
        {
            self.network.wake_at(at, Wake::Look(whose as u8));
        }
    }

    /// Jobs of shared cores may have ended.
    fn check_cores(&mut self, whose: u8) {
        let now = self.network.now();
        if let Some(shared) = &mut self.computing[usize::from(whose)] {
            shared.looked(now);
            while let Some(job) = shared.ended(now) {
                self.network.wake_at(now, job);
            }
        }
        self.look_later(usize::from(whose));
    }

    fn start(&mut self, id: u64) {
        if !self.takes_connection(id) {
            return;
        }
        let now = self.network.now();
        self.times_of(id).started = Some(self.now());
        self.computed(id, 0);
        let (what, connection) = (self.node(id), self.connection(id));
        let waiter = if what.arrival_matters() { id } else { NOBODY };
        match what.crossing {
            Crossing::Handshake => {
                self.network.open(connection);
                self.network
                    .send_handshake(connection, Direction::ClientToServer, waiter);
            }
            Crossing::Moved if what.request_bytes == 0 => {
                self.network.wait_for_establishment(connection, waiter);
            }
            Crossing::Moved if self.request_follows(id) => {
                let bytes = what.request_bytes.min(SIMULATED_BYTES);
                self.network
                    .append(connection, Direction::ClientToServer, bytes, waiter);
            }
            Crossing::Moved => {
                let bytes = what.request_bytes.min(SIMULATED_BYTES);
                self.network.write(
                    connection,
                    Direction::ClientToServer,
                    bytes,
                    what.client_inside.saturating_add(what.held_back[0]),
                    waiter,
                );
            }
            Crossing::Measured { request, .. } if what.arrival_matters() => {
                let at = now.saturating_add(request).saturating_add(what.client_inside);
                self.network
                    .wake_at(at, Wake::Node(id, NodeEvent::RequestArrived));
            }
            Crossing::Measured { .. } => {}
        }
        self.release(id, After::RequestSent);
        if !what.has_reply {
            let sent = now.saturating_add(what.client_inside);
            self.network
                .wake_at(sent, Wake::Node(id, NodeEvent::ReplyArrived));
        }
    }

    /// All simulated bytes of a request, or of a reply, have arrived: of the request when it had not arrived
    /// yet.
    fn arrived(&mut self, id: u64) {
        let what = self.node(id);
        let request = self.times_of(id).arrived.is_none();
        let (bytes, direction, wake) = if request {
            (
                what.request_bytes,
                Direction::ClientToServer,
                Wake::Node(id, NodeEvent::RequestArrived),
            )
        } else {
            (
                what.reply_bytes,
                Direction::ServerToClient,
                Wake::Node(id, NodeEvent::ReplyArrived),
            )
        };
        match beyond_simulated(self.link_of(id), direction, bytes) {
            0 if request => self.request_arrived(id),
            0 => self.complete(id),
            rest => self
                .network
                .wake_at(self.network.now().saturating_add(rest), wake),
        }
    }

    fn request_arrived(&mut self, id: u64) {
        self.times_of(id).arrived = Some(self.now());
        if self.needs_worker(id)
            && let Some((free, waiting)) = &mut self.workers
        {
            if *free == 0 {
                waiting.push_back(id);
                return;
            }
            *free -= 1;
        }
        self.work_on(id);
    }

    /// Whether a worker of the server is busy with it until it is answered.
    fn needs_worker(&self, id: u64) -> bool {
        let (client, node) = Self::parts(id);
        self.workers.is_some() && self.clients[client].plan.request == Some(NodeIndex::new(node))
    }

    /// A worker has answered and takes the next request.
    fn next_for_worker(&mut self) {
        let Some((free, waiting)) = &mut self.workers else {
            return;
        };
        match waiting.pop_front() {
            Some(next) => self.work_on(next),
            None => *free += 1,
        }
    }

    fn work_on(&mut self, id: u64) {
        self.release(id, After::RequestArrived);
        let what = self.node(id);
        if !what.has_reply {
            return;
        }
        match what.crossing {
            Crossing::Measured { .. } if self.waits_for_others(id) => {}
            Crossing::Measured { .. } => self.prepare_reply(id),
            Crossing::Handshake | Crossing::Moved => {
                self.server(id).waiting.push_back(id);
                self.serve_next(id);
            }
        }
    }

    /// Lets the server of the moved connection of `id` begin its next reply, when it is free and nothing else
    /// is waited for.
    fn serve_next(&mut self, id: u64) {
        let server = self.server(id);
        let Some(&next) = server.waiting.front().filter(|_| !server.busy) else {
            return;
        };
        if self.waits_for_others(next) {
            return;
        }
        let server = self.server(id);
        server.waiting.pop_front();
        server.busy = true;
        self.prepare_reply(next);
    }

    /// The server computes as soon as no other client holds what is requested.
    fn prepare_reply(&mut self, id: u64) {
        let client = Self::parts(id).0 as u32;
        let key = self.node(id).locks;
        if key.is_none_or(|key| self.locks.acquire(key, client, id)) {
            self.compute_reply(id);
        }
    }

    /// The server computes; a wait that cannot be explained is kept as it was.
    fn compute_reply(&mut self, id: u64) {
        let what = self.node(id);
        let by_kernel = what.crossing == Crossing::Handshake || what.server_before == 0;
        let waking = if by_kernel {
            Waking::default()
        } else {
            self.server_waking(id)
        };
        self.times_of(id).waking[1] = waking;
        let work = what.server_before.saturating_add(waking.expected);
        let [_, whose] = what.whose();
        if by_kernel || self.computing[self.cores_of(whose)].is_none() {
            let wait = work.saturating_add(what.unknown);
            self.network.wake_at(
                self.network.now().saturating_add(wait),
                Wake::Node(id, NodeEvent::Reply),
            );
        } else {
            self.compute(whose, work, Wake::Node(id, NodeEvent::Reply));
        }
    }

    fn waits_for_others(&self, id: u64) -> bool {
        let reply_after = self.node(id).reply_after;
        let (client, node) = Self::parts(id);
        let Client { plan, times, .. } = &self.clients[client];
        let is_missing = |node: NodeIndex| times[node.index()].completed.is_none();
        reply_after.is_some_and(is_missing)
            || plan.reply_joins.joined_with(NodeIndex::new(node)).any(is_missing)
    }

    fn reply(&mut self, id: u64) {
        let (what, connection) = (self.node(id), self.connection(id));
        let now = self.network.now();
        self.times_of(id).replied = Some(self.now());
        self.computed(id, 1);
        if self.needs_worker(id) {
            self.next_for_worker();
        }
        if what.ends_transaction {
            self.release_locks(Self::parts(id).0 as u32);
        }
        let [_, whose] = what.whose();
        let inside = self.inside_reply(whose, what.server_inside);
        match what.crossing {
            Crossing::Measured { reply, .. } => {
                let at = now.saturating_add(reply).saturating_add(inside);
                self.network.wake_at(at, Wake::Node(id, NodeEvent::ReplyArrived));
                return;
            }
            Crossing::Handshake => {
                self.network
                    .send_handshake(connection, Direction::ServerToClient, id);
            }
            Crossing::Moved if what.reply_bytes == 0 => {
                self.network.send_empty(connection, Direction::ServerToClient, id);
            }
            Crossing::Moved if inside == 0 && self.reply_follows(id) => {
                let bytes = what.reply_bytes.min(SIMULATED_BYTES);
                self.network
                    .append(connection, Direction::ServerToClient, bytes, id);
            }
            Crossing::Moved => {
                let bytes = what.reply_bytes.min(SIMULATED_BYTES);
                let over = inside.saturating_add(what.held_back[1]);
                self.network
                    .write(connection, Direction::ServerToClient, bytes, over, id);
            }
        }
        if inside == 0 {
            self.replied(id);
        } else {
            self.compute(whose, what.server_inside, Wake::Node(id, NodeEvent::Replied));
        }
    }

    /// How long the server's time inside a reply takes at the speed that shared cores have now.
    fn inside_reply(&self, whose: Whose, inside: u64) -> u64 {
        match &self.computing[self.cores_of(whose)] {
            Some(shared) if inside > 0 => (inside as f64 * shared.slowdown_of_next()) as u64,
            _ => inside,
        }
    }

    fn replied(&mut self, id: u64) {
        self.server(id).busy = false;
        self.serve_next(id);
    }

    fn complete(&mut self, id: u64) {
        let now = self.now();
        let times = self.times_of(id);
        if times.completed.is_some() {
            return;
        }
        times.completed = Some(now);
        self.may_give_back(id);
        let what = self.node(id);
        if what.crossing == Crossing::Handshake {
            self.network.establish(self.connection(id));
        }
        self.release(id, After::Completion);
        let mut waiter = what.first_reply_waiter;
        while let Some(next) = waiter {
            self.let_reply(self.beside(id, next));
            waiter = self.node(self.beside(id, next)).next_reply_waiter;
        }
        let (client, node) = Self::parts(id);
        for waiter in self.clients[client]
            .plan
            .reply_joins
            .waiters(NodeIndex::new(node))
        {
            self.let_reply(self.beside(id, waiter));
        }
        self.clients[client].unfinished -= 1;
        if self.clients[client].unfinished == 0 {
            self.replied_all(client as u32);
        }
    }

    /// Something has arrived that the reply of `id` waits for.
    fn let_reply(&mut self, id: u64) {
        let times = *self.times_of(id);
        match self.node(id).crossing {
            Crossing::Measured { .. } => {
                if times.arrived.is_some() && times.replied.is_none() && !self.waits_for_others(id) {
                    self.prepare_reply(id);
                }
            }
            Crossing::Handshake | Crossing::Moved => self.serve_next(id),
        }
    }

    /// Starts the nodes that waited for `what` of `id`.
    fn release(&mut self, id: u64, what: After) {
        let mut next = self.node(id).first_dependent;
        while let Some(index) = next {
            let dependent = self.beside(id, index);
            let node = self.node(dependent);
            if node.after_what == what && !self.waits_to_start(dependent) {
                self.start_after_computing(dependent);
            }
            next = node.next_dependent;
        }
        if what == After::Completion {
            let (client, node) = Self::parts(id);
            for waiter in self.clients[client].plan.joins.waiters(NodeIndex::new(node)) {
                let waiter = self.beside(id, waiter);
                if !self.waits_to_start(waiter) {
                    self.start_after_computing(waiter);
                }
            }
        }
    }

    /// Whether anything that the node waits for before it starts has not happened.
    fn waits_to_start(&self, id: u64) -> bool {
        let (client, node) = Self::parts(id);
        let Client { plan, times, .. } = &self.clients[client];
        let what = &plan.nodes[node];
        let is_missing = |node: NodeIndex| times[node.index()].completed.is_none();
        let first_missing = what.after.is_some_and(|after| {
            let after = times[after.index()];
            let happened = match what.after_what {
                After::Completion => after.completed,
                After::RequestSent => after.started,
                After::RequestArrived => after.arrived,
            };
            happened.is_none()
        });
        first_missing || plan.joins.joined_with(NodeIndex::new(node)).any(is_missing)
    }

    /// A reply that waits for a step which waits for that reply (no observation can produce it, a damaged one
    /// can) is released. False when nothing was stuck.
    fn release_stuck(&mut self) -> bool {
        for client in 0..self.clients.len() {
            while self.clients[client].checked < self.clients[client].times.len() {
                let node = self.clients[client].checked;
                self.clients[client].checked += 1;
                let times = self.clients[client].times[node];
                let has_reply = self.clients[client].plan.nodes[node].has_reply;
                if times.arrived.is_some() && times.replied.is_none() && has_reply {
                    let id = self.id(client as u32, NodeIndex::new(node));
                    self.server(id).waiting.retain(|waiting| *waiting != id);
                    self.locks.forget(id);
                    self.compute_reply(id);
                    self.was_stuck = true;
                    return true;
                }
            }
        }
        false
    }
}
