//! The far end accepts lanes, and connects to the database for each stream.

use super::acceptor::{Acceptor, AdmissionEvent, AdmissionLimits, Admitted};
use super::counters::LaneCounters;
use super::database::Database;
use super::lane::{LaneLoop, Role};
use super::mailbox::Mailbox;
use super::notice::Notice;
use super::{Error, FarOptions};
use sys::error::LiveError;
use sys::{listening, threads};

use model::TunnelTotals;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::JoinHandle;
use sys::signals::block_all_signals;
use tunnel::{End, Isolation, LanePreferences, LevelChoice};

/// On drop without [`FarEnd::stop`], the port closes and open lanes continue.
pub struct FarEnd {
    acceptor: Acceptor,
    shared: Arc<Shared>,
}

struct Shared {
    counters: Arc<LaneCounters>,
    database: Arc<Database>,
    level: Option<LevelChoice>,
    isolate: Option<Isolation>,
    lanes: Mutex<Vec<(Weak<Mailbox>, JoinHandle<()>)>>,
}

impl FarEnd {
    /// Starts a far end; it is listening on return. An unreachable database is not an error here.
    ///
    /// Raises the process's limit of open files to the maximum: each stream needs one.
    ///
    /// # Errors
    /// Fails for an invalid address, keys that do not suffice for the listening addresses, an
    /// unknown database host, an unavailable port, or a lack of threads or descriptors.
    pub fn start(options: FarOptions) -> Result<Self, Error> {
        options.security.suits(&options.listen)?;
        let database = Arc::new(Database::resolve(options.to)?);
        listening::raise_file_limit();
        let shared = Arc::new(Shared {
            counters: Arc::new(LaneCounters::new(End::Far, options.clock, options.notify)),
            database,
            level: options.level,
            isolate: options.isolate,
            lanes: Mutex::default(),
        });
        let tell = {
            let shared = Arc::clone(&shared);
            Box::new(move |what| shared.at_the_acceptor(what))
        };
        let acceptor = Acceptor::open(
            &options.listen,
            &options.security,
            AdmissionLimits::default(),
            tell,
        )?;
        Ok(Self { acceptor, shared })
    }

    /// Addresses for near ends, with the chosen ports.
    pub fn addresses(&self) -> &[SocketAddr] {
        self.acceptor.addresses()
    }

    pub fn totals(&self) -> TunnelTotals {
        self.shared.counters.totals(self.acceptor.refused())
    }

    /// Announces the end, resets open streams and returns the final totals.
    pub fn stop(self) -> TunnelTotals {
        let refused = self.acceptor.refused();
        drop(self.acceptor);
        let lanes = std::mem::take(&mut *self.shared.lanes());
        for (mailbox, _) in &lanes {
            if let Some(mailbox) = mailbox.upgrade() {
                mailbox.stop();
            }
        }
        for (_, thread) in lanes {
            // It runs no foreign code; after a panic there is no work left to stop.
            thread.join().ok();
        }
        self.shared.counters.totals(refused)
    }
}

impl Shared {
    fn at_the_acceptor(&self, what: AdmissionEvent) {
        let end = End::Near;
        match what {
            AdmissionEvent::Admitted(admitted) => {
                // Without a free thread or descriptor: the near end tries again.
                self.admit(admitted).ok();
            }
            AdmissionEvent::Refused { peer, fault } => {
                let reason = Error::Peer { end, peer, fault };
                self.counters.record_notice(&Notice::PeerRefused { reason });
            }
            AdmissionEvent::RefusedMore { count, within } => {
                self.counters
                    .record_notice(&Notice::PeersRefused { count, within });
            }
        }
    }

    fn admit(&self, admitted: Admitted) -> Result<(), LiveError> {
        let Admitted {
            transport,
            peer,
            permit,
        } = admitted;
        let mailbox = Arc::new(Mailbox::new()?);
        let role = Role::Far {
            database: Arc::clone(&self.database),
            level: self.level,
            isolate: self.isolate,
        };
        let preferences = LanePreferences {
            level: self.level.unwrap_or_default(),
            isolation: self.isolate.unwrap_or_default(),
            compress_login: false,
        };
        let lane_loop = LaneLoop::new(
            role,
            preferences,
            transport,
            peer,
            Arc::clone(&self.counters),
            Arc::clone(&mailbox),
        )?;
        let counters = Arc::clone(&self.counters);
        let thread = threads::spawn("tunnel-lane".to_owned(), move || {
            block_all_signals();
            if let (false, Some(reason)) = lane_loop.run() {
                counters.peer_refused(reason);
            }
            drop(permit);
        })?;
        let mut lanes = self.lanes();
        lanes.retain(|(_, thread)| !thread.is_finished());
        lanes.push((Arc::downgrade(&mailbox), thread));
        Ok(())
    }

    fn lanes(&self) -> std::sync::MutexGuard<'_, Vec<(Weak<Mailbox>, JoinHandle<()>)>> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
