//! The links of a replay's moved connections, each with separate flows and queues, on a common
//! clock.

use link::LinkDescription;
use link::network::{NetworkEvent, SimulatedNetwork};
use link::tcp::Flow;
use model::Direction;

/// Links in virtual time. Connections are numbered over all links in the order they are added.
pub struct Links<W> {
    networks: Vec<SimulatedNetwork<W>>,
    connections: Vec<(usize, u32)>,
    now: u64,
}

impl<W: Ord> Links<W> {
    /// Idle links, at least one, with the clock at `now`.
    pub fn new(links: &[LinkDescription], now: u64) -> Self {
        Self {
            networks: links
                .iter()
                .map(|link| SimulatedNetwork::new(link, now))
                .collect(),
            connections: Vec::new(),
            now,
        }
    }

    /// Adds a connection with optional earlier flows, and returns its number.
    pub fn add_connection(&mut self, link: u32, before: Option<[Flow; 2]>) -> u32 {
        let link = (link as usize).min(self.networks.len() - 1);
        let network = &mut self.networks[link];
        network.add_connection(before);
        self.connections.push((link, network.connections() - 1));
        self.connections.len() as u32 - 1
    }

    /// Limits the receive window of both sides to `most` bytes.
    pub fn limit_window(&mut self, connection: u32, most: u64) {
        if let Some((link, number)) = self.connections.get(connection as usize) {
            self.networks[*link].limit_window(*number, most);
        }
    }

    /// Sets the server's initial window to at least `packets`, also after idle time.
    pub fn begin_with(&mut self, connection: u32, packets: u32) {
        if let Some((link, number)) = self.connections.get(connection as usize) {
            self.networks[*link].begin_with(*number, packets);
        }
    }

    /// Current flows, two per connection, in the order the connections were added.
    pub fn into_flows(self) -> Vec<Flow> {
        let mut flows: Vec<Vec<Option<Flow>>> = self
            .networks
            .into_iter()
            .map(|network| network.into_flows().into_iter().map(Some).collect())
            .collect();
        let mut ordered = Vec::with_capacity(2 * self.connections.len());
        for (link, number) in self.connections {
            for direction in 0..2 {
                ordered.extend(flows[link][2 * number as usize + direction].take());
            }
        }
        ordered
    }

    pub const fn now(&self) -> u64 {
        self.now
    }

    pub fn wake_at(&mut self, at: u64, wake: W) {
        self.networks[0].wake_at(at, wake);
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
                .unwrap_or(u64::MAX);
            if let Some(network_event) = self.networks[first].advance_to(limit) {
                self.now = self.now.max(self.networks[first].now());
                return Some(network_event);
            }
        }
    }

    fn network_of(&mut self, connection: u32) -> (&mut SimulatedNetwork<W>, u32) {
        let (link, number) = self.connections[connection as usize];
        let network = &mut self.networks[link];
        network.pass_time(self.now);
        (network, number)
    }

    pub fn open(&mut self, connection: u32) {
        let (network, number) = self.network_of(connection);
        network.open(number);
    }

    pub fn send_handshake(&mut self, connection: u32, direction: Direction, waiter: u64) {
        self.network_of(connection).0.send_handshake(direction, waiter);
    }

    pub fn establish(&mut self, connection: u32) {
        let (network, number) = self.network_of(connection);
        network.establish(number);
    }

    pub fn wait_for_establishment(&mut self, connection: u32, waiter: u64) {
        let (network, number) = self.network_of(connection);
        network.wait_for_establishment(number, waiter);
    }

    pub fn send_empty(&mut self, connection: u32, direction: Direction, waiter: u64) {
        self.network_of(connection).0.send_empty(direction, waiter);
    }

    pub fn write(&mut self, connection: u32, direction: Direction, bytes: u64, span: u64, waiter: u64) {
        let (network, number) = self.network_of(connection);
        network.write(2 * number + direction.index() as u32, bytes, span, waiter);
    }

    pub fn append(&mut self, connection: u32, direction: Direction, bytes: u64, waiter: u64) {
        let (network, number) = self.network_of(connection);
        network.append(2 * number + direction.index() as u32, bytes, waiter);
    }
}
