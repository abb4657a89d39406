//! Test environment with real components: PostgreSQL, MariaDB, Redis and a server of MongoDB's
//! protocol on private ports and in private directories, captures, the binary under test, a
//! browser, a terminal, Java with JDBC drivers, Python with packages, and this machine's timing
//! overhead.
//!
//! A server is ready when `start` returns and ends on drop, also on a panic; if the test process is
//! killed, the kernel ends the server. All functions panic with a message that names the missing
//! program or the end of the server's log: a test without its server fails and is never skipped.
//!
//! The crate `servers`, which labs use too, starts and ends servers. Start reading at [`postgres`].

pub mod binary;
pub mod browser;
pub mod cache;
pub mod capture;
pub mod certificate;
mod cluster;
pub mod collector;
pub mod floor;
pub mod http;
pub mod java;
pub mod mariadb;
pub mod mongodb;
pub mod object_store;
pub mod pgbouncer;
pub mod postgres;
pub mod process;
pub mod prometheus;
pub mod python;
pub mod redis;
pub mod schema;
pub mod script;
pub mod started;
pub mod tmux;
pub mod waiting;

pub use browser::Browser;
pub use capture::Capture;
pub use certificate::Certificate;
pub use collector::Collector;
pub use java::JavaProgram;
pub use mariadb::{MariaDb, MariaDbOptions};
pub use mongodb::Mongodb;
pub use object_store::ObjectStore;
pub use pgbouncer::PgBouncer;
pub use postgres::{Postgres, PostgresAuth, PostgresOptions};
pub use process::require;
pub use prometheus::PrometheusServer;
pub use redis::Redis;
pub use script::{Script, ScriptedServer};
pub use started::Started;
pub use tmux::Tmux;
