//! The socket of one stream: a client's at the near end, the database's at the far end.

use super::login::{Login, Part};
use model::{Direction, Timestamp};
use std::net::SocketAddr;
use sys::error::OsError;
use sys::socket::{Sent, Socket};

/// One stream's socket and what came over the lane for it.
#[derive(Debug)]
pub(super) struct Local {
    pub socket: Socket,
    /// Its other end.
    pub peer: SocketAddr,
    pub state: SocketState,
    /// Bytes that the socket has not taken; never more than the lane's window allows.
    waiting: Vec<u8>,
    /// How many of them it has taken by now.
    taken: usize,
    end: Ending,
    /// An end or an error is known to be among what may be read.
    pub ending: bool,
    /// Finds the end of the login; `None` if that is compressed, too.
    login: Option<Login>,
}

/// How far a stream's socket is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SocketState {
    /// The database has not accepted yet.
    Connecting {
        /// Which of its addresses is tried.
        address: SocketAddr,
        /// The place of the next in the list.
        next: usize,
        /// When this try began.
        since: Timestamp,
    },
    Open,
}

/// The outcome of the end of the bytes that come over the lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    NotYet,
    /// The socket is informed when it has taken everything before it.
    Came,
    PassedOn,
}

impl Local {
    pub fn new(socket: Socket, state: SocketState, peer: SocketAddr) -> Self {
        // When the kernel got what is read does not matter here.
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

    /// Has its login watched, which is not to be compressed. The server's port, where it is known, is a hint.
    pub fn watch_login(&mut self, server_port: Option<u16>) {
        self.login = Some(Login::new(server_port));
    }

    /// Takes bytes of either direction, in the order in which they pass, and says what they belong to: only
    /// work is compressed.
    pub fn part(&mut self, direction: Direction, bytes: &[u8]) -> Part {
        match &mut self.login {
            None => Part::Work,
            Some(login) => login.pass(direction, bytes),
        }
    }

    /// The same stream with another socket.
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

    /// Passes `bytes` on and keeps what the socket does not take; returns how many it took.
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

    /// The socket may take more of what waits; returns how many bytes it took.
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

    /// No more will come over the lane.
    pub fn finish(&mut self) {
        self.end = Ending::Came;
        self.pass_end();
    }

    /// Whether the socket was informed that no more will come.
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

/// Room for what waits is given back when nothing does, beyond this.
const KEPT: usize = 32 * 1024;
