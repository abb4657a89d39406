//! The handle of a proxy's thread.

use crate::error::ApiError;
use crate::event_loop::EventLoop;
use crate::route::{Route, comes_back};
use crate::toxics::Toxic;
use model::{PerDirection, PerSide};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;
use sys::error::LiveError;
use sys::listening::{BoundListener, ClientSide, ListeningService, bind};
use sys::poller::Waker;
use sys::socket::Socket;
use sys::threads::spawn;

pub(crate) enum Command {
    Open(PerSide<Socket>),
    /// No connection to the upstream; the client is already closed.
    Unreachable,
    Add(Toxic),
    Change(Toxic),
    Remove(String),
    /// Answer after all earlier commands.
    Confirm(mpsc::SyncSender<()>),
    Stop,
}

/// Commands to a proxy's thread.
#[derive(Debug)]
pub(crate) struct Mailbox {
    waker: Waker,
    commands: Mutex<Vec<Command>>,
}

impl std::fmt::Debug for Command {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Command")
    }
}

impl Mailbox {
    fn new() -> Result<Self, LiveError> {
        Ok(Self {
            waker: Waker::new()?,
            commands: Mutex::default(),
        })
    }

    pub(crate) fn send(&self, command: Command) {
        let mut commands = self.commands.lock().unwrap_or_else(PoisonError::into_inner);
        commands.push(command);
        self.waker.wake();
    }

    pub(crate) fn take_commands(&self) -> Vec<Command> {
        self.waker.reset();
        std::mem::take(&mut *self.commands.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn waker(&self) -> &Waker {
        &self.waker
    }
}

/// Totals of all proxies, including removed ones.
#[derive(Debug, Default)]
pub struct ProxyCounters {
    connections: AtomicU64,
    failed: AtomicU64,
    payload_bytes: PerDirection<AtomicU64>,
}

impl ProxyCounters {
    /// Connections with a reached upstream.
    pub fn connections(&self) -> u64 {
        self.connections.load(Ordering::Relaxed)
    }

    /// Clients closed for lack of an upstream.
    pub fn failed(&self) -> u64 {
        self.failed.load(Ordering::Relaxed)
    }

    /// Forwarded payload bytes, to the server and to the client. Excludes bytes dropped by toxics.
    pub fn payload_bytes(&self) -> PerDirection<u64> {
        PerDirection::from_fn(|direction| self.payload_bytes[direction].load(Ordering::Relaxed))
    }

    pub(crate) fn opened(&self) {
        self.connections.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn unreachable(&self) {
        self.failed.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn passed_on(&self, bytes: PerDirection<u64>) {
        for (counter, bytes) in self.payload_bytes.iter().zip(bytes) {
            counter.fetch_add(bytes, Ordering::Relaxed);
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Common {
    pub(crate) seed: u64,
    pub(crate) held_bytes: Arc<AtomicUsize>,
    pub(crate) counters: Arc<ProxyCounters>,
}

#[derive(Debug, Clone)]
pub(crate) struct ProxyPlan {
    pub(crate) upstream: String,
    pub(crate) toxics: Vec<Toxic>,
    pub(crate) common: Common,
}

/// On drop, closes the listening socket and all connections.
#[derive(Debug)]
pub(crate) struct RunningProxy {
    local_address: SocketAddr,
    mailbox: Arc<Mailbox>,
    thread: Option<JoinHandle<()>>,
}

impl RunningProxy {
    /// It is listening on return. `routes` are the other enabled proxies.
    pub(crate) fn start(address: SocketAddr, plan: ProxyPlan, routes: &[Route]) -> Result<Self, ApiError> {
        let upstream = &plan.upstream;
        let service = ListeningService {
            name: &format!("the proxy to {upstream}"),
            exposes: &format!("connect to {upstream} through it"),
            clients: ClientSide::AsClientsLike,
        };
        let bound = bind_anywhere(address, &service)?;
        if comes_back(bound.local_address(), upstream, routes) {
            return Err(ApiError::LeadsToItself {
                upstream: upstream.clone(),
                listen: bound.local_address().to_string(),
            });
        }
        let (listener, local_address) = bound.open();
        let mailbox = Arc::new(Mailbox::new()?);
        let event_loop = EventLoop::new((listener, local_address), plan, mailbox.clone())?;
        let thread = spawn("proxy".to_owned(), move || event_loop.run())?;
        Ok(Self {
            local_address,
            mailbox,
            thread: Some(thread),
        })
    }

    pub(crate) fn local_address(&self) -> SocketAddr {
        self.local_address
    }

    /// Executes a command on toxics; returns when it is in effect on every open connection.
    pub(crate) fn carry_out(&self, command: Command) {
        let (sender, done) = mpsc::sync_channel(1);
        self.mailbox.send(command);
        self.mailbox.send(Command::Confirm(sender));
        // The thread never blocks. If it has ended, no connection is left.
        done.recv_timeout(MAX_COMMAND_WAIT).ok();
    }
}

impl Drop for RunningProxy {
    fn drop(&mut self) {
        self.mailbox.send(Command::Stop);
        if let Some(thread) = self.thread.take() {
            // It panics only through a defect; its sockets are then closed.
            thread.join().ok();
        }
    }
}

/// For all addresses of this machine, falls back to IPv4 without IPv6.
fn bind_anywhere(address: SocketAddr, service: &ListeningService<'_>) -> Result<BoundListener, LiveError> {
    let all_of_ipv4 = SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), address.port());
    match bind(address, service) {
        Err(LiveError::ListenFailed { .. } | LiveError::AddressNotHere { .. })
            if address.ip() == Ipv6Addr::UNSPECIFIED =>
        {
            bind(all_of_ipv4, service)
        }
        outcome => outcome,
    }
}

const MAX_COMMAND_WAIT: Duration = Duration::from_secs(10);
