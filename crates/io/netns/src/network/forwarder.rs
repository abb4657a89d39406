//! The thread that forwards every packet of a network.

use super::awake::Awake;
use super::capture::CaptureTap;
use super::device::{Device, PREFIX_BYTES};
use super::gateway::packet_filter::PacketFilter;
use super::lateness::percentiles_of_sum;
use super::link_direction::LinkDirection;
use super::packets::{Buffers, Packet, Segment};
use super::segmentation::{Frame, Joined};
use super::waiting::{Looking, Waiting};
use link::LinkDescription;
use model::{Direction, LinkOutcome, PerDirection, PerSide, Side, Timestamp};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;
use sys::clock::Clock;
use sys::poller::Waker;
use sys::{LiveError, OsError};

#[derive(Debug)]
pub(super) enum Order {
    AddLink(Box<LinkSetup>),
    Change(usize, LinkDescription),
    /// Returns the previous tap.
    Capture(usize, Option<CaptureTap>, SyncSender<Option<CaptureTap>>),
    Outcome(usize, SyncSender<Option<LinkOutcome>>),
    /// Filters packets that arrive at the link's `b` side.
    PacketFilter(usize, PacketFilter),
    /// Treats the packet as sent by the host at the link's `b` side.
    Answer(usize, Vec<u8>),
    Stop,
    KeepAwake,
    /// The machine's part of the requested delay in one direction.
    Handling(Duration),
    /// As `Handling`, for TCP on one link with a gateway.
    GatewayHandling(usize, Duration),
}

#[derive(Debug)]
pub(super) struct LinkSetup {
    pub(super) name: String,
    pub(super) link: LinkDescription,
    pub(super) devices: PerSide<Arc<Device>>,
}

/// The thread takes all pending orders each time it wakes, and further senders block.
const MAX_ORDERS: usize = 1024;

#[derive(Debug)]
pub(super) struct Forwarder {
    orders: Orders,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Clone)]
pub(super) struct Orders {
    sender: SyncSender<Order>,
    waker: Arc<Waker>,
}

impl Orders {
    pub(super) fn give(&self, order: Order) {
        self.sender.send(order).ok();
        self.waker.wake();
    }
}

impl Forwarder {
    pub(super) fn start() -> Result<Self, LiveError> {
        let waker = Arc::new(Waker::new()?);
        let heard = Arc::clone(&waker);
        let (orders, received) = sync_channel(MAX_ORDERS);
        let thread = std::thread::Builder::new()
            .name("longwire link".to_owned())
            .spawn(move || Work::new(received, heard).run())
            .map_err(|error| LiveError::System {
                operation: "start a thread",
                reason: OsError::from_io_error(&error),
            })?;
        Ok(Self {
            orders: Orders {
                sender: orders,
                waker,
            },
            thread: Some(thread),
        })
    }

    pub(super) fn order(&self, order: Order) {
        self.orders.give(order);
    }

    pub(super) fn orders(&self) -> Orders {
        self.orders.clone()
    }
}

impl Drop for Forwarder {
    fn drop(&mut self) {
        self.order(Order::Stop);
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

struct LinkWork {
    name: String,
    link: LinkDescription,
    devices: PerSide<Arc<Device>>,
    lanes: PerDirection<LinkDirection>,
    tap: Option<CaptureTap>,
    packet_filter: Option<PacketFilter>,
    tcp_handling: Option<Duration>,
}

struct Work {
    clock: Clock,
    orders: Receiver<Order>,
    waker: Arc<Waker>,
    links: Vec<LinkWork>,
    waiting: Waiting,
    looking: Looking,
    awake: Option<Awake>,
    last_on_link: Timestamp,
    buffers: Buffers,
    joined: Joined,
    handling: Duration,
    room: Box<[u8]>,
}

impl Work {
    fn new(orders: Receiver<Order>, waker: Arc<Waker>) -> Self {
        let mut waiting = Waiting::default();
        waiting.add(Arc::<Waker>::clone(&waker));
        Self {
            clock: Clock::anchored_now(),
            orders,
            waker,
            links: Vec::new(),
            waiting,
            looking: Looking::default(),
            awake: None,
            last_on_link: Timestamp::default(),
            buffers: Buffers::default(),
            joined: Joined::default(),
            handling: Duration::ZERO,
            room: vec![0; MAX_PACKET_BYTES].into(),
        }
    }

    fn run(&mut self) {
        sys::signals::block_all_signals();
        sys::realtime::become_realtime();
        loop {
            if self.waiting.is_ready(0) && !self.take_orders() {
                return;
            }
            for number in 0..self.links.len() {
                for side in Side::ALL {
                    // The waker is number 0, followed by two devices per link.
                    if self.waiting.is_ready(1 + number * 2 + side as usize) {
                        self.read_device(number, side);
                    }
                }
            }
            let next = self.deliver();
            let now = self.clock.now();
            if let Some(due) = next {
                let rested = now.since(std::mem::replace(&mut self.last_on_link, now));
                if let Some(awake) = &self.awake
                    && rested.max(due.since(now)) >= LONG_ENOUGH_TO_SLEEP
                {
                    awake.until(due);
                }
            }
            let longest = self.looking.until(next, now);
            self.waiting.wait(longest);
        }
    }

    /// Returns whether to continue.
    fn take_orders(&mut self) -> bool {
        self.waker.reset();
        loop {
            match self.orders.try_recv() {
                Ok(Order::Stop) | Err(TryRecvError::Disconnected) => return false,
                Ok(order) => self.follow(order),
                Err(TryRecvError::Empty) => return true,
            }
        }
    }

    fn follow(&mut self, order: Order) {
        match order {
            Order::AddLink(setup) => {
                for device in &setup.devices {
                    self.waiting.add(Arc::<Device>::clone(device));
                }
                self.links.push(LinkWork::new(*setup));
            }
            Order::Change(number, link) => {
                if let Some(work) = self.links.get_mut(number) {
                    work.change(link);
                }
            }
            Order::Capture(number, tap, reply) => {
                let work = self.links.get_mut(number);
                let before = work.and_then(|work| std::mem::replace(&mut work.tap, tap));
                reply.send(before).ok();
            }
            Order::Outcome(number, reply) => {
                reply.send(self.links.get(number).map(LinkWork::outcome)).ok();
            }
            // Without these threads delays include wake-ups, and the self-check shows it.
            Order::KeepAwake => {
                self.awake = Awake::start(self.clock).ok();
                // The floor is measured next, under the later conditions.
                if let Some(awake) = &self.awake {
                    awake.until(self.clock.now().after(WHILE_MEASURING));
                }
            }
            Order::Handling(span) => self.handling = span,
            Order::GatewayHandling(number, span) => {
                if let Some(work) = self.links.get_mut(number) {
                    work.tcp_handling = Some(span);
                }
            }
            Order::PacketFilter(number, packet_filter) => {
                if let Some(work) = self.links.get_mut(number) {
                    work.packet_filter = Some(packet_filter);
                }
            }
            Order::Answer(number, packet) => {
                if let Some(work) = self.links.get_mut(number) {
                    let now = self.clock.now();
                    let lane = &mut work.lanes[Direction::ServerToClient];
                    let at = lane.not_before_last(now);
                    lane.accept(at, now, Segment::whole(&packet), &mut self.buffers);
                }
            }
            Order::Stop => {}
        }
    }

    /// Reads at most a batch of a host's packets, so that others are served too.
    fn read_device(&mut self, number: usize, side: Side) {
        let work = &mut self.links[number];
        let mut taken = 0;
        while taken < BATCH {
            let Some(mut frame) = work.devices[side].read(&mut self.room).and_then(Frame::new) else {
                return;
            };
            while let Some(segment) = frame.next_segment() {
                let now = self.clock.now();
                let handling = work.handling_of(segment.bytes).unwrap_or(self.handling);
                let at = work.lanes[side.sends()].not_before_last(now.before(handling));
                if side == Side::Client
                    && let Some(tap) = &mut work.tap
                {
                    // Not `at`, which may lie before the packet that this one answers.
                    tap.packet(now, segment.bytes);
                }
                work.lanes[side.sends()].accept(at, now, segment, &mut self.buffers);
                taken += 1;
            }
        }
    }

    /// Returns when the next packet is due.
    fn deliver(&mut self) -> Option<Timestamp> {
        let mut next: Option<Timestamp> = None;
        for work in &mut self.links {
            for direction in Direction::ALL {
                loop {
                    let packet = work.release(direction, self.clock.now(), &mut self.buffers);
                    if packet.as_ref().is_none_or(|packet| !self.joined.takes(packet)) {
                        if self.joined.is_empty() {
                            break;
                        }
                        let refused = self
                            .joined
                            .hand_over(&work.devices[direction.receiver()], &mut self.buffers);
                        work.lanes[direction].refused(refused);
                    }
                    if let Some(packet) = packet {
                        self.joined.add(packet);
                    }
                }
                let due = work.lanes[direction].next_due();
                next = [next, due].into_iter().flatten().min();
            }
        }
        next
    }
}

impl LinkWork {
    fn new(setup: LinkSetup) -> Self {
        let LinkSetup { name, link, devices } = setup;
        Self {
            name,
            link,
            devices,
            lanes: PerDirection::from_fn(|direction| LinkDirection::new(&link, direction)),
            tap: None,
            packet_filter: None,
            tcp_handling: None,
        }
    }

    fn release(&mut self, direction: Direction, now: Timestamp, buffers: &mut Buffers) -> Option<Packet> {
        loop {
            let packet = self.lanes[direction].release(now)?;
            if direction == Direction::ServerToClient {
                if let Some(tap) = &mut self.tap {
                    tap.packet(now, &packet.bytes);
                }
                return Some(packet);
            }
            match &self.packet_filter {
                Some(filter) if !filter.passes(&packet.bytes) => buffers.give_back(packet),
                Some(_) | None => return Some(packet),
            }
        }
    }

    fn handling_of(&self, packet: &[u8]) -> Option<Duration> {
        self.tcp_handling.filter(|_| packet.get(PROTOCOL) == Some(&TCP))
    }

    fn change(&mut self, link: LinkDescription) {
        self.link = link;
        for lane in &mut self.lanes {
            lane.change(&link);
        }
    }

    fn outcome(&self) -> LinkOutcome {
        let [there, back] = Direction::ALL.map(|direction| self.lanes[direction].lateness());
        let late = percentiles_of_sum(there, back, [50.0, 99.0]);
        let enough = there.count().min(back.count());
        let signed = |nanoseconds: u64| i64::try_from(nanoseconds).unwrap_or(i64::MAX);
        LinkOutcome {
            name: self.name.clone(),
            asked: self.link.to_string(),
            rtt: self.link.rtt,
            rtt_error_p50_ns: late.map(|late| signed(late[0])),
            rtt_error_p99_ns: late
                .filter(|_| enough >= ENOUGH_FOR_P99)
                .map(|late| signed(late[1])),
            directions: PerDirection::from_fn(|direction| self.lanes[direction].outcome()),
            floor: None,
        }
    }
}

/// Offset of IPv4's protocol, and its value for TCP (RFC 791, RFC 9293).
const PROTOCOL: usize = 9;
const TCP: u8 = 6;

/// The maximum of one read, also of several packets joined.
const MAX_PACKET_BYTES: usize = PREFIX_BYTES + 65_536;

const WHILE_MEASURING: Duration = Duration::from_millis(500);

/// Processors wake fast from shorter rests, and on busy links the threads that keep them awake
/// would be in the hosts' way.
const LONG_ENOUGH_TO_SLEEP: Duration = Duration::from_millis(1);

const BATCH: usize = 32;

/// Ten samples beyond the percentile.
const ENOUGH_FOR_P99: u64 = 1000;
