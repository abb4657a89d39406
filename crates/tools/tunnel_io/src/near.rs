//! The near end accepts clients, and keeps lanes to the far end.

mod dispatcher;
mod reconnector;

use super::counters::LaneCounters;
use super::error::split_address;
use super::handshake::ClientHandshake;
use super::mailbox::Mailbox;
use super::{Error, NearOptions, TunnelSecurity};
use sys::error::{LiveError, OsError};
use sys::listening::{self, ClientSide, ListeningService};
use sys::poller::Waker;

use dispatcher::Dispatcher;
use model::TunnelTotals;
use reconnector::Reconnector;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tunnel::{End, LanePreferences};

/// Without [`NearEnd::stop`] it runs until the process ends.
pub struct NearEnd {
    addresses: Vec<SocketAddr>,
    shared: Arc<Shared>,
    mailboxes: Vec<Arc<Mailbox>>,
    acceptor: JoinHandle<()>,
    /// Notified by each reconnector at its end.
    keepers_done: Mutex<mpsc::Receiver<()>>,
}

struct Shared {
    counters: Arc<LaneCounters>,
    far: String,
    client_handshake: ClientHandshake,
    preferences: LanePreferences,
    connect_timeout: Duration,
    /// Wakes the acceptor if a lane is up or was lost with untaken clients, or the near end stops.
    waker: Waker,
    over: AtomicBool,
}

impl Shared {
    fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }
}

impl NearEnd {
    /// Starts a near end; it is listening on return. Lanes are opened from then on, with retries.
    ///
    /// Raises the process's limit of open files to the maximum: each stream needs one.
    ///
    /// # Errors
    /// Fails for an invalid far end address, keys that do not suffice for the addresses, an
    /// unavailable port, or a lack of threads or descriptors.
    pub fn start(options: NearOptions) -> Result<Self, Error> {
        split_address(&options.far)?;
        options.security.suits(&options.listen)?;
        let client_handshake = ClientHandshake::new(&options.security).map_err(|_| LiveError::System {
            operation: "set up TLS with this key",
            reason: OsError(libc::EINVAL),
        })?;
        listening::raise_file_limit();
        let service = ListeningService {
            name: "the near end of the tunnel",
            exposes: &format!("connect to the database behind {}", options.far),
            clients: match options.security {
                TunnelSecurity::None => ClientSide::AsClientsLike,
                TunnelSecurity::Keys { .. } | TunnelSecurity::Shared(_) => {
                    ClientSide::PlainBeforeTls(options.plain_clients)
                }
            },
        };
        let (listeners, addresses): (Vec<_>, Vec<_>) = options
            .listen
            .iter()
            .map(|address| listening::listen(*address, &service))
            .collect::<Result<Vec<_>, _>>()?
            .into_iter()
            .unzip();
        let shared = Arc::new(Shared {
            counters: Arc::new(LaneCounters::new(End::Near, options.clock, options.notify)),
            far: options.far,
            client_handshake,
            preferences: LanePreferences {
                level: options.level,
                isolation: options.isolate,
                compress_login: options.compress_login,
            },
            connect_timeout: options.connect_timeout,
            waker: Waker::new()?,
            over: AtomicBool::new(false),
        });
        let mailboxes = (0..options.lanes.get())
            .map(|_| Mailbox::new().map(Arc::new))
            .collect::<Result<Vec<_>, _>>()?;
        let room = Dispatcher::new(listeners, Arc::clone(&shared), mailboxes.clone())?;
        let acceptor = room.start()?;
        let (done, keepers_done) = mpsc::sync_channel(mailboxes.len());
        for mailbox in &mailboxes {
            Reconnector::start(Arc::clone(&shared), Arc::clone(mailbox), done.clone())?;
        }
        Ok(Self {
            addresses,
            shared,
            mailboxes,
            acceptor,
            keepers_done: Mutex::new(keepers_done),
        })
    }

    /// Addresses for clients, with the chosen ports.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    pub fn totals(&self) -> TunnelTotals {
        self.shared.counters.totals(0)
    }

    /// Announces the end, resets open streams and returns the final totals.
    pub fn stop(self) -> TunnelTotals {
        self.shared.over.store(true, Ordering::Release);
        self.shared.waker.wake();
        self.mailboxes.iter().for_each(|mailbox| mailbox.stop());
        // Neither runs foreign code; after a panic there is no work left to stop.
        self.acceptor.join().ok();
        let keepers_done = self
            .keepers_done
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let until = Instant::now() + LEAVE_LIMIT;
        for _ in 0..self.mailboxes.len() {
            // Reconnectors still connecting to a silent host are not awaited.
            let left = until.saturating_duration_since(Instant::now());
            if keepers_done.recv_timeout(left).is_err() {
                break;
            }
        }
        self.shared.counters.totals(0)
    }
}

const LEAVE_LIMIT: Duration = Duration::from_secs(1);
