//! The system's own database and web servers, started for one purpose and gone afterwards.
//!
//! Each kind of server is a file: it finds the system's programs, writes a configuration into a private
//! directory, starts the server there as an unprivileged user, and returns when the server says that it is
//! ready. A server is gone when its value is dropped; when this process is killed, the kernel ends it.
//!
//! Labs and tests use the same code. [`ServerHost`] says where a server runs: [`Here`], or in another network
//! namespace.
//!
//! Start reading at [`Running`], then a kind: [`postgres`], [`mariadb`], [`nginx`], [`php_fpm`], [`command`].

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
pub use error::ServerError;
pub use host::{Here, ServerHost};
pub use process::Process;
pub use readiness::Readiness;
pub use running::{Running, ServerPlace};
