//! Requests, read within limits.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Instant;

/// A request, as far as it is looked at.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// Without the query.
    pub(crate) path: String,
    pub(crate) user_agent: String,
    pub(crate) body: Vec<u8>,
}

/// Why there is no request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum RequestError {
    /// What arrived is answered with this status and reason.
    Refused(u16, &'static str),
    /// The client has left.
    Gone,
}

/// How the body's length is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BodyLength {
    Exact(usize),
    Chunked,
}

/// What a head says.
struct Head {
    request: Request,
    length: BodyLength,
    /// Whether the client waits for leave to send the body.
    asks_leave: bool,
}

/// Reads from a client, until a point in time.
struct Incoming<'a> {
    stream: &'a TcpStream,
    deadline: Instant,
    bytes: Vec<u8>,
}

impl Request {
    /// Reads one; it has to be complete by `deadline`.
    pub(crate) fn read(stream: &TcpStream, deadline: Instant) -> Result<Self, RequestError> {
        let mut incoming = Incoming {
            stream,
            deadline,
            bytes: Vec::new(),
        };
        let end = loop {
            if let Some(end) = find(&incoming.bytes, b"\r\n\r\n") {
                break end;
            }
            if incoming.bytes.len() > MOST_HEAD {
                return Err(RequestError::Refused(431, "the request's head is too large"));
            }
            incoming.more()?;
        };
        let mut head = Head::parse(incoming.bytes.get(..end).unwrap_or_default())?;
        incoming.bytes.drain(..end + 4);
        if head.asks_leave {
            let mut stream = stream;
            let leave = stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n");
            leave.map_err(|_| RequestError::Gone)?;
        }
        head.request.body = match head.length {
            BodyLength::Exact(length) => incoming.take(length)?,
            BodyLength::Chunked => incoming.chunks()?,
        };
        Ok(head.request)
    }
}

impl Head {
    fn parse(head: &[u8]) -> Result<Self, RequestError> {
        let text =
            std::str::from_utf8(head).map_err(|_| RequestError::Refused(400, "the request is not text"))?;
        let mut lines = text.split("\r\n");
        let mut words = lines.next().unwrap_or_default().split(' ');
        let (Some(method), Some(target), Some(version), None) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return Err(RequestError::Refused(400, "the request line is not understood"));
        };
        if !version.starts_with("HTTP/1.") || !target.starts_with('/') {
            return Err(RequestError::Refused(400, "the request line is not understood"));
        }
        let path = target.split(['?', '#']).next().unwrap_or_default();
        let mut read = Self {
            request: Request {
                method: method.to_owned(),
                path: path.to_owned(),
                ..Request::default()
            },
            length: BodyLength::Exact(0),
            asks_leave: false,
        };
        for line in lines {
            let (name, value) = line
                .split_once(':')
                .ok_or(RequestError::Refused(400, "a header is not understood"))?;
            read.header(&name.to_ascii_lowercase(), value.trim())?;
        }
        Ok(read)
    }

    fn header(&mut self, name: &str, value: &str) -> Result<(), RequestError> {
        match name {
            "user-agent" => value.clone_into(&mut self.request.user_agent),
            "expect" => self.asks_leave = value.eq_ignore_ascii_case("100-continue"),
            "transfer-encoding" if value.eq_ignore_ascii_case("chunked") => self.length = BodyLength::Chunked,
            "transfer-encoding" => {
                return Err(RequestError::Refused(411, "the transfer encoding is unknown"));
            }
            "content-length" => {
                let length: u64 = value
                    .parse()
                    .map_err(|_| RequestError::Refused(400, "the length is not understood"))?;
                let length = usize::try_from(length).unwrap_or(usize::MAX);
                if length > MOST_BODY {
                    return Err(TOO_LARGE);
                }
                if self.length != BodyLength::Chunked {
                    self.length = BodyLength::Exact(length);
                }
            }
            _ => {}
        }
        Ok(())
    }
}

impl Incoming<'_> {
    fn more(&mut self) -> Result<(), RequestError> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        let late = RequestError::Refused(408, "the request took too long");
        if left.is_zero() || self.stream.set_read_timeout(Some(left)).is_err() {
            return Err(late);
        }
        let mut buffer = [0; 16 * 1024];
        let mut stream = self.stream;
        match stream.read(&mut buffer) {
            Ok(0) => Err(RequestError::Gone),
            Ok(count) => {
                self.bytes
                    .extend_from_slice(buffer.get(..count).unwrap_or_default());
                Ok(())
            }
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::TimedOut => Err(late),
                ErrorKind::Interrupted => Ok(()),
                _ => Err(RequestError::Gone),
            },
        }
    }

    fn take(&mut self, length: usize) -> Result<Vec<u8>, RequestError> {
        while self.bytes.len() < length {
            self.more()?;
        }
        Ok(self.bytes.drain(..length).collect())
    }

    /// A body in chunks (RFC 9112, section 7.1). Trailers are left unread.
    fn chunks(&mut self) -> Result<Vec<u8>, RequestError> {
        let mut body = Vec::new();
        loop {
            let line = self.line()?;
            let digits = line.split(';').next().unwrap_or_default().trim();
            let wrong = RequestError::Refused(400, "a chunk's size is not understood");
            let size = usize::from_str_radix(digits, 16).map_err(|_| wrong)?;
            if size > MOST_BODY - body.len() {
                return Err(TOO_LARGE);
            }
            if size == 0 {
                return Ok(body);
            }
            body.extend(self.take(size)?);
            self.take(2)?;
        }
    }

    fn line(&mut self) -> Result<String, RequestError> {
        loop {
            if let Some(end) = find(&self.bytes, b"\r\n") {
                let line = self.take(end)?;
                self.take(2)?;
                return Ok(String::from_utf8_lossy(&line).into_owned());
            }
            if self.bytes.len() > MOST_LINE {
                return Err(RequestError::Refused(400, "a chunk's size is not understood"));
            }
            self.more()?;
        }
    }
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

const TOO_LARGE: RequestError = RequestError::Refused(413, "the request's body is too large: 1 MiB at most");
const MOST_HEAD: usize = 16 * 1024;
const MOST_BODY: usize = 1024 * 1024;
const MOST_LINE: usize = 1024;
