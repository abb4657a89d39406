//! Clients of databases: one session with a server, and what each statement of it took.
//!
//! [`session`] speaks PostgreSQL, MySQL and MariaDB, Redis and (with the feature `oracle`) Oracle by code of
//! longwire's own; [`bridge`] runs any JDBC driver in a Java process. Both know one connection and one
//! statement at a time: the code that repeats and compares them is in `probe`, `load` and `tune`.
//!
//! What PostgreSQL's and MySQL's messages look like is in [`postgres`] and [`mysql`], without a socket, for
//! all clients that longwire has: those of `session`, `ping`, `load` and `tune`.
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
