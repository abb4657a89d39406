//! Messages of the server.

use super::messages::{DESCRIBE, DONE, EOT, ERROR, EXIT, PROTOCOLS, TRANSACTION, TUPLE};
use super::scan::Kind;
use super::shape::Features;
use super::{HalfConnection, Session};
use crate::decoding::decoder::MessageSink;
use crate::decoding::reader::Reader;
use model::{Content, Role, TransactionState};
use std::fmt::Write;

impl Session {
    pub(super) fn server(
        &mut self,
        half: &HalfConnection,
        code: u16,
        body: &[u8],
        sink: &mut MessageSink<'_>,
    ) {
        if let Kind::Login(kind) = half.scan.kind() {
            return self.login_answer(half, kind, body, sink);
        }
        let fields = Reader::new(body);
        let phase = self.phase();
        let mut number = String::new();
        let content = match code {
            TUPLE => {
                self.rows += 1;
                Content::Row
            }
            DONE if self.group.runs => Content::Done {
                rows: self.done(fields),
                transaction: None,
            },
            DESCRIBE => {
                self.describe(fields);
                Content::Other
            }
            ERROR => error(fields, &mut number),
            PROTOCOLS => {
                let bits = fields.rest().get(2..);
                self.features = bits.map(Features::from_bits).unwrap_or_default();
                Content::Other
            }
            TRANSACTION => {
                self.transaction = transaction(fields);
                Content::Other
            }
            EOT => self.transaction.map_or(Content::Other, Content::Ready),
            _ => Content::Other,
        };
        let role = if matches!(code, EOT | EXIT) {
            self.answered()
        } else {
            self.answering = self.pending > 0;
            Role::ReplyPart
        };
        sink(&half.message(role, phase, content));
    }

    pub(super) fn answered(&mut self) -> Role {
        self.answering = false;
        self.rows = 0;
        if self.pending == 0 && self.asked {
            return Role::Notice;
        }
        self.pending = self.pending.saturating_sub(1);
        Role::Reply
    }

    /// Changed rows, or returned ones as far as they were seen.
    fn done(&mut self, mut fields: Reader<'_>) -> Option<u64> {
        fields.take_bytes(2)?; // warnings
        let changed = if self.features.long_counts {
            fields.array().map(u64::from_be_bytes)
        } else {
            fields.u32_be().map(u64::from)
        };
        match std::mem::take(&mut self.rows) {
            0 => changed,
            returned => Some(returned),
        }
    }

    fn describe(&mut self, mut fields: Reader<'_>) {
        fields.take_bytes(2); // kind of statement
        if let Some(number) = fields.u16_be() {
            self.statements.describe(number);
        }
    }
}

/// The error's number without its text, which may hold names and values. Number 100 is the end of
/// the rows.
fn error<'a>(mut fields: Reader<'_>, number: &'a mut String) -> Content<'a> {
    let Some(code) = fields.u16_be().map(u16::cast_signed).filter(|&code| code < 0) else {
        return Content::Other;
    };
    let isam = fields.u16_be().map(u16::cast_signed).filter(|&isam| isam != 0);
    let _ = write!(number, "{code}");
    let digits = number.len();
    if let Some(isam) = isam {
        let _ = write!(number, "ISAM error {isam}");
    }
    let (code, text) = number.as_bytes().split_at(digits);
    Content::Error { code, text }
}

fn transaction(mut fields: Reader<'_>) -> Option<TransactionState> {
    fields.take_bytes(2)?; // what happened
    Some(match fields.u16_be()? {
        0 => TransactionState::Idle,
        _ => TransactionState::Open,
    })
}
