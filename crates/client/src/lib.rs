//! Clients of databases: one session with a server, and what each statement of it took.
//!
//! [`session`] speaks PostgreSQL, MySQL and MariaDB, Redis and (with the feature `oracle`) Oracle by code of longwire's own; [`bridge`] runs any JDBC driver
//! in a Java process. Both know one connection and one statement at a time: who repeats them, and who compares them, is in `probe`,
//! `load` and `tune`.
//!
//! Start reading at [`session`].

#![forbid(unsafe_code)]

pub mod bridge;
pub mod session;
mod watch;

pub use watch::Watch;
