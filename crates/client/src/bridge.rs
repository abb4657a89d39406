//! The bridge: a database asked through its JDBC driver, in a helper process with a Java machine of its own.
//!
//! [`Bridge::start`] starts it with the drivers on its class path, [`Bridge::connect`] has it open a
//! connection, which then runs statements and jobs and reports what each took, timed in Java around the
//! driver's call. `bridges/jdbc/PROTOCOL.md` has the frames that pass. The process ends with its [`Bridge`],
//! and when longwire is gone: its standard input ends then.
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

pub use connection::{BridgeConnection, Introduction};
pub use driver::DriverFiles;
pub use error::BridgeError;
pub use process::{Bridge, BridgeOptions, Overhead};
pub use request::{
    Column, Execute, Executed, HowInserted, HowRun, HowUpdated, Insert, Login, Parameter, Update, Wait,
};
pub use url::{JdbcDialect, JdbcUrl};
