//! Messages of the server.

use super::codes::{error_field, transaction};
use super::messages::backend::{
    AUTHENTICATION, BIND_COMPLETE, CLOSE_COMPLETE, COMMAND_COMPLETE, COPY_BOTH_RESPONSE, COPY_DATA,
    COPY_DONE, COPY_IN_RESPONSE, DATA_ROW, EMPTY_QUERY_RESPONSE, ERROR_RESPONSE, NO_DATA, NOTICE_RESPONSE,
    NOTIFICATION_RESPONSE, PARAMETER_STATUS, PARSE_COMPLETE, PORTAL_SUSPENDED, READY_FOR_QUERY,
    ROW_DESCRIPTION,
};
use super::reply_queue::PendingReply;
use super::shape::ANSWER_HEADER;
use super::{Copying, Session, message};
use crate::decoding::decoder::MessageSink;
use crate::decoding::framing::Frame;
use crate::decoding::reader::Reader;
use model::{Content, Direction, Message, Phase, Role, TransactionState};

impl Session {
    pub(super) fn server(&mut self, frame: &Frame<'_>, sink: &mut MessageSink<'_>) {
        if frame.header.len() == ANSWER_HEADER {
            return self.answer(frame, sink);
        }
        self.shapes.server_is_plain = true;
        let phase = self.phase;
        let mut content = Content::Other;
        if let Some(columns) = self.columns(frame) {
            let announced = message(frame, Direction::ServerToClient, Role::ReplyPart, phase, columns);
            sink(&Message {
                bytes: 0,
                ..announced
            });
        }
        let role = match frame.header.first().copied() {
            Some(DATA_ROW) => {
                content = Content::Row;
                Role::ReplyPart
            }
            Some(COPY_DATA) if self.copy == Copying::Both => Role::Notice,
            Some(PARSE_COMPLETE) => self.resolve_reply(PendingReply::Parse),
            Some(BIND_COMPLETE) => self.resolve_reply(PendingReply::Bind),
            Some(CLOSE_COMPLETE) => self.resolve_reply(PendingReply::Close),
            Some(ROW_DESCRIPTION | NO_DATA) => self.resolve_reply(PendingReply::Describe),
            Some(PORTAL_SUSPENDED) => self.resolve_reply(PendingReply::Execute),
            Some(COMMAND_COMPLETE) => {
                content = done(tag_rows(frame.body));
                self.resolve_reply(PendingReply::Execute)
            }
            Some(EMPTY_QUERY_RESPONSE) => {
                content = done(None);
                self.resolve_reply(PendingReply::Execute)
            }
            Some(READY_FOR_QUERY) => {
                content = frame
                    .body
                    .first()
                    .copied()
                    .and_then(state)
                    .map_or(content, Content::Ready);
                self.ready(frame, content, sink)
            }
            Some(ERROR_RESPONSE) => {
                content = error(frame.body);
                self.error(frame, sink)
            }
            Some(PARAMETER_STATUS) => {
                content = parameter_status(frame.body);
                self.unasked()
            }
            Some(NOTICE_RESPONSE | NOTIFICATION_RESPONSE) => self.unasked(),
            Some(AUTHENTICATION) => self.authentication(frame),
            Some(COPY_IN_RESPONSE) => self.copy_in(),
            Some(COPY_BOTH_RESPONSE) => {
                self.copy = Copying::Both;
                self.pending.resolve_ready();
                Role::Reply
            }
            Some(COPY_DONE) if self.copy == Copying::Both && !self.pending.has_request() => Role::Notice,
            _ => Role::ReplyPart,
        };
        let phase = if phase == Phase::Work { self.phase } else { phase };
        sink(&message(frame, Direction::ServerToClient, role, phase, content));
    }

    fn columns(&mut self, frame: &Frame<'_>) -> Option<Content<'static>> {
        match frame.header.first().copied() {
            Some(DATA_ROW) => self.columns.row(frame.body, &mut self.prepared),
            Some(COMMAND_COMPLETE | EMPTY_QUERY_RESPONSE | PORTAL_SUSPENDED) => {
                self.columns.execution_ended(frame.body, &mut self.prepared)
            }
            Some(ERROR_RESPONSE) => {
                self.columns.skip();
                None
            }
            _ => None,
        }
    }

    /// The answer to `pending_reply` is complete. If a `Flush` follows, the client may be waiting
    /// for it.
    fn resolve_reply(&mut self, pending_reply: PendingReply) -> Role {
        if !self.pending.resolve_reply(pending_reply) || !self.pending.resolve_reply(PendingReply::Flush) {
            Role::ReplyPart
        } else if self.pending.is_empty() {
            Role::ReplyPause
        } else {
            Role::Reply
        }
    }

    fn ready(&mut self, frame: &Frame<'_>, content: Content<'_>, sink: &mut MessageSink<'_>) -> Role {
        let unanswered = self.pending.resolve_ready();
        self.answer_with_nothing(unanswered, frame, sink);
        self.phase = Phase::Work;
        self.copy = Copying::No;
        self.doubt = false;
        if content == Content::Ready(TransactionState::Idle) && self.pending.is_empty() {
            self.prepared.close_portals();
        }
        Role::Reply
    }

    fn error(&mut self, frame: &Frame<'_>, sink: &mut MessageSink<'_>) -> Role {
        if self.shapes.negotiating || self.phase == Phase::Login {
            self.shapes.negotiating = false;
            self.pending.resolve_reply(PendingReply::Leg);
            return Role::Reply;
        }
        let copying = std::mem::replace(&mut self.copy, Copying::No);
        let asked = self.pending.has_request();
        let role = match self.pending.front() {
            None if copying == Copying::No || copying == Copying::Both => Role::Notice,
            None | Some(PendingReply::Query | PendingReply::Sync | PendingReply::Leg) => Role::ReplyPart,
            Some(_) => {
                let skipped = self.pending.skip_to_sync();
                self.skipping = self.pending.is_empty();
                self.answer_with_nothing(skipped.saturating_sub(1), frame, sink);
                match skipped {
                    0 => Role::ReplyPart,
                    _ if self.pending.is_empty() => Role::ReplyPause,
                    _ => Role::Reply,
                }
            }
        };
        if asked && is_fatal(frame.body) {
            Role::Reply
        } else {
            role
        }
    }

    fn answer_with_nothing(&self, requests: usize, frame: &Frame<'_>, sink: &mut MessageSink<'_>) {
        for _ in 0..requests {
            sink(&Message {
                bytes: 0,
                ..message(
                    frame,
                    Direction::ServerToClient,
                    Role::Reply,
                    self.phase,
                    Content::Other,
                )
            });
        }
    }

    fn unasked(&self) -> Role {
        if self.pending.has_request() && !matches!(self.copy, Copying::In { .. }) {
            Role::ReplyPart
        } else {
            Role::Notice
        }
    }

    /// `AuthenticationOk` (0) and the last message of SASL (12) are followed by more; the others
    /// wait for the client.
    fn authentication(&mut self, frame: &Frame<'_>) -> Role {
        self.phase = Phase::Login;
        match Reader::new(frame.body).u32_be() {
            Some(0 | 12) | None => Role::ReplyPart,
            Some(_) => {
                self.pending.resolve_reply(PendingReply::Leg);
                Role::Reply
            }
        }
    }

    fn copy_in(&mut self) -> Role {
        self.copy = Copying::In {
            extended: self.pending.front() == Some(PendingReply::Execute),
        };
        self.pending.forget_syncs();
        Role::ReplyPause
    }
}

const fn done<'a>(rows: Option<u64>) -> Content<'a> {
    Content::Done {
        rows,
        transaction: None,
    }
}

const fn state(byte: u8) -> Option<TransactionState> {
    match byte {
        transaction::IDLE => Some(TransactionState::Idle),
        transaction::OPEN => Some(TransactionState::Open),
        transaction::FAILED => Some(TransactionState::Failed),
        _ => None,
    }
}

/// The number at the end of a command tag: `SELECT 10`, `INSERT 0 50`. `CREATE TABLE` has none.
fn tag_rows(body: &[u8]) -> Option<u64> {
    let tag = Reader::new(body).cstr()?;
    let digits = tag.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let (before, number) = tag.split_at(tag.len() - digits);
    if digits == 0 || before.last() != Some(&b' ') {
        return None;
    }
    number.iter().try_fold(0u64, |sum, digit| {
        sum.checked_mul(10)?.checked_add(u64::from(digit - b'0'))
    })
}

fn parameter_status(body: &[u8]) -> Content<'_> {
    let mut reader = Reader::new(body);
    match (reader.cstr(), reader.cstr()) {
        (Some(b"server_version"), Some(text)) => Content::ServerVersion { text },
        _ => Content::Other,
    }
}

/// Fields of an error: a type byte and a text each, ended by a zero byte.
fn fields(body: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    let mut reader = Reader::new(body);
    std::iter::from_fn(move || {
        let kind = reader.u8().filter(|&kind| kind != 0)?;
        Some((kind, reader.cstr()?))
    })
}

fn error(body: &[u8]) -> Content<'_> {
    let field = |wanted| {
        fields(body)
            .find(|(kind, _)| *kind == wanted)
            .map(|(_, text)| text)
    };
    Content::Error {
        code: field(error_field::CODE).unwrap_or_default(),
        text: field(error_field::MESSAGE).unwrap_or_default(),
    }
}

/// Whether the server closes the connection after this error, without `ReadyForQuery`. Field `V` is
/// the severity in English; servers before 9.6 send only `S`, which is translated.
fn is_fatal(body: &[u8]) -> bool {
    let severity = fields(body)
        .filter(|(kind, _)| matches!(*kind, error_field::SEVERITY_IN_ENGLISH | error_field::SEVERITY))
        .max_by_key(|(kind, _)| *kind);
    matches!(severity, Some((_, b"FATAL" | b"PANIC")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_from_the_end_of_the_tag() {
        assert_eq!(tag_rows(b"SELECT 10\0"), Some(10));
        assert_eq!(tag_rows(b"INSERT 0 50\0"), Some(50));
        assert_eq!(tag_rows(b"CREATE TABLE\0"), None);
        assert_eq!(tag_rows(b"COPY 99999999999999999999\0"), None);
        assert_eq!(tag_rows(b"12\0"), None);
        assert_eq!(tag_rows(b"SELECT 10"), None);
    }

    #[test]
    fn severity_in_english_wins() {
        assert!(is_fatal(b"SFATAL\0VFATAL\0C57P01\0\0"));
        assert!(!is_fatal(b"SFATAL\0VERROR\0\0"));
        assert!(is_fatal(b"SFATAL\0\0"));
        assert!(!is_fatal(b"S"));
    }
}
