//! A connection as its client sees it: what is sent and what comes is shown to the same decoders that read captures,
//! which tell when a reply is complete.

use super::{Birth, Control, Deadline, LoadError};
use crate::error::{LiveError, OsError};
use crate::session::without_values;
use model::{Content, Direction, Role, Timestamp};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use wire::Decoder;

/// One connection, blocking.
pub(super) struct Conversation<'a> {
    stream: TcpStream,
    decoder: Box<dyn Decoder>,
    control: &'a Control,
    buffer: Box<[u8]>,
    /// Bytes of the buffer that came and were not looked at.
    unread: std::ops::Range<usize>,
    /// Right after the last read.
    last_read: Instant,
}

/// What a reply said.
#[derive(Debug, Default)]
pub(super) struct Reply {
    /// Of HTTP.
    pub status: Option<u16>,
    /// The first error: its code and its text without values.
    pub error: Option<(String, String)>,
    /// The server waits for data instead of having answered.
    pub paused: bool,
    complete: bool,
}

impl<'a> Conversation<'a> {
    /// Connects to `address`, which messages call `server`.
    pub fn open(
        server: &str,
        address: SocketAddr,
        decoder: Box<dyn Decoder>,
        birth: &Birth<'a>,
    ) -> Result<Self, LoadError> {
        let stream = TcpStream::connect_timeout(&address, birth.timeout)
            .map_err(|error| connect_error(server, address, birth.timeout, &error))?;
        // Requests are written whole: there is nothing to wait for. A read that waits is interrupted to look whether
        // the run was ended.
        stream
            .set_nodelay(true)
            .and_then(|()| stream.set_read_timeout(Some(LOOK_UP)))
            .and_then(|()| stream.set_write_timeout(Some(LOOK_UP)))
            .map_err(broken)?;
        Ok(Self {
            stream,
            decoder,
            control: birth.control,
            buffer: vec![0; BUFFER].into_boxed_slice(),
            unread: 0..0,
            last_read: Instant::now(),
        })
    }

    /// Right after the last read.
    pub fn last_read(&self) -> Instant {
        self.last_read
    }

    /// Sends `bytes`.
    pub fn send(&mut self, bytes: &[u8], deadline: &Deadline) -> Result<(), LoadError> {
        let mut left = bytes;
        while !left.is_empty() {
            match self.stream.write(left) {
                Ok(0) => return Err(LoadError::Closed),
                Ok(count) => left = left.get(count..).unwrap_or_default(),
                Err(error) => self.survive(&error, deadline)?,
            }
        }
        let feed = |_: model::Message<'_>| {};
        self.decoder
            .feed(Timestamp::default(), Direction::ClientToServer, bytes, &mut {
                feed
            })?;
        Ok(())
    }

    /// Waits for the complete reply to what was sent last. Bodies and rows are looked at and forgotten.
    pub fn reply(&mut self, deadline: &Deadline) -> Result<Reply, LoadError> {
        let mut reply = Reply::default();
        while !reply.complete && !reply.paused {
            if self.unread.is_empty() && !self.read(deadline)? {
                self.decoder.finish(&mut |message| reply.take(&message));
                return if reply.complete {
                    Ok(reply)
                } else {
                    reply.cut_short()
                };
            }
            let bytes = self
                .buffer
                .get(std::mem::take(&mut self.unread))
                .unwrap_or_default();
            self.decoder.feed(
                Timestamp::default(),
                Direction::ServerToClient,
                bytes,
                &mut |message| {
                    reply.take(&message);
                },
            )?;
        }
        Ok(reply)
    }

    /// Reads what is there, waiting for it; false at the end of the connection.
    fn read(&mut self, deadline: &Deadline) -> Result<bool, LoadError> {
        loop {
            let result = self.stream.read(&mut self.buffer);
            self.last_read = Instant::now();
            match result {
                Ok(count) => {
                    self.unread = 0..count;
                    return Ok(count > 0);
                }
                Err(error) => self.survive(&error, deadline)?,
            }
        }
    }

    /// Goes on after an error that only interrupts.
    fn survive(&self, error: &std::io::Error, deadline: &Deadline) -> Result<(), LoadError> {
        match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted => {}
            ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => return Err(LoadError::Closed),
            _ => {
                return Err(LoadError::Broken {
                    reason: OsError::of(error),
                });
            }
        }
        if self.control.stop.load(Ordering::Relaxed) {
            return Err(LoadError::Stopped);
        }
        deadline.left().map(|_| ())
    }
}

impl Reply {
    fn take(&mut self, message: &model::Message<'_>) {
        match message.content {
            Content::HttpResponse { status } => self.status = Some(status),
            Content::Error { code, text } if self.error.is_none() => {
                let code = String::from_utf8_lossy(code).into_owned();
                self.error = Some((code, without_values(text)));
            }
            _ => {}
        }
        match message.role {
            Role::Reply => self.complete = true,
            Role::ReplyPause => self.paused = true,
            Role::RequestPart
            | Role::Request
            | Role::OneWay
            | Role::ReplyPart
            | Role::Greeting
            | Role::Notice
            | Role::Opaque => {}
        }
    }

    /// The connection ended: with a reason, or without.
    fn cut_short(self) -> Result<Self, LoadError> {
        if self.error.is_some() {
            Ok(self)
        } else {
            Err(LoadError::Closed)
        }
    }
}

fn connect_error(server: &str, address: SocketAddr, after: Duration, error: &std::io::Error) -> LoadError {
    let server = server.to_owned();
    LoadError::Connect(match error.kind() {
        ErrorKind::ConnectionRefused => LiveError::Refused { server, address },
        ErrorKind::TimedOut => LiveError::ConnectTimedOut {
            server,
            address,
            after,
        },
        _ => LiveError::ConnectFailed {
            server,
            address,
            reason: OsError::of(error),
        },
    })
}

fn broken(error: std::io::Error) -> LoadError {
    LoadError::Broken {
        reason: OsError::of(&error),
    }
}

/// How long a read waits before it looks whether the run was ended.
const LOOK_UP: Duration = Duration::from_millis(200);
const BUFFER: usize = 64 * 1024;
