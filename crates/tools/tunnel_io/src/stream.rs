//! The socket of one stream: a client's at the near end, the database's at the far end.

use super::login::{Login, Part};
use model::{Direction, Timestamp};
use std::net::SocketAddr;
use sys::error::OsError;
use sys::socket::{Sent, Socket};

#[derive(Debug)]
pub(super) struct Local {
    pub socket: Socket,
    pub peer: SocketAddr,
    pub state: SocketState,
    /// Bytes not yet accepted by the socket; bounded by the lane's window.
    waiting: Vec<u8>,
    /// The part of them already written.
    taken: usize,
    end: Ending,
    /// Whether an end or an error is known to be readable.
    pub ending: bool,
    /// Detects the end of the login; `None` if logins are compressed too.
    login: Option<Login>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SocketState {
    /// Waits for the database to accept.
    Connecting {
        address: SocketAddr,
        next: usize,
        since: Timestamp,
    },
    Open,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    NotYet,
    /// The socket is shut down after all earlier bytes.
    Came,
    PassedOn,
}

impl Local {
    pub fn new(socket: Socket, state: SocketState, peer: SocketAddr) -> Self {
        // Receive timestamps are not needed here.
        socket.forget_stamps();
        Self {
            socket,
            peer,
            state,
            waiting: Vec::new(),
            taken: 0,
            end: Ending::NotYet,
            ending: false,
            login: None,
        }
    }

    /// Excludes the login from compression. `server_port`, if known, is a hint.
    pub fn watch_login(&mut self, server_port: Option<u16>) {
        self.login = Some(Login::new(server_port));
    }

    /// Classifies bytes of either direction, in the order in which they pass; only [`Part::Work`]
    /// is compressed.
    pub fn part(&mut self, direction: Direction, bytes: &[u8]) -> Part {
        match &mut self.login {
            None => Part::Work,
            Some(login) => login.pass(direction, bytes),
        }
    }

    pub fn instead(self, socket: Socket, state: SocketState) -> Self {
        Self {
            socket,
            state,
            ..self
        }
    }

    pub fn is_open(&self) -> bool {
        self.state == SocketState::Open
    }

    /// Writes `bytes` and keeps the rest; returns how many the socket accepted.
    pub fn deliver(&mut self, bytes: &[u8]) -> Result<usize, OsError> {
        let taken = if self.is_open() && self.waiting.is_empty() {
            match self.socket.send(bytes) {
                Sent::Bytes(count) => count,
                Sent::Broken(reason) => return Err(reason),
            }
        } else {
            0
        };
        self.waiting
            .extend_from_slice(bytes.get(taken..).unwrap_or_default());
        Ok(taken)
    }

    /// Writes kept bytes and returns how many the socket accepted.
    pub fn flush(&mut self) -> Result<usize, OsError> {
        if !self.is_open() {
            return Ok(0);
        }
        let before = self.taken;
        while let Some(rest) = self.waiting.get(self.taken..).filter(|rest| !rest.is_empty()) {
            match self.socket.send(rest) {
                Sent::Bytes(0) => break,
                Sent::Bytes(count) => self.taken += count,
                Sent::Broken(reason) => return Err(reason),
            }
        }
        let taken = self.taken - before;
        self.forget_taken();
        self.pass_end();
        Ok(taken)
    }

    pub fn finish(&mut self) {
        self.end = Ending::Came;
        self.pass_end();
    }

    /// Whether the socket was shut down for writing.
    pub fn is_finished(&self) -> bool {
        self.end == Ending::PassedOn
    }

    fn pass_end(&mut self) {
        if self.end == Ending::Came && self.waiting.is_empty() && self.is_open() {
            self.socket.finish();
            self.end = Ending::PassedOn;
        }
    }

    fn forget_taken(&mut self) {
        if self.taken == self.waiting.len() {
            self.taken = 0;
            if self.waiting.capacity() > KEPT {
                self.waiting = Vec::new();
            } else {
                self.waiting.clear();
            }
        } else if self.taken > self.waiting.len() / 2 {
            self.waiting.drain(..self.taken);
            self.taken = 0;
        }
    }
}

/// A larger empty buffer is freed.
const KEPT: usize = 32 * 1024;
