//! Database clients with one session on a server, and the duration of each statement.
//!
//! [`session`] has native code for PostgreSQL, MySQL and MariaDB, Redis and (with the feature
//! `oracle`) Oracle. [`bridge`] runs any JDBC driver in a Java process. Both handle one connection
//! and one statement at a time; `probe`, `load` and `tune` repeat and compare them.
//!
//! [`postgres`] and [`mysql`] hold the messages of these protocols, without a socket, for all
//! clients: those of `session`, `ping`, `load` and `tune`.
//!
//! Start reading at [`session`].

#![forbid(unsafe_code)]

pub mod bridge;
mod error_reply;
pub mod mysql;
pub mod postgres;
mod reply_reader;
pub mod session;
mod sql_protocol;
mod watch;

pub use error_reply::{ErrorReply, without_values};
pub use reply_reader::{ReplyFault, ReplyReader};

pub use sql_protocol::SqlProtocol;
pub use watch::Watch;
