//! Current key of one direction, and changes of keys.

use crate::closed::Closed;
use crate::handshake::{END_OF_EARLY_DATA, FINISHED, KEY_UPDATE, Messages};
use crate::key_log::Secrets;
use crate::opened_record::{HANDSHAKE, OpenedRecord, content};
use crate::schedule::{RecordKey, Stage};
use crate::session::Session;
use crate::suite::Suite;
use model::Direction;

#[derive(Default)]
pub(crate) struct KeyDirection {
    pub(crate) stage: Stage,
    pub(crate) key: Option<RecordKey>,
    pub(crate) messages: Messages,
    pub(crate) is_proved: bool,
}

impl KeyDirection {
    /// Begins encryption in TLS 1.2. TLS 1.3 sends this message only for compatibility.
    pub(crate) fn change_cipher(&mut self, session: &mut Session, direction: Direction) {
        if session.is_13 || session.suite.is_none() {
            return;
        }
        match session.keys_12[direction].take() {
            Some(key) => self.key = Some(key),
            // Another handshake inside the first: its secrets are another session's.
            None if self.key.is_some() => session.closed = Some(Closed::Secret),
            // They may be there later.
            None => {}
        }
    }

    pub(crate) fn unlock_12(
        &mut self,
        session: &mut Session,
        direction: Direction,
        header: &[u8; 5],
        body: &[u8],
        plain: &mut Vec<u8>,
    ) -> bool {
        if self.key.is_none() {
            // The change of cipher was lost.
            self.key = session.keys_12[direction].take();
            self.key.iter_mut().for_each(RecordKey::desync);
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

    /// Decrypts a record of TLS 1.3 with this stage's key, or with the next one's if the messages
    /// between them were lost or refused.
    pub(crate) fn unlock_13(
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
            // A message with their key ends early data, also if there were none.
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
        self.messages = Messages::default();
        if !self.may_be_refused(direction) {
            self.key.iter_mut().for_each(RecordKey::pass);
        }
        false
    }

    /// Early data refused by the server precede the client's first handshake record, and do not
    /// count in its numbering.
    pub(crate) fn may_be_refused(&self, direction: Direction) -> bool {
        direction == Direction::ClientToServer
            && self.stage == Stage::Handshake
            && self.key.is_some()
            && !self.is_proved
    }

    /// Reason why a record was not decrypted. On a decrypted connection it counts as damaged,
    /// unless it may be early data refused by the server.
    pub(crate) fn refused(&self, session: &Session, direction: Direction, log: &dyn Secrets) -> Closed {
        let closed = self.why_not(session);
        if closed == Closed::Damaged && session.has_opened && !self.may_be_refused(direction) {
            log.damaged();
        }
        closed
    }

    fn why_not(&self, session: &Session) -> Closed {
        match (&session.client_random, &self.key) {
            (None, _) => Closed::Joined,
            (Some(_), None) => Closed::Secret,
            (Some(_), Some(_)) => Closed::Damaged,
        }
    }

    /// Early data precede the server's choice of the suite: they use the suite of the resumed
    /// session.
    fn unlock_early(
        &mut self,
        session: &Session,
        direction: Direction,
        header: &[u8; 5],
        body: &[u8],
        plain: &mut Vec<u8>,
    ) -> bool {
        for suite in SUITES_13.into_iter().filter_map(Suite::from_number) {
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
        key.desync();
        Some((stage, key))
    }

    pub(crate) fn enter(&mut self, stage: Stage, session: &Session, direction: Direction) {
        if let Some(suite) = session.suite {
            let key = session.key_13(suite, stage, direction);
            self.take_up(stage, key);
        }
    }

    fn take_up(&mut self, stage: Stage, key: Option<RecordKey>) {
        (self.stage, self.key, self.is_proved) = (stage, key, false);
    }

    /// Content of a decrypted record of TLS 1.3: the last byte that is not zero is the type (RFC
    /// 8446 section 5.2).
    pub(crate) fn content_13<'a>(
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
            self.messages.process_record(plain, &mut |kind| ended.push(kind));
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

const SUITES_13: [u16; 3] = [0x1301, 0x1302, 0x1303];
