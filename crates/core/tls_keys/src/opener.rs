//! Decrypts the records of one connection if keys are available.

use crate::closed::Closed;
use crate::handshake::Messages;
use crate::key_direction::KeyDirection;
use crate::key_log::Secrets;
use crate::opened_record::{ALERT, DATA, HANDSHAKE, OpenedRecord, content};
use crate::schedule::{RecordKey, Stage};
use crate::session::Session;
use model::{Direction, PerDirection};
use std::fmt;
use std::sync::Arc;

/// Decrypts the records of one connection. Holds the plain text of one record, and a few keys.
///
/// Call [`RecordOpener::open`] with each record in order, [`RecordOpener::miss`] in place of an
/// incomplete one, and [`RecordOpener::desync`] if the number of missing records is unknown.
pub struct RecordOpener {
    log: Arc<dyn Secrets>,
    session: Session,
    lanes: PerDirection<KeyDirection>,
    plain: Vec<u8>,
}

impl fmt::Debug for RecordOpener {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("RecordOpener")
            .field("secrets", &self.session.secrets)
            .field("is_13", &self.session.is_13)
            .field(
                "stages",
                &PerDirection::from_fn(|direction| self.lanes[direction].stage),
            )
            .field("closed", &self.session.closed)
            .finish_non_exhaustive()
    }
}

impl RecordOpener {
    pub fn new(log: Arc<dyn Secrets>) -> Self {
        Self {
            log,
            session: Session::default(),
            lanes: Default::default(),
            plain: Vec::new(),
        }
    }

    /// Reason why no further record can be decrypted; `None` while one might.
    pub fn closed(&self) -> Option<Closed> {
        self.session.closed
    }

    /// Counts a connection that ended without decryption, or was decrypted only in part.
    pub fn ends(&self, closed: Closed) {
        match self.session.has_opened {
            true => self.log.opened_in_part(closed),
            false => self.log.unopened(closed),
        }
    }

    /// Overhead of a record after its header in bytes, without padding.
    pub fn overhead(&self) -> u64 {
        let mut keys = self.lanes.iter().filter_map(|lane| lane.key.as_ref());
        keys.next().map_or(TAG, |key| RecordKey::overhead(key) as u64)
    }

    pub fn open(&mut self, direction: Direction, header: &[u8; 5], body: &[u8]) -> OpenedRecord<'_> {
        let Self {
            log,
            session,
            lanes,
            plain,
        } = self;
        let lane = &mut lanes[direction];
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
                    OpenedRecord::Closed(lane.refused(session, direction, log.as_ref()))
                }
            }
            _ if lane.unlock_12(session, direction, header, body, plain) => {
                session.note_opened(log.as_ref());
                content(kind, plain)
            }
            _ => OpenedRecord::Closed(lane.refused(session, direction, log.as_ref())),
        }
    }

    pub fn miss(&mut self, direction: Direction) {
        let lane = &mut self.lanes[direction];
        lane.messages = Messages::default();
        if let Some(key) = &mut lane.key {
            key.miss();
        }
        self.session.miss_greeting(direction);
    }

    pub fn desync(&mut self, direction: Direction) {
        let lane = &mut self.lanes[direction];
        lane.messages = Messages::default();
        if let Some(key) = &mut lane.key {
            key.desync();
        }
        self.session.miss_greeting(direction);
    }
}

const CHANGE_CIPHER: u8 = 20;

const TAG: u64 = 16;
