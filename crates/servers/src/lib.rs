//! Temporary database and web servers from the system's programs.
//!
//! Each kind of server is a file: it finds the programs, writes a configuration into a private
//! directory, starts the server as an unprivileged user, and returns when it is ready. The server
//! ends on drop; if this process is killed, the kernel ends it.
//!
//! Labs and tests use it. [`ServerHost`] is [`Here`] or another network namespace.
//!
//! Start reading at [`Running`], then a kind: [`postgres`], [`mariadb`], [`nginx`], [`php_fpm`],
//! [`command`].

pub mod account;
pub mod command;
pub mod error;
pub mod files;
pub mod host;
pub mod mariadb;
pub mod nginx;
pub mod php_fpm;
pub mod postgres;
pub mod process;
pub mod processes;
pub mod program;
pub mod readiness;
pub mod running;

pub use account::Account;
pub use error::Error;
pub use host::{Here, ServerHost};
pub use process::Process;
pub use readiness::Readiness;
pub use running::{Running, ServerPlace};
