//! Sessions on Oracle Database, by Oracle's own thin driver.
//!
//! The driver times nothing and hides its socket. So it is given a loopback address, behind which this
//! session has the connection to the server: what the driver says is passed on, and what passes is counted
//! and stamped by the kernel as in every other session. The way to the driver is in no figure but the legs of
//! the login, each of which holds what the driver itself takes (some 50 to 100 us a round trip).
//!
//! Checked without a database only, against a scripted listener: see docs/protocols/oracle.md.

mod driver;
mod driver_proxy;
#[cfg(test)]
mod tests;

use super::deadline::Deadline;
use super::legs::Legs;
use super::{KernelFigures, Reply, SessionError, SessionOptions, opening};
use driver::Driver;
use driver_proxy::DriverProxy;
use model::Leg;
use std::net::SocketAddr;
use std::time::Duration;
use sys::target::Target;

/// A session on Oracle Database, logged in.
#[derive(Debug)]
pub struct OracleSession<'a> {
    passage: DriverProxy<'a>,
    driver: Driver,
    legs: Legs,
    version: String,
}

impl<'a> OracleSession<'a> {
    /// Connects, and has the driver log in with the target's user and password to the service that its path
    /// names.
    ///
    /// # Errors
    /// As [`super::Session::open`]; [`SessionError::Redirected`] when the listener sends clients elsewhere.
    pub fn open(target: &Target, options: SessionOptions<'a>) -> Result<Self, SessionError> {
        let deadline = Deadline::after(options.timeout);
        // TLS towards Oracle is not supported: this reports it.
        sys::tls::configure(target, &sys::TlsSettings::from_target(target)?)?;
        let (line, mut legs) = opening::connect(target, options, &deadline)?;
        let (mut driver, stream) = Driver::start(target, &deadline)?;
        let mut passage = DriverProxy::new(line, stream)?;
        let version = passage.carry(&mut driver, &mut legs, &deadline)?;
        Ok(Self {
            passage,
            driver,
            legs,
            version,
        })
    }

    /// Runs a query of one row. Its reply is all that the server says until the driver has the row.
    ///
    /// # Errors
    /// [`SessionError::TimedOut`], [`SessionError::Closed`], [`SessionError::Broken`],
    /// [`SessionError::Stopped`]. An error of the statement is in the reply.
    pub fn query(&mut self, sql: &str, timeout: Duration) -> Result<Reply, SessionError> {
        self.driver.send_request(sql)?;
        self.passage.exchange(&mut self.driver, &Deadline::after(timeout))
    }

    /// The legs of opening it, one after another.
    pub fn legs(&self) -> &[Leg] {
        self.legs.as_slice()
    }

    /// The server's product and version as it was reported to the driver.
    pub fn server_version(&self) -> &str {
        &self.version
    }

    /// The server's address.
    pub fn server(&self) -> Option<SocketAddr> {
        self.passage.server()
    }

    /// The kernel's own figures for the connection to the server now.
    pub fn kernel(&self) -> Option<KernelFigures> {
        self.passage.kernel()
    }
}
