//! A relay in front of a server: forwards first, observes after.
//!
//! ```text
//! acceptor thread --connection--> worker threads (one per core, an epoll loop each)
//!                                   read -> send on the other socket -> journal -> observer
//! ```
//! A connection stays with one worker for life, so its events are in order without a lock. Bytes
//! are read into the worker's one buffer, sent at once, and shown to the observer after everything
//! ready has been sent.
//!
//! The relay preserves bytes in order, half-close, resets and back-pressure. A connection holds at
//! most one read ([`READ_LIMIT`], 256 KiB) each way, and no memory while both sides keep up. Urgent
//! ("out-of-band") bytes stay in the stream but lose their urgency.
//!
//! If the target insists on TLS, longwire speaks TLS to the server and the client stays plain
//! (`negotiation.rs`); only then do the two sides carry different bytes. A client that negotiates
//! TLS itself passes through, and the observer sees ciphertext.
//!
//! With a link ([`Options::link`]) one thread shapes all connections instead, see `shaped.rs`.
//!
//! Start reading at `worker.rs`, then `connection.rs`.

#![forbid(unsafe_code)]

mod acceptor;
pub mod command;
mod connecting;
mod connection;
mod counters;
mod forwarded_direction;
mod journal;
mod negotiation;
mod negotiation_slots;
mod probe;
#[cfg(test)]
#[path = "../tests/relay/recorder.rs"]
mod recorder;
pub mod replay;
mod sequence;
mod shaped;
pub mod spacing;
mod sparing;
mod unseen;
mod worker;

pub use counters::Counters;
pub use probe::{offers_tls, probe};
pub use sparing::{SparedConnection, Sparing};
pub use unseen::Unseen;

use acceptor::Acceptor;
use counters::AtomicCounters;
use link::LinkDescription;
use model::{ConnectionId, LinkOutcome, ObserverFactory};
use rustls::ClientConfig;
use shaped::{Check, Shaper, Sockets};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use sys::clock::Clock;
use sys::error::LiveError;
use sys::listening::{
    BoundListener, ClientSide, ListeningService, PlainClients, bind, leads_to, raise_file_limit,
};
use sys::resolve;
use sys::target::Target;
use sys::threads::spawn;
use sys::tls;
use sys::tls::TlsSettings;
use sys::tls::security::is_postgres;
use worker::{Mailbox, Worker};

#[derive(Clone)]
pub struct Options {
    pub listen: SocketAddr,
    /// Resolved once, and every address is tried for every client.
    pub target: Target,
    /// The target must then not insist on TLS.
    pub link: Option<LinkDescription>,
    /// Which exchanges are spared the link's delay.
    pub sparing: Option<Arc<dyn Sparing>>,
    pub tls: RelayTls,
    /// Whether clients on other machines may be plain if the target insists on TLS.
    pub plain_clients: PlainClients,
    /// Relays that feed one analysis share these numbers.
    pub numbers: ConnectionNumbers,
}

/// The numbers are unique across clones.
#[derive(Debug, Clone, Default)]
pub struct ConnectionNumbers(Arc<AtomicU32>);

impl ConnectionNumbers {
    fn next(&self) -> ConnectionId {
        ConnectionId(self.0.fetch_add(1, Ordering::Relaxed))
    }
}

impl Options {
    /// On a free loopback port, without a link. Clients handle TLS, unless the target insists on
    /// it.
    pub fn new(target: Target) -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            target,
            link: None,
            sparing: None,
            tls: RelayTls::default(),
            plain_clients: PlainClients::default(),
            numbers: ConnectionNumbers::default(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RelayTls {
    /// The relay if the target insists: clients are then plain, and their TLS requests are
    /// declined. Otherwise the clients, as they like.
    #[default]
    AsTheTargetInsists,
    /// The relay, for PostgreSQL clients that do not request TLS from a server that offers it.
    /// Other clients pass through.
    InTheClientsStead,
}

/// If dropped without [`Relay::stop`], it runs until the process ends.
#[derive(Debug)]
pub struct Relay {
    local_address: SocketAddr,
    shared: Arc<Shared>,
    mailboxes: Vec<Arc<Mailbox>>,
    acceptor: Acceptor,
    workers: Vec<JoinHandle<()>>,
    check: Option<Arc<Check>>,
    done: mpsc::Receiver<()>,
}

pub(crate) struct Shared {
    pub(crate) target: Target,
    pub(crate) addresses: Vec<SocketAddr>,
    pub(crate) factory: Arc<dyn ObserverFactory>,
    pub(crate) clock: Clock,
    /// TLS towards the server, `None` for plain.
    pub(crate) tls: Option<Arc<ClientConfig>>,
    pub(crate) security: TlsSettings,
    pub(crate) asked_tls: RelayTls,
    pub(crate) counters: AtomicCounters,
    numbers: ConnectionNumbers,
    lifecycle: AtomicU8,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Shared")
            .field("target", &self.target)
            .finish_non_exhaustive()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lifecycle {
    Running,
    Leaving,
    Ending,
}

impl Shared {
    pub(crate) fn lifecycle(&self) -> Lifecycle {
        match self.lifecycle.load(Ordering::Acquire) {
            0 => Lifecycle::Running,
            1 => Lifecycle::Leaving,
            _ => Lifecycle::Ending,
        }
    }

    pub(crate) fn next_id(&self) -> ConnectionId {
        self.numbers.next()
    }
}

/// Starts a relay, which listens when this returns. `clock` is the timeline of all observations.
/// With a link, first measures this machine's share of a round trip (30 ms). Raises the limit of
/// open files to the maximum, since a connection takes two.
///
/// # Errors
/// If the target's host has no address, the listening address is not available, or the system
/// refuses threads or descriptors; if a link is requested for a target with TLS. Does not test the
/// target, see [`probe()`].
pub fn start(options: Options, clock: Clock, factory: Arc<dyn ObserverFactory>) -> Result<Relay, LiveError> {
    start_with_floor(options, clock, factory, shaped::measure_floor)
}

/// Starts a relay that observes nothing: it only emulates a link to `target`.
///
/// # Errors
/// As [`start`].
pub fn emulate(target: Target, link: LinkDescription) -> Result<Relay, LiveError> {
    let options = Options {
        link: Some(link),
        ..Options::new(target)
    };
    start(options, Clock::anchored_now(), Arc::new(Unseen))
}

pub(crate) fn start_with_floor(
    options: Options,
    clock: Clock,
    factory: Arc<dyn ObserverFactory>,
    measure_floor: impl FnOnce(Clock) -> Option<Duration>,
) -> Result<Relay, LiveError> {
    let security = TlsSettings::from_target(&options.target)?;
    let tls = configure_tls(&options, &security)?;
    if tls.is_some() && options.link.is_some() {
        return Err(LiveError::TlsThroughLink);
    }
    let addresses = resolve::addresses(&options.target)?;
    let bound = bind_relay(&options, &security, &addresses)?;
    let (listener, local_address) = bound.open();
    raise_file_limit();
    let check = options.link.map(|link| {
        let name = format!("clients-{}", options.target.server());
        Arc::new(Check::new(link, name, measure_floor(clock)))
    });
    let shared = Arc::new(Shared {
        target: options.target,
        addresses,
        factory,
        clock,
        tls,
        security,
        asked_tls: options.tls,
        counters: AtomicCounters::default(),
        numbers: options.numbers,
        lifecycle: AtomicU8::new(0),
    });
    let (finished, done) = mpsc::sync_channel(worker_count());
    let crew = match options.link.zip(check.clone()) {
        Some((link, check)) => {
            let sockets = |mailbox| Sockets::new(shared.clone(), mailbox);
            let shaper = |sockets| Shaper::new(sockets, link, check).with_sparing(options.sparing);
            vec![start_shaper(sockets, shaper, finished)?]
        }
        None => (0..worker_count())
            .map(|number| start_worker(number, &shared, finished.clone()))
            .collect::<Result<_, _>>()?,
    };
    let (mailboxes, workers): (Vec<_>, Vec<_>) = crew.into_iter().unzip();
    let acceptor = Acceptor::start(listener, shared.clone(), mailboxes.clone())?;
    Ok(Relay {
        local_address,
        shared,
        mailboxes,
        acceptor,
        workers,
        check,
        done,
    })
}

fn client_side(security: &TlsSettings, plain_clients: PlainClients) -> ClientSide {
    match security.mode.insists() {
        true => ClientSide::PlainBeforeTls(plain_clients),
        false => ClientSide::AsClientsLike,
    }
}

/// Whether a relay to `target` may listen at `address`.
///
/// # Errors
/// If clients on other machines would be plain although the target insists on TLS; if the TLS
/// settings are invalid.
pub fn check_listen(
    target: &Target,
    address: SocketAddr,
    plain_clients: PlainClients,
) -> Result<(), LiveError> {
    let service = ListeningService {
        name: &format!("the relay to {}", target.server()),
        exposes: "",
        clients: client_side(&TlsSettings::from_target(target)?, plain_clients),
    };
    sys::listening::refuse_plain_clients(address, &service)
}

type WorkerHandle = (Arc<Mailbox>, JoinHandle<()>);

/// `None` unless the relay itself encrypts towards the server.
fn configure_tls(options: &Options, security: &TlsSettings) -> Result<Option<Arc<ClientConfig>>, LiveError> {
    let encrypts = match options.tls {
        RelayTls::AsTheTargetInsists => security.mode.insists(),
        RelayTls::InTheClientsStead => is_postgres(options.target.scheme),
    };
    match encrypts {
        true => tls::configure(&options.target, security),
        false => Ok(None),
    }
}

fn bind_relay(
    options: &Options,
    security: &TlsSettings,
    upstreams: &[SocketAddr],
) -> Result<BoundListener, LiveError> {
    let server = options.target.server();
    let bound = bind(
        options.listen,
        &ListeningService {
            name: &format!("the relay to {server}"),
            exposes: &format!("connect to {server} through it"),
            clients: client_side(security, options.plain_clients),
        },
    )?;
    let address = bound.local_address();
    match upstreams.iter().any(|upstream| leads_to(*upstream, address)) {
        true => Err(LiveError::LeadsToItself { server, address }),
        false => Ok(bound),
    }
}

fn start_worker(
    number: usize,
    shared: &Arc<Shared>,
    finished: mpsc::SyncSender<()>,
) -> Result<WorkerHandle, LiveError> {
    let mailbox = Arc::new(Mailbox::new()?);
    let worker = Worker::new(shared.clone(), mailbox.clone())?;
    let thread = spawn(format!("relay-{number}"), move || {
        worker.run();
        // Fails if the relay was dropped.
        finished.send(()).ok();
    })?;
    Ok((mailbox, thread))
}

fn start_shaper(
    sockets: impl FnOnce(Arc<Mailbox>) -> Result<Sockets, LiveError>,
    shaper: impl FnOnce(Sockets) -> Shaper<Sockets>,
    finished: mpsc::SyncSender<()>,
) -> Result<WorkerHandle, LiveError> {
    let mailbox = Arc::new(Mailbox::new()?);
    let shaper = shaper(sockets(mailbox.clone())?);
    let thread = spawn("relay-link".to_owned(), move || {
        shaper.run();
        finished.send(()).ok();
    })?;
    Ok((mailbox, thread))
}

impl Relay {
    pub fn local_addr(&self) -> SocketAddr {
        self.local_address
    }

    /// Counts of different workers are not from the same instant.
    pub fn counters(&self) -> Counters {
        Counters {
            link: self.link_outcome(),
            ..self.shared.counters.counters()
        }
    }

    /// `None` without a link.
    pub fn link_outcome(&self) -> Option<LinkOutcome> {
        self.check.as_deref().map(Check::outcome)
    }

    /// Waits up to `grace` for open connections to end, and closes the rest as
    /// [`model::Closing::Unfinished`]. All observers have had their last event when this returns.
    pub fn stop(self, grace: Duration) -> Counters {
        self.steer(Lifecycle::Leaving);
        self.acceptor.join();
        let deadline = Instant::now() + grace;
        let mut running = self.workers.len();
        while running > 0 {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.done.recv_timeout(left) {
                Ok(()) => running -= 1,
                Err(_) => break,
            }
        }
        self.shared.lifecycle.store(2, Ordering::Release);
        self.mailboxes.iter().for_each(|mailbox| mailbox.wake());
        for worker in self.workers {
            // A worker panics only if an observer is defective; its connections are closed then.
            worker.join().ok();
        }
        Counters {
            link: self.check.as_deref().map(Check::outcome),
            ..self.shared.counters.counters()
        }
    }

    fn steer(&self, lifecycle: Lifecycle) {
        self.shared.lifecycle.store(lifecycle as u8, Ordering::Release);
        self.acceptor.wake();
        self.mailboxes.iter().for_each(|mailbox| mailbox.wake());
    }
}

/// Also bounds the bytes that wait for a slow receiver in one direction.
pub const READ_LIMIT: usize = 256 * 1024;

fn worker_count() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
