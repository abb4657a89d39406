//! Sessions on Oracle Database, through Oracle's own thin driver.
//!
//! The driver has no timing and hides its socket. So it connects to a loopback address, and this
//! session forwards its bytes to the server. Traffic is counted and stamped by the kernel as in
//! every other session. The local hop affects only the legs of the login, which include the
//! driver's own time (some 50 to 100 us a round trip).
//!
//! Tested without a database only, with a scripted listener: see docs/protocols/oracle.md.

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

#[derive(Debug)]
pub struct OracleSession<'a> {
    passage: DriverProxy<'a>,
    driver: Driver,
    legs: Legs,
    version: String,
}

impl<'a> OracleSession<'a> {
    /// Connects, and logs in through the driver with the target's user and password to the service
    /// in its path.
    ///
    /// # Errors
    /// As [`super::Session::open`]; [`SessionError::Redirected`] if the listener redirects the
    /// client.
    pub fn open(target: &Target, options: SessionOptions<'a>) -> Result<Self, SessionError> {
        let deadline = Deadline::after(options.timeout);
        // TLS to Oracle is not supported: this reports it.
        sys::tls::configure(target, &sys::TlsSettings::from_target(target)?)?;
        let (line, mut legs) = opening::connect(target, options, &deadline)?;
        let (mut driver, stream) = Driver::start(target, &deadline, line.stop())?;
        let mut passage = DriverProxy::new(line, stream)?;
        let version = passage.carry(&mut driver, &mut legs, &deadline)?;
        Ok(Self {
            passage,
            driver,
            legs,
            version,
        })
    }

    /// Runs a query of one row. The reply ends when the driver has the row.
    ///
    /// # Errors
    /// [`SessionError::TimedOut`], [`SessionError::Closed`], [`SessionError::Broken`],
    /// [`SessionError::Stopped`]. An error of the statement is in the reply.
    pub fn query(&mut self, sql: &str, timeout: Duration) -> Result<Reply, SessionError> {
        self.driver.send_request(sql)?;
        self.passage.exchange(&mut self.driver, &Deadline::after(timeout))
    }

    pub fn legs(&self) -> &[Leg] {
        self.legs.as_slice()
    }

    pub fn server_version(&self) -> &str {
        &self.version
    }

    pub fn server(&self) -> Option<SocketAddr> {
        self.passage.server()
    }

    pub fn kernel(&self) -> Option<KernelFigures> {
        self.passage.kernel()
    }
}
