//! Messages of the server.

use super::codepoint::{
    ACCRDBRM, ENDQRYRM, ENDUOWRM, EXCSATRD, OPNQFLRM, QRYDSC, QRYDTA, SECCHKCD, SECCHKRM, SQLCARD, SQLDARD,
    SQLERRRM, SRVCLSNM, SRVRLSLV, SVRCOD, TYPDEFNAM, error_name,
};
use super::lane::{HalfConnection, Object};
use super::rows::Walk;
use super::values::{Encoding, Parameters, outcome};
use super::{Command, Session, What, ebcdic, message};
use crate::decoding::decoder::MessageSink;
use model::{Content, Direction, Phase, Role, TransactionState};

impl Session {
    pub(super) fn server(&mut self, half: &HalfConnection, sink: &mut MessageSink<'_>) {
        let code = half.code().unwrap_or_default();
        let body = half.body();
        let (command, phase) = self.answers(half);
        let content = match code {
            EXCSATRD => self.version(body),
            ACCRDBRM | TYPDEFNAM => {
                let name = if code == TYPDEFNAM {
                    Some(body)
                } else {
                    Parameters::new(body).find(TYPDEFNAM)
                };
                if let Some(name) = name {
                    self.encodings[half.direction] = Encoding::named(name);
                }
                Content::Other
            }
            QRYDSC => {
                let walk = Walk::new(body, self.encodings[half.direction]);
                self.sections.describe(command.section, walk);
                Content::Other
            }
            QRYDTA => Content::Done {
                rows: self.sections.walk(command.section).and_then(Walk::take_row),
                transaction: Some(TransactionState::Open),
            },
            ENDQRYRM => {
                self.sections.close(command.section);
                Content::Other
            }
            ENDUOWRM => Content::Ready(TransactionState::Idle),
            SQLCARD | SQLDARD => {
                if code == SQLDARD && self.lost_request && self.pending_reply.is_empty() {
                    self.sections.prepared_unseen();
                }
                self.outcome(body, code, command)
            }
            SQLERRRM | OPNQFLRM => Content::Other,
            _ => error(code, body),
        };
        let role = if half.ends_chain() {
            Role::Reply
        } else {
            Role::ReplyPart
        };
        sink(&message(half, role, phase, content));
        if role == Role::Reply {
            self.pending = self.pending.saturating_sub(1);
            if self.pending == 0 {
                self.pending_reply.clear();
            }
        }
    }

    pub(super) fn rows(&mut self, object: &Object, bytes: Option<&[u8]>) {
        let pending_reply = self
            .pending_reply
            .iter()
            .find(|pending_reply| pending_reply.correlation == object.correlation);
        let section = pending_reply.and_then(|pending_reply| pending_reply.command.section);
        let Some(walk) = self.sections.walk(section) else {
            return;
        };
        match bytes {
            Some(bytes) => walk.feed(bytes),
            None => walk.desync(),
        }
    }

    /// The command that the object answers. Earlier commands are complete.
    fn answers(&mut self, half: &HalfConnection) -> (Command, Phase) {
        let Some(structure) = half.structure() else {
            return (Command::default(), Phase::Work);
        };
        let of_this =
            |pending_reply: &super::PendingReply| pending_reply.correlation == structure.correlation;
        let Some(place) = self.pending_reply.iter().position(of_this) else {
            return (Command::default(), Phase::Work);
        };
        self.pending_reply.discard(place);
        let pending_reply = self.pending_reply.front();
        pending_reply.map_or((Command::default(), Phase::Work), |pending_reply| {
            let phase = if pending_reply.is_login {
                Phase::Login
            } else {
                Phase::Work
            };
            (pending_reply.command, phase)
        })
    }

    fn outcome<'a>(&'a mut self, body: &[u8], code: u16, command: Command) -> Content<'a> {
        let encoding = self.encodings[Direction::ServerToClient];
        let outcome = outcome(body, encoding);
        if let Some(outcome) = outcome.filter(|outcome| outcome.code < 0) {
            let end = outcome.write(encoding, &mut self.text);
            let (code, text) = self.text.as_bytes().split_at(end);
            return Content::Error { code, text };
        }
        let is_end = outcome.is_some_and(|outcome| outcome.code == END_OF_QUERY);
        if code == SQLDARD || is_end || !matches!(command.what, What::Run | What::Immediate) {
            return Content::Other;
        }
        Content::Done {
            rows: outcome.and_then(|outcome| outcome.rows),
            transaction: Some(TransactionState::Open),
        }
    }

    fn version<'a>(&'a mut self, body: &[u8]) -> Content<'a> {
        self.text.clear();
        for code in [SRVCLSNM, SRVRLSLV] {
            if !self.text.is_empty() {
                self.text.push(' ');
            }
            ebcdic::append(
                Parameters::new(body).find(code).unwrap_or_default(),
                &mut self.text,
            );
        }
        let text = self.text.as_bytes();
        if text.is_empty() {
            Content::Other
        } else {
            Content::ServerVersion { text }
        }
    }
}

/// The error of a reply's code point, if its severity is that of an error.
fn error<'a>(code: u16, body: &[u8]) -> Content<'a> {
    let severity = Parameters::new(body).number(SVRCOD).unwrap_or(0);
    let is_refused = code == SECCHKRM
        && Parameters::new(body)
            .number(SECCHKCD)
            .is_some_and(|code| code > 0);
    match error_name(code) {
        Some(name) if severity >= ERROR || is_refused => Content::Error {
            code: name.as_bytes(),
            text: b"",
        },
        Some(_) | None => Content::Other,
    }
}

const ERROR: u32 = 8;
const END_OF_QUERY: i32 = 100;
