//! The lock that a statement requests.

use foldhash::quality::FixedState;
use model::Exchange;
use std::hash::BuildHasher;

/// A lock, equal wherever the same statement requests the same rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LockKey {
    of: u64,
    has_rows: bool,
}

impl LockKey {
    /// `None` if the statement is unknown.
    pub fn from_exchange(exchange: &Exchange) -> Option<Self> {
        let digest = exchange.asked.rows_digest;
        let statement = exchange.fingerprint.as_deref()?;
        Some(Self {
            of: FixedState::default().hash_one((statement, digest)),
            has_rows: digest.is_some(),
        })
    }

    /// Whether it names the rows.
    pub const fn has_rows(self) -> bool {
        self.has_rows
    }
}
