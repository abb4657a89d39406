//! Both ends of a lane and of plain connections, over a simulated link with Linux's TCP.

use link::LinkDescription;
use link::network::{ConnectionNumber, FlowId, NetworkEvent, SimulatedNetwork};
use model::{Direction, Timestamp};
use std::collections::VecDeque;
use std::time::Duration;
use tunnel::{CompressionLevel, End, Lane, LaneEvent, LanePreferences, LevelChoice, StreamId};

#[derive(Debug)]
pub struct Outcome {
    pub median: Duration,
    pub ninetieth: Duration,
    /// Bytes per second of the large result.
    pub rate: f64,
}

/// The client of the small statements: a pause after each answer.
#[derive(Default)]
struct Statements {
    sent: Option<Timestamp>,
    took: Vec<Duration>,
}

impl Statements {
    fn answered(&mut self, at: Timestamp) -> Timestamp {
        let took = at.since(self.sent.take().unwrap());
        if at >= Timestamp::default().after(SETTLED) {
            self.took.push(took);
        }
        // Spread over the large result's packets.
        at.after(PAUSE + Duration::from_micros(self.took.len() as u64 * 7919 % 50_000))
    }

    fn outcome(mut self, bytes: u64) -> Outcome {
        self.took.sort();
        let at = |share: usize| self.took[self.took.len() * share / 100];
        Outcome {
            median: at(50),
            ninetieth: at(90),
            rate: bytes as f64 / (SPAN - SETTLED).as_secs_f64(),
        }
    }
}

/// Two connections that share the link.
pub struct Direct;

impl Direct {
    pub fn run(link: &LinkDescription) -> Outcome {
        let mut network = SimulatedNetwork::for_emulation(link, Timestamp::default());
        let (large, small) = (ConnectionNumber::new(0), ConnectionNumber::new(1));
        for connection in [large, small] {
            network.attach(connection);
            network.open(connection);
        }
        let result = FlowId::new(large, Direction::ServerToClient);
        let (asked, answer) = (
            FlowId::new(small, Direction::ClientToServer),
            FlowId::new(small, Direction::ServerToClient),
        );
        let mut statements = Statements::default();
        let mut settled = None;
        network.wake_at(Timestamp::default().after(PAUSE), ());
        while let Some(event) = network.advance_to(Timestamp::default().after(SPAN)) {
            match event {
                NetworkEvent::Wake(()) => {
                    statements.sent = Some(network.now());
                    network.write_bytes(asked, SMALL);
                }
                NetworkEvent::Received(flow) if flow == asked => network.write_bytes(answer, SMALL),
                NetworkEvent::Received(flow) if flow == answer => {
                    let next = statements.answered(network.now());
                    network.wake_at(next, ());
                }
                NetworkEvent::Received(_) | NetworkEvent::Arrived(_) => {}
            }
            let room = network.room(result);
            network.write_bytes(result, room);
            if network.now() >= Timestamp::default().after(SETTLED) {
                settled.get_or_insert(network.received(result).bytes_before());
            }
        }
        statements.outcome(network.received(result).bytes_before() - settled.unwrap())
    }
}

/// A lane with two streams.
pub struct Tunnel {
    network: SimulatedNetwork<()>,
    near: Lane,
    far: Lane,
    wires: [VecDeque<u8>; 2],
    /// Offsets up to which an end has read.
    read: [u64; 2],
    large: Option<StreamId>,
    small: Option<StreamId>,
    /// The far end's answer to a small statement waits in its socket.
    answers: bool,
    asks: bool,
    blocked: bool,
    limit: u64,
    came: u64,
    statements: Statements,
}

impl Tunnel {
    pub fn run(link: &LinkDescription) -> Outcome {
        let preferences = LanePreferences {
            level: LevelChoice::Fixed(CompressionLevel::OFF),
            ..LanePreferences::default()
        };
        let mut network = SimulatedNetwork::for_emulation(link, Timestamp::default());
        network.attach(LANE);
        network.open(LANE);
        let mut ends = Self {
            network,
            near: Lane::new(End::Near, preferences),
            far: Lane::new(End::Far, preferences),
            wires: [VecDeque::new(), VecDeque::new()],
            read: [0; 2],
            large: None,
            small: None,
            answers: false,
            asks: false,
            blocked: false,
            limit: MAX_UNSENT,
            came: 0,
            statements: Statements::default(),
        };
        ends.network.wake_at(Timestamp::default().after(PAUSE), ());
        ends.send();
        while let Some(event) = ends.network.advance_to(Timestamp::default().after(SPAN)) {
            match event {
                NetworkEvent::Wake(()) => ends.send_question(),
                NetworkEvent::Received(flow) => ends.receive(flow),
                NetworkEvent::Arrived(_) => {}
            }
            ends.send();
        }
        ends.statements.outcome(ends.came)
    }

    fn send_question(&mut self) {
        if self.large.is_none() {
            self.large = self.near.open();
            self.small = self.near.open();
        }
        self.statements.sent = Some(self.network.now());
        self.asks = true;
        self.near.readable(self.small.unwrap());
    }

    fn receive(&mut self, flow: FlowId) {
        let to_near = flow.direction() == Direction::ServerToClient;
        let side = usize::from(to_near);
        let received = self.network.received(flow).bytes_before();
        let lane = if to_near { &mut self.near } else { &mut self.far };
        while self.read[side] < received {
            let space = lane.space();
            let count = space.len().min((received - self.read[side]) as usize);
            for (byte, came) in space.iter_mut().zip(self.wires[side].drain(..count)) {
                *byte = came;
            }
            self.read[side] += count as u64;
            lane.filled(count);
            loop {
                let event = match lane.next().unwrap() {
                    None => break,
                    Some(LaneEvent::Bytes { stream, bytes, .. }) => Some((stream, bytes.len())),
                    Some(LaneEvent::Opened(stream)) => {
                        lane.readable(stream);
                        None
                    }
                    Some(LaneEvent::Hello(_) | LaneEvent::Finished(_) | LaneEvent::Reset(..)) => None,
                };
                let Some((stream, count)) = event else { continue };
                lane.consumed(stream, count);
                match (to_near, Some(stream) == self.small) {
                    (false, _) => {
                        self.answers = true;
                        lane.readable(stream);
                    }
                    (true, true) => {
                        let next = self.statements.answered(self.network.now());
                        self.network.wake_at(next, ());
                    }
                    (true, false) if self.network.now() >= Timestamp::default().after(SETTLED) => {
                        self.came += count as u64;
                    }
                    (true, false) => {}
                }
            }
        }
    }

    fn send(&mut self) {
        while let Some(pick) = self.near.pick() {
            match Some(pick.stream) == self.small && std::mem::take(&mut self.asks) {
                true => send(&mut self.near, pick.stream, SMALL, true),
                false => self.near.drained(pick.stream),
            }
        }
        let count = self.near.unsent().len();
        self.wires[0].extend(self.near.unsent());
        self.near.sent(count);
        self.network
            .write_bytes(FlowId::new(LANE, Direction::ClientToServer), count as u64);
        self.send_results();
    }

    /// As the loop of a lane with its socket.
    fn send_results(&mut self) {
        let flow = FlowId::new(LANE, Direction::ServerToClient);
        self.blocked = self.blocked && self.network.unsent(flow) >= self.limit / 2;
        while !self.blocked {
            while let Some(pick) = self.far.pick() {
                match Some(pick.stream) == self.small {
                    false => send(&mut self.far, pick.stream, pick.most as u64, false),
                    true if std::mem::take(&mut self.answers) => {
                        send(&mut self.far, pick.stream, SMALL, true)
                    }
                    true => self.far.drained(pick.stream),
                }
            }
            if self.far.unsent().is_empty() {
                return self.far.idle();
            }
            while !self.far.unsent().is_empty() && self.network.unsent(flow) < KERNEL_BUFFER {
                // A record of TLS.
                let count = self.far.unsent().len().min(16 * 1024);
                self.wires[1].extend(&self.far.unsent()[..count]);
                self.far.sent(count);
                self.network.write_bytes(flow, count as u64);
            }
            let over_limit = self.limit < MAX_UNSENT && self.network.unsent(flow) >= self.limit;
            self.blocked = over_limit || !self.far.unsent().is_empty();
            if self.blocked {
                self.far.full(self.network.now());
                self.limit = MAX_UNSENT.min(self.far.enough() as u64);
            }
        }
    }
}

fn send(lane: &mut Lane, stream: StreamId, count: u64, drained: bool) {
    let chunk = vec![0; count as usize];
    lane.send(stream, &chunk, drained, CompressionLevel::OFF).unwrap();
}

const LANE: ConnectionNumber = ConnectionNumber::new(0);
const SMALL: u64 = 100;
const PAUSE: Duration = Duration::from_millis(60);
const SETTLED: Duration = Duration::from_secs(2);
const SPAN: Duration = Duration::from_secs(60);
const MAX_UNSENT: u64 = 16 * 1024;
/// The kernel fills its last buffer regardless of the limit.
const KERNEL_BUFFER: u64 = 64 * 1024;
