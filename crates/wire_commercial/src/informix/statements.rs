//! Prepared statements: by the server's number, which it gives when it describes one.

use model::StatementId;
use std::collections::HashMap;

/// The statements of one connection. Holds at most [`MAXIMUM_STATEMENTS`]; beyond them, none is known any
/// more.
#[derive(Debug, Default)]
pub(super) struct Statements {
    prepared: u32,
    by_number: HashMap<u16, StatementId>,
    /// The one that was prepared last.
    last: Option<StatementId>,
    /// It waits for its number.
    unnumbered: bool,
}

impl Statements {
    /// The client prepares one.
    pub(super) fn prepare(&mut self) -> StatementId {
        let id = StatementId(self.prepared);
        self.prepared = self.prepared.wrapping_add(1);
        self.last = Some(id);
        self.unnumbered = true;
        id
    }

    /// The client runs one by its text: what the server describes next is that.
    pub(super) fn command(&mut self) {
        self.unnumbered = false;
    }

    /// The server describes one.
    pub(super) fn describe(&mut self, number: u16) {
        if !std::mem::take(&mut self.unnumbered) {
            return;
        }
        if self.by_number.len() >= MAXIMUM_STATEMENTS {
            self.by_number.clear();
        }
        if let Some(last) = self.last {
            self.by_number.insert(number, last);
        }
    }

    /// Which one `number` means. There are drivers that do not repeat the server's number but say 0, and mean
    /// the one that was prepared last. A number that is new while one waits for its own is that one's: the
    /// description was lost.
    pub(super) fn find(&mut self, number: u16) -> Option<StatementId> {
        if self.unnumbered && number != 0 && !self.by_number.contains_key(&number) {
            self.describe(number);
        }
        let known = self.by_number.get(&number).copied();
        known.or(self.last.filter(|_| number == 0))
    }

    /// A number whose statement was not seen gets one of ours.
    pub(super) fn unseen(&mut self, number: u16) -> Option<StatementId> {
        if number == 0 || self.by_number.len() >= MAXIMUM_STATEMENTS {
            return None;
        }
        let id = StatementId(self.prepared);
        self.prepared = self.prepared.wrapping_add(1);
        self.by_number.insert(number, id);
        Some(id)
    }

    /// The client is done with one.
    pub(super) fn remove_statement(&mut self, number: u16) {
        self.by_number.remove(&number);
    }
}

const MAXIMUM_STATEMENTS: usize = 8192;
