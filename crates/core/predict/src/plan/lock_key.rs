//! The lock that a statement requests.

use model::Exchange;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

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
        let mut hasher = DefaultHasher::new();
        (exchange.fingerprint.as_deref()?, digest).hash(&mut hasher);
        Some(Self {
            of: hasher.finish(),
            has_rows: digest.is_some(),
        })
    }

    /// Whether it names the rows.
    pub const fn has_rows(self) -> bool {
        self.has_rows
    }
}
