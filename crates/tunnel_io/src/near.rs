//! The near end: clients connect to it, and it keeps lanes to the far end.

mod dispatcher;
mod reconnector;

use super::counters::LaneCounters;
use super::error::split_address;
use super::handshake::ClientHandshake;
use super::mailbox::Mailbox;
use super::{NearOptions, TunnelError, TunnelSecurity};
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

/// A running near end. Dropping it without [`NearEnd::stop`] leaves it running until the process ends.
pub struct NearEnd {
    addresses: Vec<SocketAddr>,
    shared: Arc<Shared>,
    mailboxes: Vec<Arc<Mailbox>>,
    acceptor: JoinHandle<()>,
    /// Notified by each reconnector when it has ended.
    keepers_done: Mutex<mpsc::Receiver<()>>,
}

/// What all threads of a near end know.
struct Shared {
    counters: Arc<LaneCounters>,
    far: String,
    client_handshake: ClientHandshake,
    preferences: LanePreferences,
    connect_timeout: Duration,
    /// Rung for the acceptor: a lane is up, a lane was lost with clients that it had not taken in, or all is
    /// over.
    waker: Waker,
    over: AtomicBool,
}

impl Shared {
    fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }
}

impl NearEnd {
    /// Starts a near end: it listens when this returns, and opens its lanes from then on, again and again
    /// while they are not available.
    ///
    /// Raises the process's limit of open files to what it may have: each stream takes one.
    ///
    /// # Errors
    /// When the far end's address is not one, the keys do not suffice for the addresses, a listening address
    /// is not available, or the system refuses threads or descriptors.
    pub fn start(options: NearOptions) -> Result<Self, TunnelError> {
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

    /// Where clients connect, with the ports that were chosen.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// What it has done so far.
    pub fn totals(&self) -> TunnelTotals {
        self.shared.counters.totals(0)
    }

    /// Takes leave of the far end, resets what streams are left, and returns the final totals.
    pub fn stop(self) -> TunnelTotals {
        self.shared.over.store(true, Ordering::Release);
        self.shared.waker.wake();
        self.mailboxes.iter().for_each(|mailbox| mailbox.stop());
        // Neither runs foreign code; if one panicked there is nothing left to stop.
        self.acceptor.join().ok();
        let keepers_done = self
            .keepers_done
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let until = Instant::now() + LEAVE_LIMIT;
        for _ in 0..self.mailboxes.len() {
            // One that is connecting to a host that does not answer is not waited for.
            let left = until.saturating_duration_since(Instant::now());
            if keepers_done.recv_timeout(left).is_err() {
                break;
            }
        }
        self.shared.counters.totals(0)
    }
}

const LEAVE_LIMIT: Duration = Duration::from_secs(1);
