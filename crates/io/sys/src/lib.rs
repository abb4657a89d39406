//! The operating system interface that crates with I/O share.
//!
//! [`Target`] names a server and [`TlsSettings`] its TLS; [`socket`] reads and sends without
//! blocking, [`poller`] waits for many sockets, [`Clock`] is the timeline of all observations. The
//! crate knows no database protocol.
//!
//! Start reading at [`target`], then [`socket`].

pub mod application;
pub mod arguments;
pub mod checksum;
pub mod clock;
pub mod completions;
pub mod error;
pub mod eviction;
pub mod file_opener;
pub mod files;
mod forked;
pub mod http;
pub mod http_client;
pub mod listening;
pub mod memory;
pub mod metrics;
pub mod own_addresses;
pub mod packets;
pub mod poller;
mod process_tree;
pub mod processor;
pub mod program;
pub mod realtime;
pub mod receiver;
pub mod resolve;
pub mod rights;
pub mod run_guard;
pub mod service;
pub mod signals;
pub mod socket;
pub mod socket_owners;
pub mod spin;
mod stop;
pub mod target;
pub mod tcp_info;
pub mod terminal;
pub mod threads;
pub mod timer;
pub mod tls;
pub mod transport;
pub mod wait;

pub use clock::{Clock, thread_processor_time};
pub use error::{Blame, LiveError, OsError};
pub use stop::{StopAtDrop, StopToken};
pub use target::{
    ChannelBinding, ClientTls, Credentials, Scheme, Secret, SecurityAsked, Target, TargetError, TlsMode,
};
pub use tls::TlsSettings;
