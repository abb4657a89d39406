//! Runs the plans of one or several clients over a link, in virtual time.

mod beyond;
mod pooled;
mod shared_cores;
mod together;

use crate::cores::Whose;
use crate::links::Links;
use crate::locks::{Locks, SimulatedLocks};
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

    fn cores_of(&self, whose: Whose) -> usize {
        let own = whose.index();
        match whose {
            Whose::WebServers if self.computing[own].is_none() => Whose::Servers.index(),
            Whose::Clients | Whose::Servers | Whose::WebServers => own,
        }
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

    /// Additional rest of both sides while they wait for each other on the connection of `id`.
    fn longer(&self, id: u64) -> u64 {
        let what = self.node(id);
        match what.crossing {
            Crossing::Measured { .. } => 0,
            Crossing::Handshake | Crossing::Moved => {
                nanos(self.link_of(id).rtt).saturating_sub(what.round_trip)
            }
        }
    }

    /// Allowance before the reply: the server has waited for the request, or for its last own call.
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

    /// Allowance for `work` at one `side` of the connection of `id` that rested `own`, or longer if
    /// it also waited for a core.
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

    /// Handles arrival of all simulated bytes: of the request, if it had not arrived yet, else of
    /// the reply.
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

    fn needs_worker(&self, id: u64) -> bool {
        let (client, node) = Self::parts(id);
        self.workers.is_some() && self.clients[client].plan.request == Some(NodeIndex::new(node))
    }

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

    /// Starts the next reply on the moved connection of `id` if the server is idle and all
    /// dependencies are met.
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

    fn prepare_reply(&mut self, id: u64) {
        let client = Self::parts(id).0 as u32;
        let key = self.node(id).locks;
        if key.is_none_or(|key| self.locks.acquire(key, client, id)) {
            self.compute_reply(id);
        }
    }

    /// Computes the reply; an unexplained wait is kept as measured.
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

    /// Releases a reply that waits for a step which waits for that reply (only in damaged data).
    /// False if none was stuck.
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
