//! What the client says.

use super::owed::Due;
use super::shape::{STARTUP_HEADER, STATEMENT_LIMIT};
use super::{Copying, Session, message};
use decoding::decoder::MessageSink;
use decoding::framing::Frame;
use decoding::reader::Reader;
use model::{Content, Direction, Phase, Role};

impl Session {
    /// One whole client message.
    pub(super) fn client(&mut self, frame: &Frame<'_>, sink: &mut MessageSink<'_>) {
        if frame.header.len() == STARTUP_HEADER {
            return self.startup(frame, sink);
        }
        self.shapes.started = true;
        let body = Reader::new(frame.body);
        let mut content = Content::Other;
        let mut phase = self.phase;
        let role = match frame.header.first() {
            Some(b'Q') => {
                let text = text(body);
                self.prepared.follow(text);
                content = Content::Statement { text };
                self.request(Due::Query)
            }
            Some(b'P') => {
                content = self.parse(body);
                self.part(Due::Parse)
            }
            Some(b'B') => {
                let whole = frame.bytes == (frame.header.len() + frame.body.len()) as u64;
                content = self.bind(body, whole);
                self.part(Due::Bind)
            }
            Some(b'D') => self.part(Due::Describe),
            Some(b'E') => {
                content = self.execute(body);
                self.part(Due::Execute)
            }
            Some(b'C') => {
                content = self.close(body);
                self.part(Due::Close)
            }
            Some(b'H') if self.skipping => Role::RequestPart,
            Some(b'H') if self.owed.flush_has_answer() => self.request(Due::Flush),
            Some(b'H') => Role::OneWay,
            Some(b'S') => self.sync(),
            Some(b'F') => self.request(Due::Query),
            Some(b'p') => self.request(Due::Leg),
            Some(b'd') => match self.copy {
                Copying::In { .. } => Role::RequestPart,
                Copying::No if self.doubt => self.copies_already(),
                Copying::No | Copying::Both => Role::OneWay,
            },
            Some(b'c' | b'f') => self.copy_ends(),
            Some(b'X') => {
                phase = Phase::Close;
                Role::OneWay
            }
            _ => Role::RequestPart,
        };
        sink(message(frame, Direction::ClientToServer, role, phase, content));
    }

    fn request(&mut self, due: Due) -> Role {
        if self.skipping {
            return Role::RequestPart;
        }
        self.owed.push(due);
        Role::Request
    }

    fn part(&mut self, due: Due) -> Role {
        if !self.skipping {
            self.owed.push(due);
        }
        Role::RequestPart
    }

    fn sync(&mut self) -> Role {
        self.skipping = false;
        if matches!(self.copy, Copying::In { .. }) {
            return Role::RequestPart;
        }
        self.request(Due::Sync)
    }

    /// The server's word to begin with the data was lost.
    fn copies_already(&mut self) -> Role {
        self.copy = Copying::In {
            extended: self.owed.front() == Some(Due::Execute),
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
            Copying::Both => self.request(Due::Sync),
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

    /// `whole` says whether all of the message is present.
    fn bind<'a>(&mut self, mut body: Reader<'a>, whole: bool) -> Content<'a> {
        if let (Some(portal), Some(statement)) = (body.cstr(), body.cstr()) {
            self.prepared.bind(portal, statement);
            Content::Bind {
                values: whole.then(|| body.rest()),
            }
        } else {
            self.prepared.close_portal(b"");
            Content::Bind { values: None }
        }
    }

    fn execute(&mut self, mut body: Reader<'_>) -> Content<'static> {
        let name = body.cstr();
        let fetch_rows = body.u32_be().filter(|&rows| rows > 0);
        let portal = name.map(|name| self.prepared.execute(name)).unwrap_or_default();
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
            (Some(b'S'), Some(name)) => {
                self.prepared.close_statement(name);
                return Content::Close;
            }
            (Some(b'P'), Some(name)) => self.prepared.close_portal(name),
            _ => {}
        }
        Content::Other
    }
}

/// A statement's text: up to its NUL, or all there is of one that was cut.
fn text(mut body: Reader<'_>) -> &[u8] {
    let all = body.rest();
    let text = body.cstr().unwrap_or(all);
    text.get(..STATEMENT_LIMIT).unwrap_or(text)
}
