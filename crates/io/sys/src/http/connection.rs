//! Reads a request and sends the answer within a time limit.

use super::request::{Arrival, HttpRequest, RequestReader};
use super::{HttpLimits, HttpResponse};
use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, TcpStream};
use std::time::{Duration, Instant};

pub(super) type Answering = dyn FnMut(&HttpRequest) -> HttpResponse + Send;

#[derive(Debug)]
pub(super) struct Connection {
    pub(super) stream: TcpStream,
    pub(super) peer: IpAddr,
    pub(super) deadline: Instant,
    limits: HttpLimits,
    state: State,
}

#[derive(Debug)]
enum State {
    Reads(RequestReader),
    /// The answer, and the number of bytes sent.
    Sends(Vec<u8>, usize),
    /// Reads the client's remaining bytes, since closing with unread bytes would discard the
    /// answer.
    Lingers,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Waits,
    GoesOn,
    Over,
}

impl Connection {
    pub(super) fn new(stream: TcpStream, peer: IpAddr, limits: HttpLimits, now: Instant) -> Self {
        Self {
            stream,
            peer,
            deadline: now + limits.time,
            limits,
            state: State::Reads(RequestReader::new(limits.body)),
        }
    }

    pub(super) fn held_bytes(&self) -> usize {
        match &self.state {
            State::Reads(reader) => reader.held_bytes(),
            State::Sends(bytes, _) => bytes.capacity(),
            State::Lingers => 0,
        }
    }

    pub(super) fn advance(&mut self, answering: &mut Answering, now: Instant) -> Fate {
        if let State::Reads(_) = self.state {
            match self.read_request(answering, now) {
                Fate::GoesOn => {}
                fate => return fate,
            }
        }
        if let State::Sends(..) = self.state {
            match self.send(now) {
                Fate::GoesOn => {}
                fate => return fate,
            }
        }
        self.discard()
    }

    /// Answers an incomplete request without blocking.
    pub(super) fn expire(&mut self, now: Instant) -> Fate {
        let State::Reads(reader) = &self.state else {
            return Fate::Over;
        };
        if reader.held_bytes() == 0 {
            return Fate::Over;
        }
        self.answer(&refused(408, "the request took too long"), now);
        self.deadline = now + LINGER;
        match self.send(now) {
            Fate::Waits => Fate::Waits,
            Fate::GoesOn => self.discard(),
            Fate::Over => Fate::Over,
        }
    }

    fn answer(&mut self, answer: &HttpResponse, now: Instant) {
        self.state = State::Sends(answer.to_bytes(), 0);
        self.deadline = now + self.limits.time;
    }

    /// Returns [`Fate::GoesOn`] when there is an answer.
    fn read_request(&mut self, answering: &mut Answering, now: Instant) -> Fate {
        let mut buffer = [0; PART];
        loop {
            let State::Reads(reader) = &mut self.state else {
                return Fate::GoesOn;
            };
            let count = match self.stream.read(&mut buffer) {
                Ok(0) => return Fate::Over,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return waits(&error),
            };
            match reader.feed(buffer.get(..count).unwrap_or_default()) {
                Ok(Arrival::Partly) => {}
                // A socket without earlier output has room for this.
                Ok(Arrival::AsksLeave) => match self.stream.write(LEAVE) {
                    Ok(count) if count == LEAVE.len() => {}
                    _ => return Fate::Over,
                },
                Ok(Arrival::Whole(mut request)) => {
                    request.local_address = self.stream.local_addr().ok();
                    self.answer(&answering(&request), now);
                }
                Err(refusal) => self.answer(&refused(refusal.0, refusal.1), now),
            }
        }
    }

    /// Returns [`Fate::GoesOn`] when all is sent.
    fn send(&mut self, now: Instant) -> Fate {
        loop {
            let State::Sends(bytes, sent) = &mut self.state else {
                return Fate::GoesOn;
            };
            let rest = bytes.get(*sent..).unwrap_or_default();
            if rest.is_empty() {
                self.state = State::Lingers;
                self.deadline = now + LINGER;
                if self.stream.shutdown(Shutdown::Write).is_err() {
                    return Fate::Over;
                }
                return Fate::GoesOn;
            }
            match self.stream.write(rest) {
                Ok(count) => *sent += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return waits(&error),
            }
        }
    }

    fn discard(&mut self) -> Fate {
        let mut buffer = [0; PART];
        for _ in 0..PARTS_A_ROUND {
            match self.stream.read(&mut buffer) {
                Ok(0) => return Fate::Over,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return waits(&error),
            }
        }
        Fate::GoesOn
    }
}

fn refused(status: u16, reason: &str) -> HttpResponse {
    // A constant from this file, without characters to escape.
    let body = format!("{{\"error\":\"{reason}\",\"status\":{status}}}");
    HttpResponse::new(status, "application/json", body)
}

fn waits(error: &io::Error) -> Fate {
    match error.kind() {
        io::ErrorKind::WouldBlock => Fate::Waits,
        _ => Fate::Over,
    }
}

const LEAVE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";
const PART: usize = 16 * 1024;
/// Maximum reads that are discarded from a connection before others are served.
const PARTS_A_ROUND: usize = 16;
/// For reading the client's remaining bytes after its answer.
const LINGER: Duration = Duration::from_secs(1);
