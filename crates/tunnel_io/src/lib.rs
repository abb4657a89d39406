//! The two ends of a tunnel: clients connect to the near end, the far end connects to the database, and
//! between them few lanes carry all of it, compressed and encrypted.
//!
//! What the ends say to each other is the crate `tunnel`; here are the sockets, threads, keys and the clock.

#![forbid(unsafe_code)]

mod acceptor;
mod counters;
mod database;
pub mod error;
pub mod far;
mod handshake;
pub mod keys;
mod lane;
mod login;
mod mailbox;
pub mod near;
pub mod notice;
mod stream;
mod verifier;

pub use error::TunnelError;
pub use far::FarEnd;
pub use handshake::PeerFault;
pub use keys::TunnelSecurity;
pub use near::NearEnd;
pub use notice::{Notice, Refused};

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::time::Duration;
use sys::clock::Clock;
use sys::listening::PlainClients;
use tunnel::{Isolation, LevelChoice};

/// Called with each notice of what happens. It runs in the tunnel's threads, seldom, and not while bytes
/// wait.
pub type Notify = Box<dyn Fn(&Notice) + Send + Sync>;

/// What the near end is to do.
pub struct NearOptions {
    /// Where clients connect; port 0 for any free port.
    pub listen: Vec<SocketAddr>,
    /// The far end: `host:port`. Resolved again for every lane.
    pub far: String,
    /// How the ends know each other.
    pub security: TunnelSecurity,
    /// Whether clients on other machines may be plain before a tunnel with keys.
    pub plain_clients: PlainClients,
    /// How hard to compress, in both directions unless the far end was told otherwise.
    pub level: LevelChoice,
    /// What a chunk's compression may depend on, likewise.
    pub isolate: Isolation,
    /// Whether logins are compressed as well, in both directions.
    pub compress_login: bool,
    /// Connections to the far end.
    pub lanes: NonZeroUsize,
    /// How long a client waits for a lane, and one attempt to open a lane may take.
    pub connect_timeout: Duration,
    /// Called with what happens.
    pub notify: Notify,
    /// The timeline.
    pub clock: Clock,
}

/// What the far end is to do.
pub struct FarOptions {
    /// Where near ends connect; port 0 for any free port.
    pub listen: Vec<SocketAddr>,
    /// The database: `host:port`. Resolved once.
    pub to: String,
    /// How the ends know each other.
    pub security: TunnelSecurity,
    /// How hard to compress what goes to the near end; `None` for as that asks.
    pub level: Option<LevelChoice>,
    /// What a chunk's compression may depend on; `None` for as the near end asks.
    pub isolate: Option<Isolation>,
    /// Called with what happens.
    pub notify: Notify,
    /// The timeline.
    pub clock: Clock,
}
