//! Connects outside, releases held SYNs, accepts, and copies.

use super::answers;
use super::names::{self, Asked, NameService};
use super::packet_filter::{Meaning, NAME_SERVICE};
use super::pair::{Copied, Pair};
use super::{Forward, Site};
use crate::network::forwarder::Order;
use std::collections::{HashMap, HashSet, VecDeque};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, TcpListener};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};
use sys::listening;
use sys::poller::{Poller, ReadyList, Waker};
use sys::socket::Socket;
use sys::{LiveError, OsError};

pub(super) struct GatewayLoop {
    site: Site,
    resolver: SocketAddr,
    own_address: Option<IpAddr>,
    held: Receiver<Vec<u8>>,
    over: Arc<AtomicBool>,
    poller: Poller,
    entries: Vec<Option<Entry>>,
    free: Vec<usize>,
    openings: HashMap<(SocketAddrV4, SocketAddrV4), usize>,
    listening: HashSet<SocketAddrV4>,
    services: HashSet<SocketAddrV4>,
    /// Pairs with bytes left after their share.
    unfinished: Vec<usize>,
}

enum Entry {
    Listener(TcpListener),
    PendingConnection(PendingConnection),
    Pair(Box<Pair>),
    NameService(NameService),
    Asked(Asked),
}

struct PendingConnection {
    client: SocketAddrV4,
    server: SocketAddrV4,
    sequence: u32,
    packet: Vec<u8>,
    socket: Socket,
    others: VecDeque<SocketAddr>,
    /// Connected, and the SYN was released.
    passed: bool,
    since: Instant,
}

impl GatewayLoop {
    pub(super) fn new(
        site: Site,
        held: Receiver<Vec<u8>>,
        waker: &Waker,
        over: Arc<AtomicBool>,
    ) -> Result<Self, LiveError> {
        let poller = Poller::new()?;
        poller.register_waker(waker, BELL)?;
        Ok(Self {
            site,
            resolver: names::system_resolver(),
            own_address: own_address(),
            held,
            over,
            poller,
            entries: Vec::new(),
            free: Vec::new(),
            openings: HashMap::new(),
            listening: HashSet::new(),
            services: HashSet::new(),
            unfinished: Vec::new(),
        })
    }

    pub(super) fn run(&mut self) {
        sys::signals::block_all_signals();
        sys::realtime::become_realtime();
        let mut ready = ReadyList::default();
        let mut swept = Instant::now();
        while !self.over.load(Ordering::Acquire) {
            let longest = if self.unfinished.is_empty() {
                SWEEP
            } else {
                Duration::ZERO
            };
            self.poller.wait(&mut ready, Some(longest));
            for number in std::mem::take(&mut self.unfinished) {
                self.attend(number);
            }
            for event in ready.iter() {
                match usize::try_from(event.token) {
                    _ if event.token == BELL => self.take_held(),
                    Ok(number) => self.attend(number),
                    Err(_) => {}
                }
            }
            if swept.elapsed() >= SWEEP {
                swept = Instant::now();
                self.sweep();
            }
        }
    }

    fn take_held(&mut self) {
        while let Ok(packet) = self.held.try_recv() {
            match Meaning::parse(&packet) {
                Some(Meaning::PendingConnection {
                    client,
                    server,
                    sequence,
                }) => self.open(client, server, sequence, packet),
                Some(Meaning::Name { server }) => {
                    self.serve_names(server);
                    self.site.device.write(&packet).ok();
                }
                Some(Meaning::Echo { .. }) | None => {}
            }
        }
    }

    fn open(&mut self, client: SocketAddrV4, server: SocketAddrV4, sequence: u32, packet: Vec<u8>) {
        if let Some(number) = self.openings.get(&(client, server)) {
            // A retransmission: it is released again if the first was.
            if let Some(Some(Entry::PendingConnection(opening))) = self.entries.get(*number)
                && opening.passed
            {
                self.site.device.write(&packet).ok();
            }
            return;
        }
        let mut others = self.destinations(server);
        match reach(&mut others) {
            Ok(socket) => {
                let opening = PendingConnection {
                    client,
                    server,
                    sequence,
                    packet,
                    socket,
                    others,
                    passed: false,
                    since: Instant::now(),
                };
                let number = self.add(Entry::PendingConnection(opening));
                self.openings.insert((client, server), number);
            }
            Err(reason) => self.decline(reason, client, server, sequence, &packet),
        }
    }

    /// In order of trying.
    fn destinations(&self, server: SocketAddrV4) -> VecDeque<SocketAddr> {
        let here = |port: u16| -> [SocketAddr; 2] {
            [
                (Ipv4Addr::LOCALHOST, port).into(),
                (Ipv6Addr::LOCALHOST, port).into(),
            ]
        };
        if *server.ip() == Ipv4Addr::LOCALHOST {
            let named = |forward: &&Forward| forward.inside == server.port();
            let forward = self.site.forwards.iter().find(named);
            return forward
                .map(|forward| here(forward.outside).into())
                .unwrap_or_default();
        }
        if *server.ip() == self.site.address {
            if server.port() == NAME_SERVICE {
                return [self.resolver].into();
            }
            let own = self.own_address.map(|address| (address, server.port()).into());
            return here(server.port()).into_iter().chain(own).collect();
        }
        [server.into()].into()
    }

    fn decline(
        &self,
        reason: OsError,
        client: SocketAddrV4,
        server: SocketAddrV4,
        sequence: u32,
        packet: &[u8],
    ) {
        let answer = match reason {
            // A timeout outside stays a timeout inside.
            OsError(libc::ETIMEDOUT) => return,
            OsError(libc::ENETUNREACH | libc::EHOSTUNREACH | libc::EACCES | libc::EPERM) => {
                answers::unreachable(self.site.address, *client.ip(), packet)
            }
            _ => answers::refusal(client, server, sequence),
        };
        self.site.orders.give(Order::Answer(self.site.link, answer));
    }

    /// A stale number is harmless, since every entry can be continued at any time.
    fn attend(&mut self, number: usize) {
        match self.entries.get_mut(number).and_then(Option::take) {
            None => {}
            Some(Entry::PendingConnection(opening)) => self.go_on(number, opening),
            Some(Entry::Pair(pair)) => self.copy(number, pair),
            Some(Entry::Listener(listener)) => {
                while let Ok((stream, client)) = listener.accept() {
                    self.accepted(stream, client);
                }
                self.entries[number] = Some(Entry::Listener(listener));
            }
            Some(Entry::NameService(service)) => {
                self.carry_questions(number, &service);
                self.entries[number] = Some(Entry::NameService(service));
            }
            Some(Entry::Asked(asked)) => self.carry_answer(number, asked),
        }
    }

    fn go_on(&mut self, number: usize, mut opening: PendingConnection) {
        let mut failed = None;
        if !opening.passed {
            match opening.socket.connected() {
                Ok(true) => match self.listen(opening.server) {
                    Ok(()) => {
                        opening.passed = self.site.device.write(&opening.packet).is_ok();
                    }
                    Err(reason) => failed = Some(reason),
                },
                Ok(false) => {}
                Err(reason) => match reach(&mut opening.others) {
                    Ok(socket) => {
                        opening.socket = socket;
                        failed = self.watch(opening.socket.as_fd(), number).err();
                    }
                    Err(OsError(libc::ENOENT)) => failed = Some(reason),
                    Err(last) => failed = Some(last),
                },
            }
        }
        match failed {
            None => self.entries[number] = Some(Entry::PendingConnection(opening)),
            Some(reason) => {
                let PendingConnection {
                    client,
                    server,
                    sequence,
                    packet,
                    ..
                } = opening;
                self.openings.remove(&(client, server));
                self.free.push(number);
                self.decline(reason, client, server, sequence, &packet);
            }
        }
    }

    /// Makes the gateway's kernel accept connections for `server`.
    fn listen(&mut self, server: SocketAddrV4) -> Result<(), OsError> {
        if self.listening.contains(&server) {
            return Ok(());
        }
        let listener = self
            .site
            .namespace
            .within(|| listening::in_namespace(server.into()));
        let listener = listener.map_err(|error| OsError::from_io_error(&error))?;
        listener
            .set_nonblocking(true)
            .map_err(|error| OsError::from_io_error(&error))?;
        self.add(Entry::Listener(listener));
        self.listening.insert(server);
        Ok(())
    }

    fn accepted(&mut self, stream: std::net::TcpStream, client: SocketAddr) {
        let (Ok(SocketAddr::V4(server)), SocketAddr::V4(client)) = (stream.local_addr(), client) else {
            return;
        };
        let Ok(inside) = Socket::adopt(stream) else { return };
        let Some(number) = self.openings.remove(&(client, server)) else {
            // The outside connection is gone.
            inside.reset();
            return;
        };
        let Some(Entry::PendingConnection(opening)) = self.entries.get_mut(number).and_then(Option::take)
        else {
            return;
        };
        // The outside socket is already watched under this number.
        if self.watch(inside.as_fd(), number).is_ok() {
            self.copy(number, Box::new(Pair::new(inside, opening.socket)));
        } else {
            self.free.push(number);
        }
    }

    fn copy(&mut self, number: usize, mut pair: Box<Pair>) {
        match pair.copy() {
            Copied::Over => self.free.push(number),
            Copied::Broken => {
                pair.reset();
                self.free.push(number);
            }
            copied => {
                if copied == Copied::Some {
                    self.unfinished.push(number);
                }
                self.entries[number] = Some(Entry::Pair(pair));
            }
        }
    }

    fn serve_names(&mut self, server: SocketAddrV4) {
        if self.services.len() >= MAX_NAME_SERVICES || !self.services.insert(server) {
            return;
        }
        let socket = self
            .site
            .namespace
            .within(|| listening::datagrams_in_namespace(server.into()));
        if let Ok(socket) = socket
            && socket.set_nonblocking(true).is_ok()
        {
            self.add(Entry::NameService(NameService { socket, server }));
        }
    }

    fn carry_questions(&mut self, number: usize, service: &NameService) {
        let mut room = [0; 4096];
        while let Some((question, client)) = service.question(&mut room) {
            let resolver = if *service.server.ip() == self.site.address {
                self.resolver
            } else {
                service.server.into()
            };
            if self.entries.len() - self.free.len() < MAX_ENTRIES
                && let Ok(asked) = Asked::send_query(question, resolver, client, number)
            {
                self.add(Entry::Asked(asked));
            }
        }
    }

    fn carry_answer(&mut self, number: usize, asked: Asked) {
        let mut room = [0; 65_535];
        match asked.socket.recv(&mut room) {
            Ok(count) => {
                if let Some(Some(Entry::NameService(service))) = self.entries.get(asked.service) {
                    service.socket.send_to(&room[..count], asked.client).ok();
                }
                self.free.push(number);
            }
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock && !asked.is_stale() => {
                self.entries[number] = Some(Entry::Asked(asked));
            }
            Err(_) => self.free.push(number),
        }
    }

    fn sweep(&mut self) {
        for number in 0..self.entries.len() {
            match &self.entries[number] {
                Some(Entry::PendingConnection(opening)) if opening.since.elapsed() > TIMEOUT => {
                    self.openings.remove(&(opening.client, opening.server));
                    self.entries[number] = None;
                    self.free.push(number);
                }
                Some(Entry::Asked(asked)) if asked.is_stale() => {
                    self.entries[number] = None;
                    self.free.push(number);
                }
                _ => {}
            }
        }
    }

    /// If it cannot be watched, the next sweep handles it.
    fn add(&mut self, entry: Entry) -> usize {
        let number = self.free.pop().unwrap_or_else(|| {
            self.entries.push(None);
            self.entries.len() - 1
        });
        let watched = match &entry {
            Entry::Listener(listener) => self.watch(listener.as_fd(), number),
            Entry::PendingConnection(opening) => self.watch(opening.socket.as_fd(), number),
            Entry::NameService(service) => self.watch(service.socket.as_fd(), number),
            Entry::Asked(asked) => self.watch(asked.socket.as_fd(), number),
            Entry::Pair(_) => Ok(()),
        };
        debug_assert!(watched.is_ok(), "{watched:?}");
        self.entries[number] = Some(entry);
        number
    }

    fn watch(&self, fd: BorrowedFd<'_>, number: usize) -> Result<(), OsError> {
        self.poller
            .watch(fd, number as u64)
            .map_err(|_| OsError(libc::ENOMEM))
    }
}

/// Uses the first possible address, "no such file" without one.
fn reach(others: &mut VecDeque<SocketAddr>) -> Result<Socket, OsError> {
    let mut reason = OsError(libc::ENOENT);
    while let Some(address) = others.pop_front() {
        match Socket::connect(&address) {
            Ok(socket) => return Ok(socket),
            Err(failed) => reason = failed,
        }
    }
    Err(reason)
}

/// This system's address on its default route, found without sending.
fn own_address() -> Option<IpAddr> {
    // 192.0.2.0/24 belongs to no network (RFC 5737).
    let nobody = SocketAddr::from((Ipv4Addr::new(192, 0, 2, 1), 9));
    let socket = listening::datagrams_with(nobody).ok()?;
    socket.local_addr().ok().map(|address| address.ip())
}

const BELL: u64 = u64::MAX;
const SWEEP: Duration = Duration::from_secs(1);
/// For connecting outside, then for the inside connection to be accepted.
const TIMEOUT: Duration = Duration::from_secs(60);
const MAX_NAME_SERVICES: usize = 64;
const MAX_ENTRIES: usize = 65_536;
