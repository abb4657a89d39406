//! The thread through which every packet of a network goes.

use super::awake::Awake;
use super::capture::CaptureTap;
use super::device::Device;
use super::gateway::packet_filter::PacketFilter;
use super::lateness::percentiles_of_sum;
use super::link_direction::LinkDirection;
use super::packets::{Buffers, Packet};
use super::segmentation::{Joined, PREFIX_BYTES, Segment};
use super::waiting::{Looking, Waiting};
use link::LinkDescription;
use model::{Direction, LinkOutcome, Timestamp};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;
use sys::clock::Clock;
use sys::poller::Waker;
use sys::{LiveError, OsError};

/// What the forwarder is told to do. Answers go through the channels given.
#[derive(Debug)]
pub(super) enum Order {
    /// Forward over one more link; it gets the next number, from 0.
    AddLink(Box<LinkSetup>),
    /// The link with this number is like this from now on.
    Change(usize, LinkDescription),
    /// Capture the link into the tap, or no more; the tap until now is handed back.
    Capture(usize, Option<CaptureTap>, SyncSender<Option<CaptureTap>>),
    /// Tell of the link.
    Outcome(usize, SyncSender<Option<LinkOutcome>>),
    /// Packets that arrive at the link's `b` side pass this packet filter first.
    PacketFilter(usize, PacketFilter),
    /// Take the packet as sent by the host at the link's `b` side.
    Answer(usize, Vec<u8>),
    /// End.
    Stop,
    /// Keep the processors awake while packets are on a link.
    KeepAwake,
    /// What the machine adds to one way is part of the delay requested.
    Handling(Duration),
    /// The same for TCP on one link, whose connections a gateway relays besides.
    GatewayHandling(usize, Duration),
}

/// A link to be.
#[derive(Debug)]
pub(super) struct LinkSetup {
    pub(super) name: String,
    pub(super) link: LinkDescription,
    pub(super) devices: [Arc<Device>; 2],
}

/// Orders that wait. The thread takes all of them each time that it wakes; who gives one more waits for it.
const MAX_ORDERS: usize = 1024;

/// The forwarding thread, seen from outside; ends when dropped.
#[derive(Debug)]
pub(super) struct Forwarder {
    orders: Orders,
    thread: Option<JoinHandle<()>>,
}

/// The way to tell the forwarding thread what to do.
#[derive(Debug, Clone)]
pub(super) struct Orders {
    sender: SyncSender<Order>,
    waker: Arc<Waker>,
}

impl Orders {
    /// Tells it. Nothing happens when the thread has ended.
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

    /// For other threads.
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

/// One link on the forwarder's thread.
struct LinkWork {
    name: String,
    link: LinkDescription,
    devices: [Arc<Device>; 2],
    lanes: [LinkDirection; 2],
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
    /// When a packet was on any link last.
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
            room: vec![0; LARGEST_PACKET].into(),
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
                for side in 0..2 {
                    // The waker is number 0, then come the devices, two a link.
                    if self.waiting.is_ready(1 + number * 2 + side) {
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

    /// Does what was ordered; says whether to go on.
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
            // Without such threads the machine is as it is, and the self-check shows it.
            Order::KeepAwake => {
                self.awake = Awake::start(self.clock).ok();
                // What the machine adds is measured next, and must be what it will add.
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
                    let at = work.lanes[SERVER].not_before_last(now);
                    work.lanes[SERVER].accept(at, now, Segment::whole(&packet), &mut self.buffers);
                }
            }
            Order::Stop => {}
        }
    }

    /// Takes what a host has sent, but no more than a batch: the others are served in between.
    fn read_device(&mut self, number: usize, side: usize) {
        let work = &mut self.links[number];
        let mut taken = 0;
        while taken < BATCH {
            let Some(mut frame) = work.devices[side].read_frame(&mut self.room) else {
                return;
            };
            while let Some(segment) = frame.next_segment() {
                let now = self.clock.now();
                let handling = work.handling_of(segment.bytes).unwrap_or(self.handling);
                let at = work.lanes[side].not_before_last(now.before(handling));
                if side == CLIENT
                    && let Some(tap) = &mut work.tap
                {
                    // Not `at`, which may lie before the packet that this one answers.
                    tap.packet(now, segment.bytes);
                }
                work.lanes[side].accept(at, now, segment, &mut self.buffers);
                taken += 1;
            }
        }
    }

    /// Hands over every packet that is due; returns when the next one is.
    fn deliver(&mut self) -> Option<Timestamp> {
        let mut next: Option<Timestamp> = None;
        for work in &mut self.links {
            for side in 0..2 {
                loop {
                    let packet = work.release(side, self.clock.now(), &mut self.buffers);
                    if packet.as_ref().is_none_or(|packet| !self.joined.takes(packet)) {
                        if self.joined.is_empty() {
                            break;
                        }
                        let refused = self.joined.hand_over(&work.devices[1 - side], &mut self.buffers);
                        work.lanes[side].refused(refused);
                    }
                    if let Some(packet) = packet {
                        self.joined.add(packet);
                    }
                }
                let due = work.lanes[side].next_due();
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
            lanes: [Direction::ClientToServer, Direction::ServerToClient]
                .map(|direction| LinkDirection::new(&link, direction)),
            tap: None,
            packet_filter: None,
            tcp_handling: None,
        }
    }

    /// The next packet that is due at `now` and that the host on the other side is to have.
    fn release(&mut self, side: usize, now: Timestamp, buffers: &mut Buffers) -> Option<Packet> {
        loop {
            let packet = self.lanes[side].release(now)?;
            if side == SERVER {
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

    /// What the machine adds to one way of this packet, where that differs from others.
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
        let [there, back] = [0, 1].map(|side: usize| self.lanes[side].lateness());
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
            directions: [0, 1].map(|side: usize| self.lanes[side].outcome()),
            floor: None,
        }
    }
}

const CLIENT: usize = 0;
const SERVER: usize = 1;

/// Where IPv4 has its protocol, and which one TCP is (RFC 791, RFC 9293).
const PROTOCOL: usize = 9;
const TCP: u8 = 6;

/// A TUN device hands over one packet a read, of 65,535 bytes at most, or several as one that is no larger.
const LARGEST_PACKET: usize = PREFIX_BYTES + 65_536;

/// Longer than it takes to measure floor and gateway.
const WHILE_MEASURING: Duration = Duration::from_millis(500);

/// A processor that rests for less is soon itself again; and where packets are due all the time hosts are
/// busy, and threads that keep processors awake would be in their way.
const LONG_ENOUGH_TO_SLEEP: Duration = Duration::from_millis(1);

/// Packets read from one device before the others are inspected.
const BATCH: usize = 32;

/// As everywhere: ten samples beyond a percentile.
const ENOUGH_FOR_P99: u64 = 1000;
