//! Orders and counters of a proxy's thread.

use crate::toxics::Toxic;
use model::{PerDirection, PerSide};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use sys::error::LiveError;
use sys::poller::Waker;
use sys::socket::Socket;

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
    pub(crate) fn new() -> Result<Self, LiveError> {
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
