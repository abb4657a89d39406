//! The two ends of a tunnel. Clients connect to the near end, the far end connects to the database,
//! and a few lanes between them carry all streams, compressed and encrypted.
//!
//! The crate `tunnel` defines the protocol; this one has sockets, threads, keys and the clock.

#![forbid(unsafe_code)]

mod acceptor;
pub mod advise;
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
mod peer_fault;
mod stream;
mod verifier;

pub use error::Error;
pub use far::FarEnd;
pub use keys::TunnelSecurity;
pub use near::NearEnd;
pub use notice::{Notice, Refused};
pub use peer_fault::PeerFault;

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::time::Duration;
use sys::clock::Clock;
use sys::listening::PlainClients;
use tunnel::{Isolation, LevelChoice};

/// Called with each notice in the tunnel's threads; rarely, and never while bytes wait.
pub type Notify = Box<dyn Fn(&Notice) + Send + Sync>;

pub struct NearOptions {
    /// Addresses for clients, port 0 for any free port.
    pub listen: Vec<SocketAddr>,
    /// `host:port` of the far end, resolved again for every lane.
    pub far: String,
    pub security: TunnelSecurity,
    /// Whether remote clients may be unencrypted in front of a tunnel with keys.
    pub plain_clients: PlainClients,
    /// For both directions, unless the far end overrides it.
    pub level: LevelChoice,
    /// Scope of compression history; the far end may override it.
    pub isolate: Isolation,
    /// Compresses logins too, in both directions.
    pub compress_login: bool,
    pub lanes: NonZeroUsize,
    /// Limit for a client's wait for a lane, and for one attempt to open a lane.
    pub connect_timeout: Duration,
    pub notify: Notify,
    pub clock: Clock,
}

pub struct FarOptions {
    /// Addresses for near ends; port 0 for any free port.
    pub listen: Vec<SocketAddr>,
    /// `host:port` of the database, resolved once.
    pub to: String,
    pub security: TunnelSecurity,
    /// `None` for the near end's choice.
    pub level: Option<LevelChoice>,
    /// `None` for the near end's choice.
    pub isolate: Option<Isolation>,
    pub notify: Notify,
    pub clock: Clock,
}
