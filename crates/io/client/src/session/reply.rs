//! Content and times of a reply.

use super::SessionError;
use super::connection::{ClientConnection, PassedTraffic};
use crate::ErrorReply;
use model::{Content, Direction, Message, Role, Timestamp};
use std::time::Duration;
use wire::Decoder;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// When the first byte of the request was handed to the kernel.
    pub sent_at: Timestamp,
    /// Arrival of the first bytes, by the kernel's receive timestamp if available.
    pub first_byte_at: Timestamp,
    /// Arrival of the last bytes, likewise.
    pub last_byte_at: Timestamp,
    /// Changes from the client's bytes to the server's.
    pub turns: u64,
    /// Payload of the request on the socket, ciphertext with TLS.
    pub request_bytes: u64,
    /// Payload of the reply, likewise.
    pub reply_bytes: u64,
    pub rows: u64,
    /// Status code of an HTTP response.
    pub status: Option<u16>,
    /// The first error in the reply.
    pub error: Option<ErrorReply>,
}

impl Reply {
    pub fn duration(&self) -> Duration {
        self.last_byte_at.since(self.sent_at)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rows {
    pub columns: Vec<String>,
    /// Values as text, `None` for NULL.
    pub rows: Vec<Vec<Option<Vec<u8>>>>,
    pub reply: Reply,
}

impl Rows {
    /// Maximum bytes of a reply with kept rows.
    pub const LIMIT: usize = 1024 * 1024;

    /// The first value of the first row as text; `None` if it is missing or NULL.
    pub fn first(&self) -> Option<&str> {
        let value = self.rows.first()?.first()?.as_deref()?;
        std::str::from_utf8(value).ok()
    }
}

/// Progress of pending replies, by the decoder's messages.
#[derive(Debug, Default)]
pub struct ReplyProgress {
    pub complete: u64,
    /// The server waits for data instead of having answered.
    pub paused: bool,
    pub error: Option<ErrorReply>,
    pub rows: u64,
    pub status: Option<u16>,
}

impl ReplyProgress {
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

/// A pending reply. Without a decoder any byte completes it.
#[derive(Debug, Default)]
pub(super) struct Listening {
    first_byte_at: Option<Timestamp>,
    requests: u64,
    progress: ReplyProgress,
    anything: bool,
    kept: Option<Vec<u8>>,
}

impl Listening {
    pub fn keeping() -> Self {
        Self {
            kept: Some(Vec::new()),
            ..Self::default()
        }
    }

    /// A message of the client. Within a reply it has no other reply.
    pub fn said(&mut self, message: &Message<'_>) {
        self.requests += u64::from(message.role == Role::Request && !self.progress.paused);
    }

    pub const fn goes_on(&mut self) {
        self.progress.paused = false;
    }

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
            &mut |message| self.progress.process_message(message),
        )?;
        Ok(())
    }

    pub fn stamp(&mut self, at: Timestamp) {
        self.first_byte_at.get_or_insert(at);
    }

    pub const fn is_over(&self) -> bool {
        self.anything || (self.progress.complete > 0 && self.progress.complete >= self.requests)
    }

    /// Whether the server waits for data of the client within a reply.
    pub const fn is_asked_for_data(&self) -> bool {
        self.progress.paused
    }

    pub fn ended(
        mut self,
        decoder: Option<&mut (dyn Decoder + Send + 'static)>,
        sent_at: Timestamp,
        before: PassedTraffic,
        line: &ClientConnection<'_>,
    ) -> Result<(Reply, Vec<u8>), SessionError> {
        if let Some(decoder) = decoder {
            decoder.finish(&mut |message| self.progress.process_message(message));
        }
        if self.is_over() || self.progress.error.is_some() {
            Ok(self.reply(sent_at, before, line))
        } else {
            Err(SessionError::Closed)
        }
    }

    pub fn reply(
        self,
        sent_at: Timestamp,
        before: PassedTraffic,
        line: &ClientConnection<'_>,
    ) -> (Reply, Vec<u8>) {
        let passed = line.passed();
        let moved = |direction| passed.bytes[direction].saturating_sub(before.bytes[direction]);
        let last_byte_at = line.arrived().max(sent_at);
        let reply = Reply {
            sent_at,
            first_byte_at: self.first_byte_at.unwrap_or(last_byte_at).max(sent_at),
            last_byte_at,
            turns: passed.turns.saturating_sub(before.turns),
            request_bytes: moved(Direction::ClientToServer),
            reply_bytes: moved(Direction::ServerToClient),
            rows: self.progress.rows,
            status: self.progress.status,
            error: self.progress.error,
        };
        (reply, self.kept.unwrap_or_default())
    }
}
