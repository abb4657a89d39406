//! The links of a replay's moved connections, each with separate flows and queues, on a common
//! clock.

use crate::connections::KeptFlows;
use crate::virtual_time::VirtualTime;
use link::LinkDescription;
use link::network::{ConnectionNumber, FlowId, NetworkEvent, SimulatedNetwork};
use link::tcp::{Flow, Waiter};
use model::{Direction, Nanos, Timestamp};

/// A connection's number over all links, in the order they are added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplayConnection(u32);

impl ReplayConnection {
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Links in virtual time.
pub struct Links<W> {
    networks: Vec<SimulatedNetwork<W>>,
    connections: Vec<(usize, ConnectionNumber)>,
    now: VirtualTime,
}

impl<W: Ord> Links<W> {
    /// Idle links, at least one, with the clock at `now`.
    pub fn new(links: &[LinkDescription], now: VirtualTime) -> Self {
        Self {
            networks: links
                .iter()
                .map(|link| SimulatedNetwork::new(link, now.timestamp()))
                .collect(),
            connections: Vec::new(),
            now,
        }
    }

    /// Adds a connection with optional earlier flows, and returns its number.
    pub fn add_connection(&mut self, link: u32, before: Option<[Flow; 2]>) -> ReplayConnection {
        let link = (link as usize).min(self.networks.len() - 1);
        let number = ReplayConnection(self.connections.len() as u32);
        self.connections
            .push((link, self.networks[link].add_connection(before)));
        number
    }

    /// Limits the receive window of both sides to `most` bytes.
    pub fn limit_window(&mut self, connection: ReplayConnection, most: u64) {
        if let Some((link, number)) = self.connections.get(connection.index()) {
            self.networks[*link].limit_window(*number, most);
        }
    }

    /// Sets the server's initial window to at least `packets`, also after idle time.
    pub fn begin_with(&mut self, connection: ReplayConnection, packets: u32) {
        if let Some((link, number)) = self.connections.get(connection.index()) {
            self.networks[*link].begin_with(*number, packets);
        }
    }

    /// Lets both sides of an unused connection send as BBR does.
    pub fn use_bbr(&mut self, connection: ReplayConnection) {
        if let Some((link, number)) = self.connections.get(connection.index()) {
            self.networks[*link].use_bbr(*number);
        }
    }

    /// Current flows of each connection, in the order the connections were added.
    pub fn into_flows(self) -> Vec<KeptFlows> {
        let mut flows: Vec<Vec<Option<Flow>>> = self
            .networks
            .into_iter()
            .map(|network| network.into_flows().into_iter().map(Some).collect())
            .collect();
        let mut ordered = Vec::with_capacity(self.connections.len());
        for (link, number) in self.connections {
            if let [Some(up), Some(down)] = number.flows().map(|flow| flows[link][flow.index()].take()) {
                ordered.push(Box::new([up, down]));
            }
        }
        ordered
    }

    pub const fn now(&self) -> VirtualTime {
        self.now
    }

    pub fn wake_at(&mut self, at: VirtualTime, wake: W) {
        self.networks[0].wake_at(at.timestamp(), wake);
    }

    pub fn advance(&mut self) -> Option<NetworkEvent<W>> {
        loop {
            let next = |network: &SimulatedNetwork<W>| network.next_at();
            let times = self.networks.iter().enumerate();
            let (_, first) = times
                .filter_map(|(link, network)| Some((next(network)?, link)))
                .min()?;
            let others = self
                .networks
                .iter()
                .enumerate()
                .filter(|(link, _)| *link != first);
            let limit = others
                .filter_map(|(_, network)| next(network))
                .min()
                .unwrap_or(Timestamp::from_nanos(u64::MAX));
            if let Some(network_event) = self.networks[first].advance_to(limit) {
                self.now = self
                    .now
                    .max(VirtualTime::from_timestamp(self.networks[first].now()));
                return Some(network_event);
            }
        }
    }

    fn network_of(&mut self, connection: ReplayConnection) -> (&mut SimulatedNetwork<W>, ConnectionNumber) {
        let (link, number) = self.connections[connection.index()];
        let network = &mut self.networks[link];
        network.pass_time(self.now.timestamp());
        (network, number)
    }

    pub fn open(&mut self, connection: ReplayConnection) {
        let (network, number) = self.network_of(connection);
        network.open(number);
    }

    pub fn send_handshake(&mut self, connection: ReplayConnection, direction: Direction, waiter: Waiter) {
        self.network_of(connection).0.send_handshake(direction, waiter);
    }

    pub fn establish(&mut self, connection: ReplayConnection) {
        let (network, number) = self.network_of(connection);
        network.establish(number);
    }

    pub fn wait_for_establishment(&mut self, connection: ReplayConnection, waiter: Waiter) {
        let (network, number) = self.network_of(connection);
        network.wait_for_establishment(number, waiter);
    }

    pub fn send_empty(&mut self, connection: ReplayConnection, direction: Direction, waiter: Waiter) {
        self.network_of(connection).0.send_empty(direction, waiter);
    }

    pub fn write(
        &mut self,
        connection: ReplayConnection,
        direction: Direction,
        bytes: u64,
        span: Nanos,
        waiter: Waiter,
    ) {
        let (network, number) = self.network_of(connection);
        network.write(FlowId::new(number, direction), bytes, span, waiter);
    }

    pub fn append(&mut self, connection: ReplayConnection, direction: Direction, bytes: u64, waiter: Waiter) {
        let (network, number) = self.network_of(connection);
        network.append(FlowId::new(number, direction), bytes, waiter);
    }
}
