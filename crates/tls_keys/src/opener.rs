//! Follows the records of one connection and opens those that it has keys for.

use crate::handshake::{
    CLIENT_HELLO, END_OF_EARLY_DATA, FINISHED, KEY_UPDATE, Messages, client_random, server_hello,
};
use crate::key_log::{Label, Secrets, SessionSecrets};
use crate::schedule::{EXPLICIT_NONCE, RecordKey};
use crate::suite::Suite;
use model::Direction;
use std::fmt;
use std::sync::Arc;

/// Opens the records of one connection. Memory: the plain text of one record, and a few keys.
///
/// Calling order: [`RecordOpener::open`] with each record in the order in which it passed, [`RecordOpener::miss`] in the place of one
/// of which bytes are missing, [`RecordOpener::lose`] where it is not known how many there were.
pub struct RecordOpener {
    log: Arc<dyn Secrets>,
    session: Session,
    lanes: [Lane; 2],
    plain: Vec<u8>,
}

/// What was agreed on.
#[derive(Default)]
struct Session {
    client_random: Option<[u8; 32]>,
    secrets: Option<Arc<SessionSecrets>>,
    suite: Option<Suite>,
    is_13: bool,
    server_random: [u8; 32],
    /// The keys of TLS 1.2, until each side changes its cipher.
    keys_12: [Option<RecordKey>; 2],
    has_keys_12: bool,
    /// How often secrets were asked for.
    asked: u32,
    has_opened: bool,
    closed: Option<Closed>,
}

/// One direction.
#[derive(Default)]
struct Lane {
    stage: Stage,
    key: Option<RecordKey>,
    messages: Messages,
    /// A record was opened with `key`.
    is_proved: bool,
}

/// Which key a direction of TLS 1.3 uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Stage {
    #[default]
    Early,
    Handshake,
    Traffic,
}

/// What a record holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenedRecord<'a> {
    /// It was not encrypted.
    Clear,
    /// Messages of the handshake, or behind it (tickets, new keys).
    Handshake,
    /// An alert, as which also the farewell is sent.
    Alert,
    /// This plain text.
    Data(&'a [u8]),
    /// It could not be opened.
    Closed(Closed),
}

/// Why a record could not be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closed {
    /// The connection's `ClientHello` or `ServerHello` was not seen, so that neither its secrets nor its cipher are known.
    Joined,
    /// The log has no secret that opens this record.
    Secret,
    /// The cipher is none that is opened.
    Cipher,
    /// It is not authentic: damaged, or not of this session.
    Damaged,
}

impl Closed {
    /// The reason in one clause for a person.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Joined => {
                "the payload is encrypted with TLS, and the beginning of the handshake was not seen"
            }
            Self::Secret => "the payload is encrypted with TLS, and its keys are not in the key log",
            Self::Cipher => {
                "the payload is encrypted with TLS, by a cipher that is not opened (AES-GCM and ChaCha20-Poly1305 are)"
            }
            Self::Damaged => {
                "the payload is encrypted with TLS, and records do not open with the key log's keys"
            }
        }
    }
}

impl fmt::Debug for RecordOpener {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("RecordOpener")
            .field("secrets", &self.session.secrets)
            .field("is_13", &self.session.is_13)
            .field("stages", &self.lanes.each_ref().map(|lane| lane.stage))
            .field("closed", &self.session.closed)
            .finish_non_exhaustive()
    }
}

impl RecordOpener {
    /// A connection, or the rest of one, that begins with TLS.
    pub fn new(log: Arc<dyn Secrets>) -> Self {
        Self {
            log,
            session: Session::default(),
            lanes: Default::default(),
            plain: Vec::new(),
        }
    }

    /// Why no record of this connection can be opened any more; absent while one might.
    pub fn closed(&self) -> Option<Closed> {
        self.session.closed
    }

    /// Bytes that encryption adds to a record behind its header, without padding.
    pub fn overhead(&self) -> u64 {
        match self.session.suite {
            Some(_) if self.session.is_13 => 1 + TAG,
            Some(suite) if suite.sends_nonce() => EXPLICIT_NONCE as u64 + TAG,
            Some(_) | None => TAG,
        }
    }

    /// The next record of `direction`.
    pub fn open(&mut self, direction: Direction, header: &[u8; 5], body: &[u8]) -> OpenedRecord<'_> {
        let Self {
            log,
            session,
            lanes,
            plain,
        } = self;
        let lane = &mut lanes[direction.index()];
        let kind = header[0];
        if kind == CHANGE_CIPHER || (kind == DATA && direction == Direction::ClientToServer) {
            session.ask(log.as_ref());
        }
        if session.closed.is_none() && kind == HANDSHAKE && lane.key.is_none() {
            session.greeting(direction, body, log.as_ref());
            if session.is_13 {
                lane.enter(Stage::Handshake, session, direction);
            }
            return OpenedRecord::Clear;
        }
        if let Some(closed) = session.closed {
            return match kind {
                DATA => OpenedRecord::Closed(closed),
                _ => OpenedRecord::Clear,
            };
        }
        match kind {
            CHANGE_CIPHER => {
                lane.change_cipher(session, direction);
                OpenedRecord::Clear
            }
            ALERT | HANDSHAKE if lane.key.is_none() => OpenedRecord::Clear,
            _ if session.is_13 || session.suite.is_none() => {
                if lane.unlock_13(session, direction, header, body, plain) {
                    session.note_opened(log.as_ref());
                    lane.content_13(session, direction, plain)
                } else {
                    OpenedRecord::Closed(session.why_not(lane))
                }
            }
            _ if lane.unlock_12(session, direction, header, body, plain) => {
                session.note_opened(log.as_ref());
                content(kind, plain)
            }
            _ => OpenedRecord::Closed(session.why_not(lane)),
        }
    }

    /// A record of `direction` of which bytes are missing.
    pub fn miss(&mut self, direction: Direction) {
        let lane = &mut self.lanes[direction.index()];
        lane.messages = Messages::default();
        if let Some(key) = &mut lane.key {
            key.pass();
        }
        self.session.miss_greeting(direction);
    }

    /// Bytes of `direction` are missing; how many records they were is not known.
    pub fn lose(&mut self, direction: Direction) {
        let lane = &mut self.lanes[direction.index()];
        lane.messages = Messages::default();
        if let Some(key) = &mut lane.key {
            key.lose();
        }
        self.session.miss_greeting(direction);
    }
}

impl Session {
    /// A handshake record in clear.
    fn greeting(&mut self, direction: Direction, body: &[u8], log: &dyn Secrets) {
        match direction {
            Direction::ClientToServer
                if self.client_random.is_none() && body.first() == Some(&CLIENT_HELLO) =>
            {
                self.client_random = client_random(body);
                if self.client_random.is_some() {
                    log.greeted();
                }
                self.look_up(log);
            }
            Direction::ServerToClient if self.suite.is_none() => self.choice(body),
            Direction::ClientToServer | Direction::ServerToClient => {}
        }
    }

    fn note_opened(&mut self, log: &dyn Secrets) {
        if !std::mem::replace(&mut self.has_opened, true) {
            log.opened();
        }
    }

    /// What the server chose.
    fn choice(&mut self, body: &[u8]) {
        let Some(hello) = server_hello(body).filter(|hello| !hello.is_retry) else {
            return;
        };
        if self.client_random.is_none() {
            self.closed = Some(Closed::Joined);
            return;
        }
        let Some(suite) = hello.suite else {
            self.closed = Some(Closed::Cipher);
            return;
        };
        (self.suite, self.is_13) = (Some(suite), hello.is_13);
        self.server_random = hello.random;
        self.derive_12();
    }

    /// Asks for the secrets that are not there yet: a client writes them while it shakes hands.
    fn ask(&mut self, log: &dyn Secrets) {
        let wanted = match (self.suite, self.is_13) {
            (None, _) => return,
            (Some(_), true) => Label::ClientTraffic,
            (Some(_), false) => Label::Master,
        };
        let is_there = |secrets: &Arc<SessionSecrets>| secrets.get(wanted).is_some();
        if self.closed.is_some() || self.secrets.as_ref().is_some_and(is_there) {
            return;
        }
        self.look_up(log);
        if !self.secrets.as_ref().is_some_and(is_there) && self.asked >= MOST_ASKED {
            self.closed = Some(Closed::Secret);
        }
        self.derive_12();
    }

    fn look_up(&mut self, log: &dyn Secrets) {
        if let Some(random) = &self.client_random {
            self.asked += 1;
            self.secrets = log.of(random).or(self.secrets.take());
        }
    }

    /// The keys of TLS 1.2, as soon as all that they are made of is known.
    fn derive_12(&mut self) {
        let master = self
            .secrets
            .as_ref()
            .and_then(|secrets| secrets.get(Label::Master));
        if let (Some(suite), Some(master), Some(client_random)) = (self.suite, master, &self.client_random)
            && !self.is_13
            && !self.has_keys_12
            && let Some(keys) = RecordKey::of_12(suite, master, client_random, &self.server_random)
        {
            self.keys_12 = keys.map(Some);
            self.has_keys_12 = true;
        }
    }

    /// Without either greeting, nothing can be opened.
    fn miss_greeting(&mut self, direction: Direction) {
        let is_missed = match direction {
            Direction::ClientToServer => self.client_random.is_none(),
            Direction::ServerToClient => self.suite.is_none(),
        };
        if is_missed && self.closed.is_none() {
            self.closed = Some(Closed::Joined);
        }
    }

    fn why_not(&self, lane: &Lane) -> Closed {
        match (&self.client_random, &lane.key) {
            (None, _) => Closed::Joined,
            (Some(_), None) => Closed::Secret,
            (Some(_), Some(_)) => Closed::Damaged,
        }
    }

    /// The key of TLS 1.3 for a stage of `direction`.
    fn key_13(&self, suite: Suite, stage: Stage, direction: Direction) -> Option<RecordKey> {
        let label = match (stage, direction) {
            (Stage::Early, Direction::ClientToServer) => Label::Early,
            (Stage::Early, Direction::ServerToClient) => return None,
            (Stage::Handshake, Direction::ClientToServer) => Label::ClientHandshake,
            (Stage::Handshake, Direction::ServerToClient) => Label::ServerHandshake,
            (Stage::Traffic, Direction::ClientToServer) => Label::ClientTraffic,
            (Stage::Traffic, Direction::ServerToClient) => Label::ServerTraffic,
        };
        RecordKey::of_13(suite, self.secrets.as_ref()?.get(label)?)
    }
}

impl Lane {
    /// TLS 1.2: what follows is encrypted. TLS 1.3 sends this for show.
    fn change_cipher(&mut self, session: &mut Session, direction: Direction) {
        if session.is_13 || session.suite.is_none() {
            return;
        }
        match session.keys_12[direction.index()].take() {
            Some(key) => self.key = Some(key),
            // Another handshake inside the first: its secrets are another session's.
            None if self.key.is_some() => session.closed = Some(Closed::Secret),
            // They may be there later.
            None => {}
        }
    }

    fn unlock_12(
        &mut self,
        session: &mut Session,
        direction: Direction,
        header: &[u8; 5],
        body: &[u8],
        plain: &mut Vec<u8>,
    ) -> bool {
        if self.key.is_none() {
            // The change of cipher was lost.
            self.key = session.keys_12[direction.index()].take();
            self.key.iter_mut().for_each(RecordKey::lose);
        }
        let Some(key) = &mut self.key else {
            return false;
        };
        let is_open = key.open(header, body, plain);
        if !is_open {
            key.pass();
        }
        is_open
    }

    /// Opens a record of TLS 1.3 with this stage's key or, where messages that announce it were lost or refused, the next one's.
    fn unlock_13(
        &mut self,
        session: &Session,
        direction: Direction,
        header: &[u8; 5],
        body: &[u8],
        plain: &mut Vec<u8>,
    ) -> bool {
        if self.key.is_none() && session.suite.is_none() {
            return self.unlock_early(session, direction, header, body, plain);
        }
        if self.key.is_none() {
            // Early data end with a message that has their key, also where there were none.
            self.enter(self.stage, session, direction);
            if self.key.is_none() && self.stage == Stage::Early {
                self.enter(Stage::Handshake, session, direction);
            }
        }
        if self.key.as_mut().is_some_and(|key| key.open(header, body, plain)) {
            self.is_proved = true;
            return true;
        }
        if let Some((stage, mut key)) = self.following(session, direction)
            && key.open(header, body, plain)
        {
            self.take_up(stage, Some(key));
            self.is_proved = true;
            return true;
        }
        // Early data that the server refused is not numbered among what follows.
        if self.is_proved {
            self.key.iter_mut().for_each(RecordKey::pass);
        }
        false
    }

    /// Early data come before the server has chosen the suite: it is that of the session that is resumed.
    fn unlock_early(
        &mut self,
        session: &Session,
        direction: Direction,
        header: &[u8; 5],
        body: &[u8],
        plain: &mut Vec<u8>,
    ) -> bool {
        for suite in SUITES_13.into_iter().filter_map(Suite::of) {
            let Some(mut key) = session.key_13(suite, Stage::Early, direction) else {
                continue;
            };
            if key.open(header, body, plain) {
                self.take_up(Stage::Early, Some(key));
                return true;
            }
        }
        false
    }

    fn following(&self, session: &Session, direction: Direction) -> Option<(Stage, RecordKey)> {
        let suite = session.suite?;
        let stage = match self.stage {
            Stage::Early => Stage::Handshake,
            Stage::Handshake => Stage::Traffic,
            Stage::Traffic => return Some((Stage::Traffic, self.key.as_ref()?.next()?)),
        };
        let mut key = session.key_13(suite, stage, direction)?;
        key.lose();
        Some((stage, key))
    }

    fn enter(&mut self, stage: Stage, session: &Session, direction: Direction) {
        if let Some(suite) = session.suite {
            let key = session.key_13(suite, stage, direction);
            self.take_up(stage, key);
        }
    }

    fn take_up(&mut self, stage: Stage, key: Option<RecordKey>) {
        (self.stage, self.key, self.is_proved) = (stage, key, false);
    }

    /// What an opened record of TLS 1.3 holds: its last byte that is not zero is its type (RFC 8446 section 5.2).
    fn content_13<'a>(
        &mut self,
        session: &Session,
        direction: Direction,
        plain: &'a mut Vec<u8>,
    ) -> OpenedRecord<'a> {
        while plain.last() == Some(&0) {
            plain.pop();
        }
        let kind = plain.pop().unwrap_or(0);
        if kind == HANDSHAKE {
            let mut ended = Vec::new();
            self.messages.take(plain, &mut |kind| ended.push(kind));
            for message in ended {
                self.message(message, session, direction);
            }
        }
        content(kind, plain)
    }

    fn message(&mut self, kind: u8, session: &Session, direction: Direction) {
        match (kind, self.stage) {
            (END_OF_EARLY_DATA, Stage::Early) => self.enter(Stage::Handshake, session, direction),
            (FINISHED, Stage::Handshake) => self.enter(Stage::Traffic, session, direction),
            (KEY_UPDATE, Stage::Traffic) => {
                let next = self.key.as_ref().and_then(RecordKey::next);
                self.take_up(Stage::Traffic, next);
            }
            _ => {}
        }
    }
}

fn content(kind: u8, plain: &[u8]) -> OpenedRecord<'_> {
    match kind {
        DATA => OpenedRecord::Data(plain),
        ALERT => OpenedRecord::Alert,
        _ => OpenedRecord::Handshake,
    }
}

const CHANGE_CIPHER: u8 = 20;
const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;
const DATA: u8 = 23;

/// Most times that the secrets of a connection are asked for.
const MOST_ASKED: u32 = 8;

/// Bytes of an authentication tag.
const TAG: u64 = 16;

/// Those of TLS 1.3.
const SUITES_13: [u16; 3] = [0x1301, 0x1302, 0x1303];
