//! A relay that holds each reply back for a time that can change while connections are open, so
//! that both sides rest longer between messages.
//!
//! It shows each side to observers of its own, by the times at that side: a request reaches the
//! server later than it left the client. So computing times of both are exact, and neither the
//! relay nor the delay is in them. A thread carries each direction. One that holds a reply back
//! polls at the end, because a late wake-up would count as the client's.

use crate::connection::endpoint;
use crate::{ConnectionNumbers, READ_LIMIT};
use model::{
    Closing, ConnectionEvent, ConnectionId, ConnectionTotals, Direction, Observer, ObserverFactory,
    PerDirection, PerSide, Segment, Timestamp,
};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle, Scope};
use std::time::Duration;
use sys::clock::WallOffset;
use sys::socket::{Received, Sent, Socket};
use sys::wait::PollFlags;
use sys::{Clock, LiveError, OsError, StopToken, Target, TlsSettings, listening, resolve, threads};

#[derive(Debug)]
pub struct SpacingRelay {
    address: SocketAddr,
    shared: Arc<Shared>,
    thread: JoinHandle<()>,
}

struct Shared {
    target: Target,
    addresses: Vec<SocketAddr>,
    clock: Clock,
    observers: PerSide<Arc<dyn ObserverFactory>>,
    numbers: ConnectionNumbers,
    delay_nanos: AtomicU64,
    stop: StopToken,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Shared")
            .field("target", &self.target)
            .finish_non_exhaustive()
    }
}

impl SpacingRelay {
    /// Listens on a free port of loopback.
    ///
    /// # Errors
    /// If the target's host has no address or insists on TLS, or the system refuses a socket or a
    /// thread.
    pub fn start(
        target: Target,
        clock: Clock,
        observers: PerSide<Arc<dyn ObserverFactory>>,
    ) -> Result<Self, LiveError> {
        if TlsSettings::from_target(&target)?.mode.insists() {
            return Err(LiveError::TlsThroughLink);
        }
        let refused = |error: std::io::Error| LiveError::System {
            operation: "listen on loopback",
            reason: OsError::from_io_error(&error),
        };
        let listener = listening::on_loopback().map_err(refused)?;
        listener.set_nonblocking(true).map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        let shared = Arc::new(Shared {
            addresses: resolve::addresses(&target)?,
            target,
            clock,
            observers,
            numbers: ConnectionNumbers::default(),
            delay_nanos: AtomicU64::new(0),
            stop: StopToken::new()?,
        });
        let accepting = shared.clone();
        let thread = threads::spawn("spacing".to_owned(), move || accepting.accept_all(&listener))?;
        Ok(Self {
            address,
            shared,
            thread,
        })
    }

    pub const fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// How long replies are held back that arrive from now on.
    pub fn hold_back(&self, delay: Duration) {
        let nanos = u64::try_from(delay.as_nanos()).unwrap_or(u64::MAX);
        self.shared.delay_nanos.store(nanos, Ordering::Release);
    }

    /// Closes all connections; the observers have had their last event when this returns.
    pub fn stop(self) {
        self.shared.stop.stop();
        // A thread panics only if an observer is defective.
        self.thread.join().ok();
    }
}

impl Shared {
    fn accept_all(&self, listener: &TcpListener) {
        std::thread::scope(|scope| {
            while !self.stop.is_stopped() {
                self.stop.until_ready(listener.as_fd(), PollFlags::IN, WAIT_LIMIT);
                match listener.accept() {
                    Ok((client, _)) => {
                        spawn(scope, move || self.connect(client, scope));
                    }
                    Err(_) => {
                        self.stop.wait_timeout(ACCEPT_PAUSE);
                    }
                }
            }
        });
    }

    /// Without a server, the client sees its connection end.
    fn connect<'scope>(&'scope self, client: TcpStream, scope: &'scope Scope<'scope, '_>) {
        let Ok(server) = resolve::connect(&self.target, &self.addresses, CONNECT_LIMIT) else {
            return;
        };
        let at = self.clock.now();
        let (Ok(from), Ok(to)) = (client.peer_addr(), server.peer_addr()) else {
            return;
        };
        let (Ok(client), Ok(server)) = (Socket::adopt(client), Socket::adopt(server)) else {
            return;
        };
        let id = self.numbers.next();
        let views = PerSide::from_fn(|side| {
            let mut view = View {
                id,
                observer: self.observers[side].observe(id),
                last: at,
                bytes: PerDirection::default(),
            };
            view.observer.event(
                id,
                ConnectionEvent::Opened {
                    at,
                    client: endpoint(from),
                    server: endpoint(to),
                    sides_certain: true,
                },
            );
            view
        });
        let open = Arc::new(Open {
            sockets: PerSide::new(client, server),
            views: Mutex::new(views),
        });
        let other = open.clone();
        if spawn(scope, move || self.carry(Direction::ServerToClient, &other)) {
            self.carry(Direction::ClientToServer, &open);
        }
    }

    fn carry(&self, direction: Direction, open: &Open) {
        let mut buffer = vec![0; READ_LIMIT];
        let source = &open.sockets[direction.sender()];
        let sink = &open.sockets[direction.receiver()];
        while !self.stop.is_stopped() {
            if !self
                .stop
                .until_ready(source.stream().as_fd(), PollFlags::IN, WAIT_LIMIT)
            {
                continue;
            }
            match source.receive(&mut buffer) {
                Received::Bytes { count, stamp, .. } => {
                    let now = self.clock.now();
                    let stamped = stamp.map(|stamp| self.clock.to_timestamp(stamp, WallOffset::now()));
                    let arrived = stamped.map_or(now, |at| at.min(now));
                    let bytes = buffer.get(..count).unwrap_or_default();
                    if !self.pass_on(direction, open, bytes, arrived) {
                        break;
                    }
                }
                Received::Nothing => {}
                Received::End | Received::Broken(_) => break,
            }
        }
        sink.finish();
    }

    /// Returns false if the receiver is gone.
    fn pass_on(&self, direction: Direction, open: &Open, bytes: &[u8], arrived: Timestamp) -> bool {
        open.views()[direction.sender()].show(direction, arrived, bytes);
        if direction == Direction::ServerToClient {
            let delay = Duration::from_nanos(self.delay_nanos.load(Ordering::Acquire));
            self.wait_until(arrived.after(delay));
        }
        self.send(direction, open, bytes) && !self.stop.is_stopped()
    }

    fn wait_until(&self, due: Timestamp) {
        let left = due.since(self.clock.now());
        if left > POLLED {
            self.stop.wait_timeout(left - POLLED);
        }
        while self.clock.now() < due && !self.stop.is_stopped() {
            std::hint::spin_loop();
        }
    }

    fn send(&self, direction: Direction, open: &Open, mut bytes: &[u8]) -> bool {
        let sink = &open.sockets[direction.receiver()];
        while !bytes.is_empty() {
            match self.send_some(direction, open, bytes) {
                Sent::Bytes(0) if self.stop.is_stopped() => return false,
                Sent::Bytes(0) => {
                    self.stop
                        .until_ready(sink.stream().as_fd(), PollFlags::OUT, WAIT_LIMIT);
                }
                Sent::Bytes(count) => bytes = bytes.get(count..).unwrap_or_default(),
                Sent::Broken(_) => return false,
            }
        }
        true
    }

    /// Locked, so that the other thread does not show the answer first.
    fn send_some(&self, direction: Direction, open: &Open, bytes: &[u8]) -> Sent {
        let mut views = open.views();
        // Before sending: the receiver may run at once, on this processor.
        let now = self.clock.now();
        let sent = open.sockets[direction.receiver()].send(bytes);
        if let Sent::Bytes(count @ 1..) = sent {
            let passed = bytes.get(..count).unwrap_or_default();
            views[direction.receiver()].show(direction, now, passed);
        }
        sent
    }
}

/// Returns false if the system refuses a thread; its connection is dropped.
fn spawn<'scope>(scope: &'scope Scope<'scope, '_>, work: impl FnOnce() + Send + 'scope) -> bool {
    Builder::new().spawn_scoped(scope, work).is_ok()
}

struct Open {
    sockets: PerSide<Socket>,
    views: Mutex<PerSide<View>>,
}

impl Open {
    fn views(&self) -> MutexGuard<'_, PerSide<View>> {
        self.views.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection as one side's observer sees it.
struct View {
    id: ConnectionId,
    observer: Box<dyn Observer + Send>,
    last: Timestamp,
    bytes: PerDirection<u64>,
}

impl View {
    fn show(&mut self, direction: Direction, at: Timestamp, payload: &[u8]) {
        self.last = self.last.max(at);
        self.bytes[direction] += payload.len() as u64;
        let segment = Segment {
            direction,
            at: self.last,
            payload,
            unseen: 0,
            is_gap: false,
            sender_idle: None,
        };
        self.observer.event(self.id, ConnectionEvent::Segment(segment));
    }
}

impl Drop for View {
    fn drop(&mut self) {
        let totals = ConnectionTotals {
            payload_bytes: self.bytes,
            packets: None,
            wire_bytes: None,
            retransmitted_packets: None,
            unseen_bytes: PerDirection::default(),
            seen: PerDirection::splat(true),
        };
        let closed = ConnectionEvent::Closed {
            at: self.last,
            how: Closing::Finished,
            totals,
        };
        self.observer.event(self.id, closed);
    }
}

/// A timer of Linux is late by up to this on an idle machine.
const POLLED: Duration = Duration::from_micros(300);
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// A stop ends each wait.
const WAIT_LIMIT: Duration = Duration::from_secs(3600);
/// After an error, such as too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);
