//! Messages of the client.

use super::messages::{
    ACKNOWLEDGE, BEGIN, BIND, COMMAND, COMMIT, DATABASE_OPEN, EOT, EXECUTE, EXIT, FETCH, ID, INFO, OPEN,
    PREPARE, PROTOCOLS, RELEASE, RESPONSE, ROLLBACK, SCROLL_FETCH,
};
use super::scan::Kind;
use super::{Group, HalfConnection, Session};
use crate::decoding::decoder::MessageSink;
use crate::decoding::reader::Reader;
use model::{Content, Message, Phase, Role, StatementId};

impl Session {
    pub(super) fn client(
        &mut self,
        half: &HalfConnection,
        code: u16,
        body: &[u8],
        sink: &mut MessageSink<'_>,
    ) {
        self.asks(half, code);
        if let Kind::Login(_) = half.scan.kind() {
            return self.login_request(half, body, sink);
        }
        let phase = self.phase();
        if matches!(code, OPEN | EXECUTE | FETCH | SCROLL_FETCH) {
            self.announce_unseen(half, sink);
        }
        let content = match code {
            INFO => return self.environment(half, body, sink),
            COMMAND => {
                self.statements.command();
                self.group.commands = true;
                self.group.runs = true;
                Content::Statement { text: self.sql(body) }
            }
            PREPARE => Content::Prepare {
                statement: self.statements.prepare(),
                text: self.sql(body),
            },
            ID => {
                self.group.selected = Reader::new(body).u16_be();
                Content::Other
            }
            BIND => Content::Bind {
                values: (body.len() as u64 + 2 == half.taken).then_some(body),
            },
            OPEN | EXECUTE if !self.group.commands => self.execute(Some(b"")),
            FETCH => self.fetch(Reader::new(body)),
            SCROLL_FETCH => {
                let mut fields = Reader::new(body);
                fields.take_bytes(6); // how to move, and where to
                self.fetch(fields)
            }
            RELEASE if !self.group.commands => {
                if let Some(number) = self.group.selected {
                    self.statements.remove_statement(number);
                }
                Content::Close
            }
            BEGIN => Content::Statement { text: b"begin work" },
            COMMIT => Content::Statement { text: b"commit work" },
            ROLLBACK => Content::Statement {
                text: b"rollback work",
            },
            _ => Content::Other,
        };
        let role = if matches!(code, EOT | EXIT) {
            self.requested();
            Role::Request
        } else {
            Role::RequestPart
        };
        sink(&half.message(role, phase, content));
    }

    pub(super) fn client_cut(&mut self, half: &HalfConnection, sink: &mut MessageSink<'_>) {
        let code = half.scan.code().unwrap_or_default();
        self.asks(half, code);
        let content = if code == BIND {
            self.announce_unseen(half, sink);
            self.execute(None)
        } else {
            Content::Other
        };
        self.requested();
        sink(&half.message(Role::Request, self.phase(), content));
    }

    fn asks(&mut self, half: &HalfConnection, code: u16) {
        self.asked = true;
        if self.group.complete {
            self.group = Group::default();
        }
        let phase = match (code, half.scan.kind()) {
            (_, Kind::Login(_)) | (OLD_LOGIN, Kind::Endless) => Phase::Login,
            (PROTOCOLS | INFO | DATABASE_OPEN | ACKNOWLEDGE..=RESPONSE, _) => Phase::Login,
            (EXIT, _) => Phase::Close,
            (_, Kind::Coded | Kind::Endless) => Phase::Work,
        };
        self.group.phase.get_or_insert(phase);
    }

    pub(super) fn requested(&mut self) {
        self.pending = self.pending.saturating_add(1);
        self.group.complete = true;
    }

    fn execute<'a>(&mut self, values: Option<&'a [u8]>) -> Content<'a> {
        self.group.runs = true;
        Content::Execute {
            statement: self.selected(),
            fetch_rows: None,
            fetch_bytes: None,
            sets: 1,
            values,
        }
    }

    fn fetch<'a>(&mut self, mut size: Reader<'_>) -> Content<'a> {
        self.group.runs = true;
        Content::Fetch {
            statement: self.selected(),
            fetch_rows: None,
            fetch_bytes: size.u32_be(),
        }
    }

    /// Announces the group's statement if its preparation was not seen.
    fn announce_unseen(&mut self, half: &HalfConnection, sink: &mut MessageSink<'_>) {
        let Some(number) = self.group.selected.filter(|_| self.selected().is_none()) else {
            return;
        };
        let Some(statement) = self.statements.unseen(number) else {
            return;
        };
        let name = number.to_string();
        let unseen = Content::Unseen {
            statement,
            name: name.as_bytes(),
            parameters: None,
        };
        sink(&Message {
            bytes: 0,
            ..half.message(Role::RequestPart, self.phase(), unseen)
        });
    }

    fn selected(&mut self) -> Option<StatementId> {
        self.statements.find(self.group.selected?)
    }

    /// The text after two bytes about parameters, possibly truncated.
    fn sql<'a>(&self, body: &'a [u8]) -> &'a [u8] {
        let mut fields = Reader::new(body);
        fields.take_bytes(2);
        let is_long = match self.features.long_statements {
            Some(is_long) => is_long,
            None => fields.rest().starts_with(&[0, 0]),
        };
        let length = if is_long {
            fields.u32_be()
        } else {
            fields.u16_be().map(u32::from)
        };
        let length = usize::try_from(length.unwrap_or(0)).unwrap_or(usize::MAX);
        let text = fields.rest();
        text.get(..length).unwrap_or(text)
    }
}

/// `sq` begins a login of ESQL/C, with a text header.
const OLD_LOGIN: u16 = 0x7371;
