//! Simulates a lane with one thread at its far end: codec and sending alternate, and only the network
//! goes on while the codec works.

use link::LinkDescription;
use link::impairments::outage::Outage;
use link::network::{ConnectionNumber, FlowId, NetworkEvent, SimulatedNetwork};
use link::tcp::INITIAL_WINDOW;
use model::{BitRate, ByteCount, Direction, PerDirection, Timestamp};
use std::collections::VecDeque;
use std::time::Duration;
use tunnel::{Auto, CompressionLevel};

/// Per level, compressed size of a payload byte and codec nanoseconds for it.
pub type Data = [(f64, f64); 10];

/// Rows of text, `measurements/2026-11-21-2cpu-linux-6.18.44/tunnel-levels.txt`.
pub const ROWS: Data = [
    (1.0, 0.0),
    (0.083, 0.6),
    (0.0217, 0.4),
    (0.0216, 0.4),
    (0.0214, 0.42),
    (0.0207, 1.9),
    (0.0197, 2.0),
    (0.0193, 2.6),
    (0.0184, 3.1),
    (0.0176, 4.0),
];
pub const TEXT: Data = [
    (1.0, 0.0),
    (0.43, 2.4),
    (0.32, 2.3),
    (0.296, 3.1),
    (0.279, 3.6),
    (0.258, 9.3),
    (0.254, 10.6),
    (0.2506, 15.0),
    (0.249, 18.9),
    (0.248, 25.6),
];
/// Data already compressed or encrypted.
pub const NOISE: Data = [
    (1.0, 0.0),
    (1.0, 0.4),
    (1.0, 0.6),
    (1.0, 0.8),
    (1.0, 0.9),
    (1.0, 1.1),
    (1.0, 1.1),
    (1.0, 1.3),
    (1.0, 1.7),
    (1.0, 2.5),
];

#[derive(Debug, Clone, Copy)]
pub enum Demand {
    Endless,
    Clients {
        clients: usize,
        result: usize,
        think: Duration,
    },
}

#[derive(Clone)]
pub struct Simulation {
    link: LinkDescription,
    /// Later rates in bytes per second.
    rates: VecDeque<(Timestamp, f64)>,
    data: Vec<(Timestamp, Data)>,
    demand: Demand,
    slower: f64,
}

#[derive(Debug)]
pub struct Outcome {
    pub speed: f64,
    pub levels: Vec<(Timestamp, u8)>,
}

impl Outcome {
    pub fn at(&self, at: Duration) -> u8 {
        in_force(&self.levels, Timestamp::default().after(at))
    }

    pub fn last(&self) -> u8 {
        self.levels.last().unwrap().1
    }
}

impl Simulation {
    pub fn new(rate: f64, data: Data, demand: Demand) -> Self {
        let mut link = LinkDescription::with_rtt(Duration::ZERO);
        link.rate = PerDirection::splat(Some(bit_rate(rate)));
        if rate > FAST {
            (link.mtu, link.queue) = (9000, Some(ByteCount::from_bytes(1024 * 1024)));
        } else {
            link.queue = Some(ByteCount::from_bytes(128 * 1024));
        }
        Self {
            link,
            rates: VecDeque::new(),
            data: vec![(Timestamp::default(), data)],
            demand,
            slower: 1.0,
        }
    }

    pub fn rtt(mut self, rtt: Duration) -> Self {
        self.link.rtt = rtt;
        self
    }

    pub fn slower(mut self, times: f64) -> Self {
        self.slower = times;
        self
    }

    pub fn then(mut self, at: Duration, rate: f64) -> Self {
        self.rates.push_back((Timestamp::default().after(at), rate));
        self
    }

    pub fn outage(mut self, after: Duration, lasts: Duration) -> Self {
        self.link.outage = Some(Outage {
            lasts,
            after,
            every: None,
        });
        self
    }

    pub fn then_data(mut self, at: Duration, data: Data) -> Self {
        self.data.push((Timestamp::default().after(at), data));
        self
    }

    pub fn fixed(&self, level: u8, span: Duration) -> f64 {
        Ends::new(self, None).run(span, level).speed
    }

    pub fn auto(&self, span: Duration) -> Outcome {
        let window = f64::from(INITIAL_WINDOW * self.link.payload_per_packet());
        let rtt = self.link.rtt.as_secs_f64();
        let window_rate = (rtt > 0.0).then(|| bit_rate(window / rtt));
        let auto = Auto::new(Timestamp::default(), window_rate);
        Ends::new(self, Some(auto)).run(span, 0)
    }
}

/// Both ends of the lane, and the network between them.
struct Ends<'a> {
    simulation: &'a Simulation,
    network: SimulatedNetwork<usize>,
    rates: VecDeque<(Timestamp, f64)>,
    auto: Option<Auto>,
    /// Per client, bytes that the far end has yet to read of its result.
    results: Vec<usize>,
    turn: usize,
    /// Offset in the stream of results.
    written: u64,
    /// Clients, with the ends of their results and requests on the way.
    answered: VecDeque<(u64, usize)>,
    asked: VecDeque<(u64, usize)>,
    requests: u64,
    burst: Option<Burst>,
    ended_bursts: VecDeque<(Burst, u64)>,
    /// The best delivery rate of bursts, as in Linux (net/ipv4/tcp_rate.c), in bytes per second.
    delivered: f64,
}

#[derive(Clone, Copy)]
struct Burst {
    began: Timestamp,
    start: u64,
}

impl<'a> Ends<'a> {
    fn new(simulation: &'a Simulation, auto: Option<Auto>) -> Self {
        let mut network = SimulatedNetwork::for_emulation(&simulation.link, Timestamp::default());
        network.attach(LANE);
        network.open(LANE);
        let mut ends = Self {
            simulation,
            network,
            rates: simulation.rates.clone(),
            auto,
            results: Vec::new(),
            turn: 0,
            written: 0,
            answered: VecDeque::new(),
            asked: VecDeque::new(),
            requests: 0,
            burst: None,
            ended_bursts: VecDeque::new(),
            delivered: 0.0,
        };
        match simulation.demand {
            Demand::Endless => ends.results = vec![usize::MAX],
            Demand::Clients { clients, .. } => {
                ends.results = vec![0; clients];
                (0..clients).for_each(|client| ends.send_request(client));
            }
        }
        ends
    }

    fn run(mut self, span: Duration, fixed: u8) -> Outcome {
        let end = Timestamp::default().after(span);
        let mut payload = 0;
        let mut levels: Vec<(Timestamp, u8)> = Vec::new();
        while self.network.now() < end {
            let Some((client, length)) = self.take_chunk() else {
                self.pause(end);
                continue;
            };
            let level = self.choose_level().unwrap_or(fixed);
            if levels.last().is_none_or(|last| last.1 != level) {
                levels.push((self.network.now(), level));
            }
            self.carry(length, level);
            payload += length;
            if self.results[client] == 0 {
                self.answered.push_back((self.written, client));
            }
        }
        Outcome {
            speed: payload as f64 / span.as_secs_f64(),
            levels,
        }
    }

    fn take_chunk(&mut self) -> Option<(usize, usize)> {
        let count = self.results.len();
        let client = (0..count)
            .map(|step| (self.turn + step) % count)
            .find(|client| self.results[*client] > 0)?;
        self.turn = client + 1;
        let left = &mut self.results[client];
        let length = (*left).min(CHUNK);
        *left -= length;
        Some((client, length))
    }

    fn choose_level(&mut self) -> Option<u8> {
        let at = self.network.now();
        let auto = self.auto.as_mut()?;
        if self.delivered > 0.0 && auto.wants_path(at) {
            auto.path(at, bit_rate(self.delivered), self.simulation.link.rtt);
        }
        Some(auto.level(at).number())
    }

    fn carry(&mut self, length: usize, level: u8) {
        let (left, nanoseconds) = in_force(&self.simulation.data, self.network.now())[usize::from(level)];
        let took = Duration::from_secs_f64(nanoseconds * 1e-9 * self.simulation.slower * length as f64);
        self.pass(took);
        let bytes = (left * length as f64).ceil();
        if let Some(auto) = &mut self.auto {
            let level = CompressionLevel::from_number(level).unwrap();
            auto.chunk(self.network.now(), level, length, bytes as usize, took);
        }
        self.pass(Duration::from_secs_f64((PER_CHUNK + PER_BYTE * bytes) * 1e-9));
        self.send(bytes as u64);
    }

    /// A full socket reports again when less than half of its limit is unsent
    /// (`tcp_stream_memory_free`).
    fn send(&mut self, bytes: u64) {
        self.burst.get_or_insert(Burst {
            began: self.network.now(),
            start: self.written,
        });
        let mut left = bytes;
        while left > 0 {
            let taken = left.min(MAX_UNSENT.saturating_sub(self.network.unsent(RESULTS)));
            self.network.write_bytes(RESULTS, taken);
            self.written += taken;
            left -= taken;
            let (at, is_full) = (self.network.now(), left > 0);
            if let Some(auto) = &mut self.auto {
                auto.sent(at, taken as usize);
                if is_full {
                    auto.full(at);
                }
            }
            while is_full && self.network.unsent(RESULTS) >= MAX_UNSENT / 2 {
                let next = self.network.next_at().expect("packets are on the way");
                self.pass_to(next);
            }
        }
    }

    /// Until a client's request arrives.
    fn pause(&mut self, end: Timestamp) {
        let now = self.network.now();
        if let Some(auto) = &mut self.auto {
            auto.idle(now);
        }
        if let Some(burst) = self.burst.take() {
            self.ended_bursts.push_back((burst, self.written));
        }
        while self.results.iter().all(|left| *left == 0) && self.network.now() < end {
            let next = self.network.next_at().unwrap_or(end);
            self.pass_to(next.min(end));
        }
    }

    fn pass(&mut self, span: Duration) {
        self.pass_to(self.network.now().after(span));
    }

    fn pass_to(&mut self, to: Timestamp) {
        while let Some((at, rate)) = self.rates.pop_front_if(|(at, _)| *at <= to) {
            self.advance_to(at);
            self.network.set_rate(RESULTS.direction(), bit_rate(rate));
        }
        self.advance_to(to);
    }

    fn advance_to(&mut self, to: Timestamp) {
        while let Some(event) = self.network.advance_to(to) {
            match event {
                NetworkEvent::Wake(client) => self.send_request(client),
                NetworkEvent::Received(REQUESTS) => self.requests_arrived(),
                NetworkEvent::Received(_) => self.results_arrived(),
                NetworkEvent::Arrived(_) => unreachable!("nobody waits"),
            }
        }
        self.network.pass_time(to);
    }

    fn send_request(&mut self, client: usize) {
        self.requests += REQUEST;
        self.asked.push_back((self.requests, client));
        self.network.write_bytes(REQUESTS, REQUEST);
    }

    fn requests_arrived(&mut self) {
        let Demand::Clients { result, .. } = self.simulation.demand else {
            return;
        };
        let received = self.network.received(REQUESTS).bytes_before();
        while let Some((_, client)) = self.asked.pop_front_if(|(end, _)| *end <= received) {
            self.results[client] = result;
        }
    }

    /// A client asks again, a pause after its result has arrived.
    fn results_arrived(&mut self) {
        let received = self.network.received(RESULTS).bytes_before();
        let now = self.network.now();
        if let Demand::Clients { think, .. } = self.simulation.demand {
            while let Some((_, client)) = self.answered.pop_front_if(|(end, _)| *end <= received) {
                self.network.wake_at(now.after(think), client);
            }
        }
        while let Some((burst, end)) = self.ended_bursts.pop_front_if(|(_, end)| *end <= received) {
            let acknowledged = now.after(self.network.one_way(REQUESTS.direction()));
            let took = acknowledged.since(burst.began).as_secs_f64();
            self.delivered = self.delivered.max((end - burst.start) as f64 / took);
        }
    }
}

fn in_force<T: Copy>(changes: &[(Timestamp, T)], at: Timestamp) -> T {
    changes.iter().rev().find(|(from, _)| *from <= at).unwrap().1
}

fn bit_rate(bytes_per_second: f64) -> BitRate {
    BitRate::from_bits_per_second((bytes_per_second * 8.0) as u64).unwrap()
}

const LANE: ConnectionNumber = ConnectionNumber::new(0);
const REQUESTS: FlowId = FlowId::new(LANE, Direction::ClientToServer);
const RESULTS: FlowId = FlowId::new(LANE, Direction::ServerToClient);
const REQUEST: u64 = 100;
/// The limit of a lane's socket.
const MAX_UNSENT: u64 = 16 * 1024;
/// In bytes per second; faster lanes have large packets, as with segmentation offload.
const FAST: f64 = 10e6;
const CHUNK: usize = 32 * 1024;
/// Nanoseconds for reading, encrypting and writing a chunk, and per byte sent.
const PER_CHUNK: f64 = 8_000.0;
const PER_BYTE: f64 = 0.6;
