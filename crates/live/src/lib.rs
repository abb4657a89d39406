//! The world: sockets, threads and the clock.
//!
//! [`Target`] says which server is meant, [`relay`] stands in front of it and shows every byte that passes to a
//! [`model::Observer`], [`replay`] plays an operation over sockets, [`Clock`] is the timeline all live on. Everything that
//! decides what bytes mean is elsewhere (`wire`, `analysis`); this crate moves them and knows when.
//!
//! Start reading at [`relay`].

pub mod application;
pub mod bridge;
pub mod clock;
mod crowd;
pub mod echo;
pub mod error;
pub mod load;
pub mod metrics;
pub mod network;
pub mod ping;
mod poller;
mod process_tree;
mod processor;
pub mod program;
mod punctual;
pub mod relay;
pub mod replay;
mod resolve;
pub mod sandbox;
pub mod session;
mod socket;
pub mod target;
mod tcp_info;
pub mod terminal;
mod timer;
mod tls;
mod transport;
pub mod tune;
pub mod tunnel;

pub use clock::{Clock, thread_processor_time};
pub use error::{Blame, LiveError, OsError};
pub use network::{Forward, HostId, LinkId, Network};
pub use relay::{Counters, ObserverFactory, Relay, RelayOptions, RelayTls};
pub use resolve::{offers_tls, probe};
pub use sandbox::{Entered, Sandbox};
pub use target::credentials::allow_cleartext_passwords;
pub use target::{
    ChannelBinding, ClientTls, Credentials, Scheme, Secret, SecurityAsked, Target, TargetError, TlsMode,
};
pub use tls::Security;
