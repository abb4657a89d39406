//! Follows the records of one connection and opens those that it has keys for.

use crate::closed::Closed;
use crate::handshake::Messages;
use crate::key_direction::{KeyDirection, Stage};
use crate::key_log::Secrets;
use crate::schedule::RecordKey;
use crate::session::Session;
use model::Direction;
use std::fmt;
use std::sync::Arc;

/// Opens the records of one connection. Memory: the plain text of one record, and a few keys.
///
/// Calling order: [`RecordOpener::open`] with each record in the order in which it passed,
/// [`RecordOpener::miss`] in the place of one of which bytes are missing, [`RecordOpener::desync`] where it
/// is not known how many there were.
pub struct RecordOpener {
    log: Arc<dyn Secrets>,
    session: Session,
    lanes: [KeyDirection; 2],
    plain: Vec<u8>,
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

    /// Why no record of this connection can be opened any more; `None` while one might.
    pub fn closed(&self) -> Option<Closed> {
        self.session.closed
    }

    /// The connection has ended, and was not opened, or not to its end: counts it ([`Secrets::unopened`],
    /// [`Secrets::opened_in_part`]).
    pub fn ends(&self, closed: Closed) {
        match self.session.has_opened {
            true => self.log.opened_in_part(closed),
            false => self.log.unopened(closed),
        }
    }

    /// Bytes that encryption adds to a record behind its header, without padding.
    pub fn overhead(&self) -> u64 {
        let mut keys = self.lanes.iter().filter_map(|lane| lane.key.as_ref());
        keys.next().map_or(TAG, |key| RecordKey::overhead(key) as u64)
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
        if matches!(header, [0x80..=0xff, _, 1, 3, _]) && direction == Direction::ClientToServer {
            session.old_greeting(body, log.as_ref());
            return OpenedRecord::Clear;
        }
        if kind == CHANGE_CIPHER || (kind == DATA && direction == Direction::ClientToServer) {
            session.look_up_secrets(log.as_ref());
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
                    OpenedRecord::Closed(session.refused(lane, direction, log.as_ref()))
                }
            }
            _ if lane.unlock_12(session, direction, header, body, plain) => {
                session.note_opened(log.as_ref());
                content(kind, plain)
            }
            _ => OpenedRecord::Closed(session.refused(lane, direction, log.as_ref())),
        }
    }

    /// A record of `direction` of which bytes are missing.
    pub fn miss(&mut self, direction: Direction) {
        let lane = &mut self.lanes[direction.index()];
        lane.messages = Messages::default();
        if let Some(key) = &mut lane.key {
            key.miss();
        }
        self.session.miss_greeting(direction);
    }

    /// Bytes of `direction` are missing; how many records they were is not known.
    pub fn desync(&mut self, direction: Direction) {
        let lane = &mut self.lanes[direction.index()];
        lane.messages = Messages::default();
        if let Some(key) = &mut lane.key {
            key.desync();
        }
        self.session.miss_greeting(direction);
    }
}

/// What an opened record of this type holds.
pub(crate) fn content(kind: u8, plain: &[u8]) -> OpenedRecord<'_> {
    match kind {
        DATA => OpenedRecord::Data(plain),
        ALERT => OpenedRecord::Alert,
        _ => OpenedRecord::Handshake,
    }
}

const CHANGE_CIPHER: u8 = 20;
const ALERT: u8 = 21;
pub(crate) const HANDSHAKE: u8 = 22;
const DATA: u8 = 23;

/// Bytes of an authentication tag.
const TAG: u64 = 16;
