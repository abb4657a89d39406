//! Messages of the client.

use super::codes::object;
use super::messages::STATEMENT_LIMIT;
use super::messages::frontend::{
    BIND, CLOSE, COPY_DATA, COPY_DONE, COPY_FAIL, DESCRIBE, EXECUTE, FLUSH, FUNCTION_CALL, PARSE,
    PASSWORD_MESSAGE, QUERY, SYNC, TERMINATE,
};
use super::prepared::Announced;
use super::reply_queue::PendingReply;
use super::shape::STARTUP_HEADER;
use super::{Copying, Session, message};
use crate::decoding::decoder::MessageSink;
use crate::decoding::framing::Frame;
use crate::decoding::reader::Reader;
use model::{Content, Direction, Message, Phase, Role};

impl Session {
    pub(super) fn client(&mut self, frame: &Frame<'_>, sink: &mut MessageSink<'_>) {
        if frame.header.len() == STARTUP_HEADER {
            return self.startup(frame, sink);
        }
        self.shapes.started = true;
        let body = Reader::new(frame.body);
        let mut content = Content::Other;
        let mut phase = self.phase;
        let role = match frame.header.first().copied() {
            Some(QUERY) => {
                let text = text(body);
                self.prepared.follow(text);
                content = Content::Statement { text };
                self.request(PendingReply::Query)
            }
            Some(PARSE) => {
                content = self.parse(body);
                self.part(PendingReply::Parse)
            }
            Some(BIND) => {
                let whole = frame.bytes == (frame.header.len() + frame.body.len()) as u64;
                let mut values = body;
                if let Some(content) = self.bind_portal(&mut values) {
                    let announced = message(
                        frame,
                        Direction::ClientToServer,
                        Role::RequestPart,
                        phase,
                        content,
                    );
                    sink(&Message {
                        bytes: 0,
                        ..announced
                    });
                }
                content = Content::Bind {
                    values: whole.then(|| values.rest()),
                };
                self.part(PendingReply::Bind)
            }
            Some(DESCRIBE) => self.part(PendingReply::Describe),
            Some(EXECUTE) => {
                content = self.execute(body);
                self.part(PendingReply::Execute)
            }
            Some(CLOSE) => {
                content = self.close(body);
                self.part(PendingReply::Close)
            }
            Some(FLUSH) if self.skipping => Role::RequestPart,
            Some(FLUSH) if self.pending.flush_has_answer() => self.request(PendingReply::Flush),
            Some(FLUSH) => Role::OneWay,
            Some(SYNC) => self.sync(),
            Some(FUNCTION_CALL) => {
                content = function_call(body);
                self.request(PendingReply::Query)
            }
            Some(PASSWORD_MESSAGE) => self.request(PendingReply::Leg),
            Some(COPY_DATA) => match self.copy {
                Copying::In { .. } => Role::RequestPart,
                Copying::No if self.doubt => self.copies_already(),
                Copying::No | Copying::Both => Role::OneWay,
            },
            Some(COPY_DONE | COPY_FAIL) => self.copy_ends(),
            Some(TERMINATE) => {
                phase = Phase::Close;
                Role::OneWay
            }
            _ => Role::RequestPart,
        };
        sink(&message(frame, Direction::ClientToServer, role, phase, content));
    }

    fn request(&mut self, pending_reply: PendingReply) -> Role {
        if self.skipping {
            return Role::RequestPart;
        }
        self.pending.push(pending_reply);
        Role::Request
    }

    fn part(&mut self, pending_reply: PendingReply) -> Role {
        if !self.skipping {
            self.pending.push(pending_reply);
        }
        Role::RequestPart
    }

    fn sync(&mut self) -> Role {
        self.skipping = false;
        if matches!(self.copy, Copying::In { .. }) {
            return Role::RequestPart;
        }
        self.request(PendingReply::Sync)
    }

    fn copies_already(&mut self) -> Role {
        self.copy = Copying::In {
            extended: self.pending.front() == Some(PendingReply::Execute),
        };
        Role::RequestPart
    }

    fn copy_ends(&mut self) -> Role {
        match self.copy {
            Copying::No => Role::OneWay,
            Copying::In { extended } => {
                self.copy = Copying::No;
                if extended {
                    Role::RequestPart
                } else {
                    Role::Request
                }
            }
            Copying::Both => self.request(PendingReply::Sync),
        }
    }

    fn parse<'a>(&mut self, mut body: Reader<'a>) -> Content<'a> {
        let Some(name) = body.cstr() else {
            return Content::Other;
        };
        Content::Prepare {
            statement: self.prepared.parse(name),
            text: text(body),
        }
    }

    fn bind_portal<'a>(&mut self, body: &mut Reader<'a>) -> Option<Content<'a>> {
        let (Some(portal), Some(name)) = (body.cstr(), body.cstr()) else {
            self.prepared.close_portal(b"");
            return None;
        };
        let announced = self.prepared.bind(portal, name)?;
        let parameters = parameters(*body);
        Some(match announced {
            Announced::Unseen(statement) => Content::Unseen {
                statement,
                name,
                parameters,
            },
            Announced::Named(statement) => Content::Named {
                statement,
                name,
                parameters,
            },
        })
    }

    fn execute(&mut self, mut body: Reader<'_>) -> Content<'static> {
        let name = body.cstr();
        let fetch_rows = body.u32_be().filter(|&rows| rows > 0);
        let portal = name.map(|name| self.prepared.execute(name)).unwrap_or_default();
        if !self.skipping {
            self.columns
                .executes(portal.statement, &self.prepared, &self.pending);
        }
        if portal.executed {
            Content::Fetch {
                statement: portal.statement,
                fetch_rows,
                fetch_bytes: None,
            }
        } else {
            Content::Execute {
                statement: portal.statement,
                fetch_rows,
                fetch_bytes: None,
                sets: 1,
                values: Some(&[]),
            }
        }
    }

    fn close(&mut self, mut body: Reader<'_>) -> Content<'static> {
        match (body.u8(), body.cstr()) {
            (Some(object::STATEMENT), Some(name)) => {
                self.prepared.close_statement(name);
                return Content::Close;
            }
            (Some(object::PORTAL), Some(name)) => self.prepared.close_portal(name),
            _ => {}
        }
        Content::Other
    }
}

/// A function call by number. Large object functions have fixed numbers, so these are named.
fn function_call(mut body: Reader<'_>) -> Content<'static> {
    let number = body.u32_be();
    let known = number.and_then(|number| LARGE_OBJECT_CALLS.iter().find(|(known, _)| *known == number));
    match known {
        Some((_, name)) => Content::Command { name, number: None },
        None => Content::Command {
            name: "function call",
            number,
        },
    }
}

/// From `pg_proc.dat` of PostgreSQL; the numbers are as old as the protocol.
const LARGE_OBJECT_CALLS: [(u32, &str); 13] = [
    (715, "function call lo_create"),
    (952, "function call lo_open"),
    (953, "function call lo_close"),
    (954, "function call loread"),
    (955, "function call lowrite"),
    (956, "function call lo_lseek"),
    (957, "function call lo_creat"),
    (958, "function call lo_tell"),
    (964, "function call lo_unlink"),
    (1004, "function call lo_truncate"),
    (3170, "function call lo_lseek64"),
    (3171, "function call lo_tell64"),
    (3172, "function call lo_truncate64"),
];

/// Parameter count of a `Bind`, after its names: the formats, then the count of values.
fn parameters(mut body: Reader<'_>) -> Option<u16> {
    let formats = body.u16_be()?;
    body.take_bytes(2 * usize::from(formats))?;
    body.u16_be()
}

fn text(mut body: Reader<'_>) -> &[u8] {
    let all = body.rest();
    let text = body.cstr().unwrap_or(all);
    text.get(..STATEMENT_LIMIT).unwrap_or(text)
}
