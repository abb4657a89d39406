//! What a reply said, and when.

use super::SessionError;
use super::connection::{ClientConnection, PassedTraffic};
use crate::ErrorReply;
use model::{Content, Direction, Message, Role, Timestamp};
use std::time::Duration;
use wire::Decoder;

/// A complete reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// When the first byte of the request was handed to the kernel.
    pub sent_at: Timestamp,
    /// When the first bytes of the reply came, by the kernel's receive timestamp where the socket gives one.
    pub first_byte_at: Timestamp,
    /// When the last bytes of the reply came, likewise.
    pub last_byte_at: Timestamp,
    /// Round trips: changes from the client's bytes to the server's.
    pub turns: u64,
    /// Payload of the request on the socket; with TLS, ciphertext.
    pub request_bytes: u64,
    /// Payload of the reply, likewise.
    pub reply_bytes: u64,
    /// Rows in it.
    pub rows: u64,
    /// Of HTTP.
    pub status: Option<u16>,
    /// The first error.
    pub error: Option<ErrorReply>,
}

impl Reply {
    /// From the request's first byte to the reply's last.
    pub fn duration(&self) -> Duration {
        self.last_byte_at.since(self.sent_at)
    }
}

/// A reply with the rows of its last result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rows {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Values as text, `None` for NULL.
    pub rows: Vec<Vec<Option<Vec<u8>>>>,
    /// The reply they came with.
    pub reply: Reply,
}

impl Rows {
    /// Bytes of a reply whose rows can be kept.
    pub const LIMIT: usize = 1024 * 1024;

    /// The first value of the first row as text, where there is one that is not NULL.
    pub fn first(&self) -> Option<&str> {
        let value = self.rows.first()?.first()?.as_deref()?;
        std::str::from_utf8(value).ok()
    }
}

/// What is known of replies that are coming, by the messages that a decoder finds in them.
#[derive(Debug, Default)]
pub struct ReplyProgress {
    /// Replies that are complete.
    pub complete: u64,
    /// The server waits for data instead of having answered.
    pub paused: bool,
    /// The first error.
    pub error: Option<ErrorReply>,
    /// Rows that came.
    pub rows: u64,
    /// Of HTTP.
    pub status: Option<u16>,
}

impl ReplyProgress {
    /// The server said `message`.
    pub fn process_message(&mut self, message: &Message<'_>) {
        match message.content {
            Content::HttpResponse { status } => self.status = Some(status),
            Content::Row => self.rows += 1,
            Content::Error { code, text } if self.error.is_none() => {
                self.error = Some(ErrorReply::new(code, text));
            }
            _ => {}
        }
        match message.role {
            Role::Reply => self.complete += 1,
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
}

/// A reply that is coming. Without a decoder any byte is the whole of it.
#[derive(Debug, Default)]
pub(super) struct Listening {
    first_byte_at: Option<Timestamp>,
    /// Requests said.
    requests: u64,
    progress: ReplyProgress,
    /// Bytes came that are not decoded.
    anything: bool,
    kept: Option<Vec<u8>>,
}

impl Listening {
    /// Keeps the bytes of the reply.
    pub fn keeping() -> Self {
        Self {
            kept: Some(Vec::new()),
            ..Self::default()
        }
    }

    /// The client said `message`. What it says in the middle of a reply is owed no other.
    pub fn said(&mut self, message: &Message<'_>) {
        self.requests += u64::from(message.role == Role::Request && !self.progress.paused);
    }

    /// What the server requested in the middle of its reply was said.
    pub const fn goes_on(&mut self) {
        self.progress.paused = false;
    }

    /// Bytes came.
    pub fn came(
        &mut self,
        decoder: Option<&mut (dyn Decoder + Send + 'static)>,
        bytes: &[u8],
    ) -> Result<(), SessionError> {
        if let Some(kept) = &mut self.kept {
            if kept.len() + bytes.len() > super::Rows::LIMIT {
                return Err(SessionError::TooLong {
                    limit: super::Rows::LIMIT,
                });
            }
            kept.extend_from_slice(bytes);
        }
        let Some(decoder) = decoder else {
            self.anything = true;
            return Ok(());
        };
        decoder.feed(
            Timestamp::default(),
            Direction::ServerToClient,
            bytes,
            &mut |message| self.progress.process_message(&message),
        )?;
        Ok(())
    }

    /// When the bytes had come that came last.
    pub fn stamp(&mut self, at: Timestamp) {
        self.first_byte_at.get_or_insert(at);
    }

    /// Whether all replies are complete.
    pub const fn is_over(&self) -> bool {
        self.anything || (self.progress.complete > 0 && self.progress.complete >= self.requests)
    }

    /// Whether the server waits for more of the client in the middle of a reply.
    pub const fn is_asked_for_data(&self) -> bool {
        self.progress.paused
    }

    /// The connection ended: with the end of the reply, with a reason, or without.
    pub fn ended(
        mut self,
        decoder: Option<&mut (dyn Decoder + Send + 'static)>,
        sent_at: Timestamp,
        before: PassedTraffic,
        line: &ClientConnection<'_>,
    ) -> Result<(Reply, Vec<u8>), SessionError> {
        if let Some(decoder) = decoder {
            decoder.finish(&mut |message| self.progress.process_message(&message));
        }
        if self.is_over() || self.progress.error.is_some() {
            Ok(self.reply(sent_at, before, line))
        } else {
            Err(SessionError::Closed)
        }
    }

    /// The reply, and its bytes where they were to be kept.
    pub fn reply(
        self,
        sent_at: Timestamp,
        before: PassedTraffic,
        line: &ClientConnection<'_>,
    ) -> (Reply, Vec<u8>) {
        let passed = line.passed();
        let moved = |index: usize| passed.bytes[index].saturating_sub(before.bytes[index]);
        let last_byte_at = line.arrived().max(sent_at);
        let reply = Reply {
            sent_at,
            first_byte_at: self.first_byte_at.unwrap_or(last_byte_at).max(sent_at),
            last_byte_at,
            turns: passed.turns.saturating_sub(before.turns),
            request_bytes: moved(Direction::ClientToServer.index()),
            reply_bytes: moved(Direction::ServerToClient.index()),
            rows: self.progress.rows,
            status: self.progress.status,
            error: self.progress.error,
        };
        (reply, self.kept.unwrap_or_default())
    }
}
