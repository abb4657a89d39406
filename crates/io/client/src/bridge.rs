//! Bridge to a database's JDBC driver, in a helper process with a Java machine.
//!
//! [`Bridge::start`] starts the process with the drivers on its class path. [`Bridge::connect`]
//! opens a connection, which runs statements and jobs and reports durations, timed in Java around
//! the driver's call. `bridges/jdbc/PROTOCOL.md` describes the frames. The process ends with its
//! [`Bridge`], and with longwire: its standard input ends then.
//!
//! Start reading at `process.rs`, then `connection.rs`.

mod connection;
mod driver;
mod error;
mod frames;
mod jar;
mod java;
mod process;
mod request;
mod tail;
mod url;

pub use connection::{BridgeConnection, Introduction, Overhead};
pub use driver::DriverFiles;
pub use error::BridgeError;
pub use process::{Bridge, BridgeOptions};
pub use request::{
    Column, Execute, Executed, HowInserted, HowRun, HowUpdated, Insert, Login, Parameter, Update, Wait,
};
pub use url::{JdbcDialect, JdbcUrl};
