//! Requests and replies of one connection, as their bytes pass.

use analysis::fingerprint::{Fingerprints, KnownFingerprints};
use model::{
    CallSyntax, Content, Direction, Fingerprint, Message, Role, StatementId, Timestamp, TransactionState,
};
use std::collections::HashMap;
use wire::{MessageSink, Stream};

pub(super) struct Reading {
    stream: Stream,
    fingerprints: Fingerprints,
    prepared: HashMap<StatementId, Fingerprint>,
    /// Messages since the last whole request, perhaps of an earlier piece.
    request: Request,
}

/// A request: statements it executes, and those it prepares or fetches.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) executes: Vec<Fingerprint>,
    pub(super) others: Vec<Fingerprint>,
}

impl Request {
    pub(super) fn texts(&self) -> impl Iterator<Item = &Fingerprint> {
        self.executes.iter().chain(&self.others)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Passed {
    /// The software that the client introduces itself as.
    Client(String),
    Request(Request),
    OneWay,
    HttpRequest(Fingerprint),
    /// The server waits for the client within a reply.
    ReplyPause,
    Reply(Option<TransactionState>),
}

impl Reading {
    pub(super) fn new(server_port: u16, known: &KnownFingerprints) -> Self {
        Self {
            stream: Stream::new(server_port),
            fingerprints: Fingerprints::among(known.clone()),
            prepared: HashMap::new(),
            request: Request::default(),
        }
    }

    /// Returns complete messages, and whether nothing incomplete is left.
    pub(super) fn pass(&mut self, at: Timestamp, direction: Direction, bytes: &[u8]) -> (Vec<Passed>, bool) {
        let feed = |stream: &mut Stream, sink: &mut MessageSink<'_>| stream.feed(at, direction, bytes, sink);
        self.read(bytes.len() as u64, feed)
    }

    /// A reply that lasts until its connection ends is complete.
    pub(super) fn end_of_server(&mut self, at: Timestamp) -> Vec<Passed> {
        self.read(0, |stream, sink| stream.end(at, Direction::ServerToClient, sink))
            .0
    }

    fn read(
        &mut self,
        bytes: u64,
        feed: impl FnOnce(&mut Stream, &mut MessageSink<'_>),
    ) -> (Vec<Passed>, bool) {
        let Self {
            stream,
            fingerprints,
            prepared,
            request,
        } = self;
        let mut passed = Vec::new();
        let mut transaction = None;
        let mut seen = 0;
        feed(stream, &mut |message: &Message<'_>| {
            seen += message.bytes;
            record_message(message, request, fingerprints, prepared, &mut passed);
            if let Content::Ready(state)
            | Content::Done {
                transaction: Some(state),
                ..
            } = message.content
            {
                transaction = Some(state);
            }
            match message.role {
                Role::Request => passed.push(Passed::Request(std::mem::take(request))),
                Role::OneWay => passed.push(Passed::OneWay),
                Role::ReplyPause => passed.push(Passed::ReplyPause),
                Role::Reply => passed.push(Passed::Reply(transaction.take())),
                _ => {}
            }
        });
        let is_whole = seen == bytes && *request == Request::default();
        (passed, is_whole)
    }

    /// Until it proves to be encrypted, or in a protocol that longwire does not decode.
    pub(super) fn is_readable(&self) -> bool {
        let decoding = self.stream.decoding();
        !decoding.encrypted && decoding.opaque.is_none()
    }
}

fn record_message(
    message: &Message<'_>,
    request: &mut Request,
    fingerprints: &mut Fingerprints,
    prepared: &mut HashMap<StatementId, Fingerprint>,
    passed: &mut Vec<Passed>,
) {
    let dialect = message.protocol.facts().dialect;
    match message.content {
        Content::Statement { text } | Content::Run { text, .. } => {
            request.executes.push(fingerprints.statement(text, dialect))
        }
        Content::Prepare { statement, text } => {
            let fingerprint = fingerprints.statement(text, dialect);
            if prepared.len() < MAX_PREPARED || prepared.contains_key(&statement) {
                prepared.insert(statement, fingerprint.clone());
            }
            request.others.push(fingerprint);
        }
        Content::Execute {
            statement: Some(statement),
            ..
        } => request.executes.extend(prepared.get(&statement).cloned()),
        Content::Fetch {
            statement: Some(statement),
            ..
        } => request.others.extend(prepared.get(&statement).cloned()),
        Content::Command { name, number } => request.executes.push(fingerprints.command(name, number)),
        Content::Client { text } => passed.push(Passed::Client(String::from_utf8_lossy(text).into_owned())),
        Content::Call { text, syntax, .. } => request.executes.push(match syntax {
            CallSyntax::Statement => fingerprints.statement(text, dialect),
            CallSyntax::Words | CallSyntax::FirstPage { .. } | CallSyntax::NextPage => {
                fingerprints.words(text)
            }
            CallSyntax::Target => fingerprints.target(text),
        }),
        Content::HttpRequest { method, target, .. } => {
            passed.push(Passed::HttpRequest(fingerprints.http(method, target)));
        }
        _ => {}
    }
}

const MAX_PREPARED: usize = 10_000;

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    const AT: Timestamp = Timestamp::from_nanos(1);

    fn message(tag: &[u8], body: &[u8]) -> Vec<u8> {
        let length = (body.len() as u32 + 4).to_be_bytes();
        [tag, &length, body].concat()
    }

    fn reading() -> Reading {
        let mut reading = Reading::new(5432, &KnownFingerprints::default());
        let start = message(b"", b"\0\x03\0\0user\0app\0\0");
        reading.pass(AT, Direction::ClientToServer, &start);
        let login = [message(b"R", &[0; 4]), message(b"Z", b"I")].concat();
        reading.pass(AT, Direction::ServerToClient, &login);
        reading
    }

    fn executing(text: &str) -> Passed {
        Passed::Request(Request {
            executes: vec![Arc::from(text)],
            others: Vec::new(),
        })
    }

    #[test]
    fn a_request_is_known_with_its_last_byte_and_its_state_with_the_reply() {
        let mut reading = reading();
        let query = message(b"Q", b"select 17\0");
        let sent = reading.pass(AT, Direction::ClientToServer, &query);
        assert_eq!(sent, (vec![executing("select ?")], true));
        let reply = [message(b"C", b"SELECT 1\0"), message(b"Z", b"T")].concat();
        let (passed, _) = reading.pass(AT, Direction::ServerToClient, &reply);
        assert_eq!(passed, [Passed::Reply(Some(TransactionState::Open))]);
        let (first, rest) = query.split_at(7);
        assert_eq!(
            reading.pass(AT, Direction::ClientToServer, first),
            (Vec::new(), false)
        );
        let sent = reading.pass(AT, Direction::ClientToServer, rest);
        assert_eq!(sent, (vec![executing("select ?")], false));
    }

    #[test]
    fn a_prepared_statement_is_known_where_it_runs() {
        let mut reading = reading();
        let prepared = [message(b"P", b"s1\0select 17\0\0\0"), message(b"S", b"")].concat();
        let (passed, is_whole) = reading.pass(AT, Direction::ClientToServer, &prepared);
        let prepares = Request {
            executes: Vec::new(),
            others: vec![Arc::from("select ?")],
        };
        assert_eq!((passed, is_whole), (vec![Passed::Request(prepares)], true));
        let bind = message(b"B", b"\0s1\0\0\0\0\0\0\0");
        let run = [bind, message(b"E", b"\0\0\0\0\0"), message(b"S", b"")].concat();
        let (passed, is_whole) = reading.pass(AT, Direction::ClientToServer, &run);
        assert_eq!((passed, is_whole), (vec![executing("select ?")], true));
    }
}
