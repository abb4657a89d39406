//! Real servers for tests: PostgreSQL and MariaDB on private ports and in private directories, and captures of
//! what they say.
//!
//! A server is ready when its `start` returns and gone when its value is dropped, also when the test panics; when
//! the test process is killed, the kernel ends the server. Everything here panics with a message that says what is
//! missing or what the server's log ended with: a test that cannot have its server fails, it is never skipped.
//!
//! Start reading at [`postgres`], then [`process`] for how a server is started and ended.

pub mod account;
pub mod capture;
pub mod certificate;
pub mod mariadb;
pub mod postgres;
pub mod process;
pub mod program;

pub use capture::Capture;
pub use certificate::Certificate;
pub use mariadb::{MariaDb, MariaDbOptions};
pub use postgres::{Postgres, PostgresAuth, PostgresOptions};
pub use program::require;
