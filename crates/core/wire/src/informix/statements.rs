//! Prepared statements by the server's number, assigned in its description.

use model::StatementId;
use std::collections::HashMap;

/// Holds at most [`MAXIMUM_STATEMENTS`]; beyond that, all are unknown.
#[derive(Debug, Default)]
pub(super) struct Statements {
    prepared: u32,
    by_number: HashMap<u16, StatementId>,
    last: Option<StatementId>,
    unnumbered: bool,
}

impl Statements {
    pub(super) fn prepare(&mut self) -> StatementId {
        let id = StatementId(self.prepared);
        self.prepared = self.prepared.wrapping_add(1);
        self.last = Some(id);
        self.unnumbered = true;
        id
    }

    /// The client runs a text, which the server's next description belongs to.
    pub(super) fn command(&mut self) {
        self.unnumbered = false;
    }

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

    /// Finds the statement of `number`. Some drivers send 0 for the statement prepared last. A new
    /// number belongs to the statement without a number, if its description was lost.
    pub(super) fn find(&mut self, number: u16) -> Option<StatementId> {
        if self.unnumbered && number != 0 && !self.by_number.contains_key(&number) {
            self.describe(number);
        }
        let known = self.by_number.get(&number).copied();
        known.or(self.last.filter(|_| number == 0))
    }

    pub(super) fn unseen(&mut self, number: u16) -> Option<StatementId> {
        if number == 0 || self.by_number.len() >= MAXIMUM_STATEMENTS {
            return None;
        }
        let id = StatementId(self.prepared);
        self.prepared = self.prepared.wrapping_add(1);
        self.by_number.insert(number, id);
        Some(id)
    }

    pub(super) fn remove_statement(&mut self, number: u16) {
        self.by_number.remove(&number);
    }
}

const MAXIMUM_STATEMENTS: usize = 8192;
