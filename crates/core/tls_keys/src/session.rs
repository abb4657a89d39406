//! Negotiated parameters and secrets of a connection.

use crate::closed::Closed;
use crate::handshake::{CLIENT_HELLO, client_random, old_client_random, server_hello};
use crate::key_log::{Label, Secrets, SessionSecrets};
use crate::schedule::{Negotiated, RecordKey, Stage};
use crate::suite::Suite;
use model::{Direction, PerDirection};
use std::sync::Arc;

#[derive(Default)]
pub(crate) struct Session {
    pub(crate) client_random: Option<[u8; 32]>,
    pub(crate) secrets: Option<Arc<SessionSecrets>>,
    pub(crate) suite: Option<Suite>,
    pub(crate) is_13: bool,
    pub(crate) version: u16,
    pub(crate) encrypts_then_macs: bool,
    pub(crate) server_random: [u8; 32],
    pub(crate) keys_12: PerDirection<Option<RecordKey>>,
    pub(crate) has_keys_12: bool,
    pub(crate) asked: u32,
    pub(crate) has_opened: bool,
    pub(crate) closed: Option<Closed>,
}

impl Session {
    pub(crate) fn greeting(&mut self, direction: Direction, body: &[u8], log: &dyn Secrets) {
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

    pub(crate) fn old_greeting(&mut self, body: &[u8], log: &dyn Secrets) {
        if self.client_random.is_none() {
            self.client_random = old_client_random(body);
            if self.client_random.is_some() {
                log.greeted();
            }
            self.look_up(log);
        }
    }

    pub(crate) fn note_opened(&mut self, log: &dyn Secrets) {
        if !std::mem::replace(&mut self.has_opened, true) {
            log.opened();
        }
    }

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
        (self.version, self.encrypts_then_macs) = (hello.version, hello.encrypts_then_macs);
        self.server_random = hello.random;
        self.derive_12();
    }

    /// Looks up missing secrets, since a client writes them during the handshake.
    pub(crate) fn look_up_secrets(&mut self, log: &dyn Secrets) {
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
        if !self.secrets.as_ref().is_some_and(is_there) && self.asked >= MAX_LOOKUPS {
            self.closed = Some(Closed::Secret);
        }
        self.derive_12();
    }

    fn look_up(&mut self, log: &dyn Secrets) {
        if let Some(random) = &self.client_random {
            self.asked += 1;
            self.secrets = log.find_secrets(random).or(self.secrets.take());
        }
    }

    fn derive_12(&mut self) {
        let master = self
            .secrets
            .as_ref()
            .and_then(|secrets| secrets.get(Label::Master));
        if let (Some(suite), Some(master), Some(client_random)) = (self.suite, master, &self.client_random)
            && !self.is_13
            && !self.has_keys_12
            && let Some(keys) = RecordKey::of_12(
                suite,
                &Negotiated {
                    version: self.version,
                    encrypts_then_macs: self.encrypts_then_macs,
                    client_random,
                    server_random: &self.server_random,
                },
                master,
            )
        {
            self.keys_12 = keys.map(Some);
            self.has_keys_12 = true;
        }
    }

    /// Without either greeting, decryption is impossible.
    pub(crate) fn miss_greeting(&mut self, direction: Direction) {
        let is_missed = match direction {
            Direction::ClientToServer => self.client_random.is_none(),
            Direction::ServerToClient => self.suite.is_none(),
        };
        if is_missed && self.closed.is_none() {
            self.closed = Some(Closed::Joined);
        }
    }

    pub(crate) fn key_13(&self, suite: Suite, stage: Stage, direction: Direction) -> Option<RecordKey> {
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

const MAX_LOOKUPS: u32 = 8;
