//! Forwards bytes between driver and server, and counts them.

use super::super::connection::{ClientConnection, POLL_INTERVAL};
use super::super::deadline::Deadline;
use super::super::legs::Legs;
use super::super::{KernelFigures, Reply, SessionError};
use super::driver::{Driver, local};
use crate::ErrorReply;
use model::{Direction, Phase, Timestamp};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::AsFd;
use wire::tns;
use wire::tns::messages::{SERVICES, function, message, packet};

pub(super) struct DriverProxy<'a> {
    line: ClientConnection<'a>,
    driver: TcpStream,
    buffer: Box<[u8]>,
    /// Of the exchange in flight: when the driver's first bytes were forwarded, and when the
    /// server's first arrived.
    sent_at: Option<Timestamp>,
    first_byte_at: Option<Timestamp>,
    leg: Option<&'static str>,
    listener: Option<Vec<u8>>,
    over: bool,
}

impl std::fmt::Debug for DriverProxy<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Passage")
            .field("driver", &self.driver)
            .finish_non_exhaustive()
    }
}

/// Dropping it ends both connections, and with the driver's connection the driver's waiting.
impl Drop for DriverProxy<'_> {
    fn drop(&mut self) {
        // It may have ended by itself.
        self.driver.shutdown(Shutdown::Both).ok();
    }
}

impl<'a> DriverProxy<'a> {
    pub(super) fn new(line: ClientConnection<'a>, driver: TcpStream) -> Result<Self, SessionError> {
        driver.set_write_timeout(Some(POLL_INTERVAL)).map_err(local)?;
        Ok(Self {
            line,
            driver,
            buffer: vec![0; ClientConnection::BUFFER].into_boxed_slice(),
            sent_at: None,
            first_byte_at: None,
            leg: None,
            listener: Some(Vec::new()),
            over: false,
        })
    }

    pub(super) fn carry(
        &mut self,
        driver: &mut Driver,
        legs: &mut Legs,
        deadline: &Deadline,
    ) -> Result<String, SessionError> {
        (self.sent_at, self.first_byte_at, self.leg) = (None, None, None);
        loop {
            let server = self.line.transport().socket().as_fd();
            let all = [
                Some(driver.bell().as_fd()),
                Some(self.driver.as_fd()).filter(|_| !self.over),
                Some(server).filter(|_| !self.over),
            ];
            let [has_outcome, speaks, answers] = self.line.stop().until_readable(all, deadline.left()?);
            if answers {
                self.server_speaks(deadline)?;
            } else if has_outcome && let Some(outcome) = driver.outcome() {
                self.end_leg(legs);
                return outcome;
            } else if speaks {
                self.driver_speaks(legs, deadline)?;
            } else {
                self.line.look_up()?;
            }
        }
    }

    pub(super) fn exchange(
        &mut self,
        driver: &mut Driver,
        deadline: &Deadline,
    ) -> Result<Reply, SessionError> {
        let before = self.line.passed();
        let began = self.line.clock().now();
        let error = match self.carry(driver, &mut Legs::begin(began), deadline) {
            Ok(_) => None,
            Err(SessionError::Login { code, text }) => Some(ErrorReply { code, text }),
            Err(error) => return Err(error),
        };
        let passed = self.line.passed();
        let moved = |direction| passed.bytes[direction].saturating_sub(before.bytes[direction]);
        let sent_at = self.sent_at.unwrap_or(began);
        let first_byte_at = self.first_byte_at.unwrap_or(sent_at);
        Ok(Reply {
            sent_at,
            first_byte_at,
            last_byte_at: self.line.arrived().max(first_byte_at),
            turns: passed.turns.saturating_sub(before.turns),
            request_bytes: moved(Direction::ClientToServer),
            reply_bytes: moved(Direction::ServerToClient),
            rows: u64::from(error.is_none()),
            status: None,
            error,
        })
    }

    pub(super) fn server(&self) -> Option<SocketAddr> {
        self.line.transport().socket().peer().ok()
    }

    pub(super) fn kernel(&self) -> Option<KernelFigures> {
        self.line.transport().socket().info()
    }

    fn driver_speaks(&mut self, legs: &mut Legs, deadline: &Deadline) -> Result<(), SessionError> {
        let count = self.driver.read(&mut self.buffer).map_err(local)?;
        let bytes = self.buffer.get(..count).unwrap_or_default();
        if bytes.is_empty() {
            // It has given up, and reports the reason.
            self.over = true;
            return Ok(());
        }
        if self.first_byte_at.is_some() {
            end_leg(legs, &mut self.leg, &self.line);
        }
        self.leg.get_or_insert(leg_name(bytes));
        let at = self.line.send(bytes, deadline)?;
        self.sent_at.get_or_insert(at);
        Ok(())
    }

    fn server_speaks(&mut self, deadline: &Deadline) -> Result<(), SessionError> {
        let bytes = self.line.receive(deadline)?.to_vec();
        if bytes.is_empty() {
            self.over = true;
            return self.driver.shutdown(Shutdown::Write).map_err(local);
        }
        self.first_byte_at.get_or_insert(self.line.arrived());
        if let Some(said) = &mut self.listener {
            said.extend_from_slice(&bytes);
            match tns::answer(said) {
                Ok(None) => {}
                Ok(Some(tns::ListenerAnswer::Resend)) => said.clear(),
                Ok(Some(tns::ListenerAnswer::Redirect { host, port })) => {
                    return Err(SessionError::Redirected {
                        to: host.zip(port).map(|(host, port)| format!("{host}:{port}")),
                    });
                }
                Ok(Some(tns::ListenerAnswer::Accept { .. } | tns::ListenerAnswer::Refuse(_))) | Err(_) => {
                    self.listener = None;
                }
            }
        }
        self.driver.write_all(&bytes).map_err(local)
    }

    fn end_leg(&mut self, legs: &mut Legs) {
        end_leg(legs, &mut self.leg, &self.line);
    }
}

fn end_leg(legs: &mut Legs, leg: &mut Option<&'static str>, line: &ClientConnection<'_>) {
    if let Some(name) = leg.take() {
        legs.end(name, Phase::Login, line.arrived(), line.passed());
    }
}

/// Names the driver's request by the packet's type and the first bytes of its message. Source:
/// python-oracledb, thin mode.
fn leg_name(bytes: &[u8]) -> &'static str {
    let body = bytes.get(10..).unwrap_or_default();
    match (bytes.get(4), body) {
        (Some(&packet::CONNECT), _) => "connect",
        (Some(&packet::DATA), _) if body.starts_with(&SERVICES) => "native services",
        (Some(&packet::DATA), [message::PROTOCOL, ..]) => "protocol",
        (Some(&packet::DATA), [message::DATA_TYPES, ..]) => "data types",
        (Some(&packet::DATA), [message::FAST_AUTH, ..]) => "fast authentication",
        (Some(&packet::DATA), [message::FUNCTION, function::AUTH_PHASE_ONE, ..]) => "authentication 1",
        (Some(&packet::DATA), [message::FUNCTION, function::AUTH_PHASE_TWO, ..]) => "authentication 2",
        _ => "login",
    }
}
