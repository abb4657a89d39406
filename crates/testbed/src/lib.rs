//! Real servers for tests: PostgreSQL, MariaDB and Redis on private ports and in private directories, and
//! captures of what they say; the binary under test; programs that run while a test looks at them; a browser;
//! a terminal; Java programs with JDBC drivers, and Python with packages; what this machine adds to measured
//! times.
//!
//! A server is ready when its `start` returns and gone when its value is dropped, also when the test panics;
//! when the test process is killed, the kernel ends the server. Everything here panics with a message that
//! says what is missing or what the server's log ended with: a test that cannot have its server fails, it is
//! never skipped.
//!
//! How servers are started and ended is in the crate `servers`, which labs use too. Start reading at
//! [`postgres`].

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
pub mod object_store;
pub mod pgbouncer;
pub mod postgres;
pub mod process;
pub mod prometheus;
pub mod python;
pub mod redis;
pub mod started;
pub mod tmux;
pub mod waiting;

pub use browser::Browser;
pub use capture::Capture;
pub use certificate::Certificate;
pub use collector::Collector;
pub use java::JavaProgram;
pub use mariadb::{MariaDb, MariaDbOptions};
pub use object_store::ObjectStore;
pub use pgbouncer::PgBouncer;
pub use postgres::{Postgres, PostgresAuth, PostgresOptions};
pub use process::require;
pub use prometheus::PrometheusServer;
pub use redis::Redis;
pub use started::Started;
pub use tmux::Tmux;
