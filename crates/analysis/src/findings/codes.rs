//! Fingerprints as numbers, with what findings need to know about them.

use super::frameworks::{self, Style};
use crate::verb::{Verb, is_trial};
use model::Fingerprint;
use std::collections::HashMap;
use std::sync::Arc;

/// Numbers of fingerprints. Most are found by their address: equal ones share one allocation, within a connection at least.
#[derive(Debug, Default)]
pub(super) struct Codes {
    by_address: HashMap<usize, (Fingerprint, Code)>,
    by_text: HashMap<Fingerprint, Code>,
}

/// A fingerprint's number, and what its text shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Code {
    /// Equal for equal fingerprints.
    pub(super) number: u32,
    pub(super) verb: Verb,
    /// It begins or ends a transaction.
    pub(super) bounds: Option<Bound>,
    /// There is no literal and no parameter in it.
    pub(super) is_constant: bool,
    /// It only tests whether the connection works: `select 1`.
    pub(super) is_trial: bool,
    /// It reads from a table, as far as the text shows.
    pub(super) has_source: bool,
    /// The framework it shows.
    pub(super) style: Style,
}

/// Which end of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bound {
    Begin,
    End,
}

/// Most fingerprints that are distinguished; statements with others are in no finding.
pub(super) const MOST_CODES: usize = 20_000;

/// Most addresses remembered.
const MOST_ADDRESSES: usize = 65_536;

impl Codes {
    /// The code of a fingerprint; absent past [`MOST_CODES`].
    pub(super) fn of(&mut self, fingerprint: &Fingerprint) -> Option<Code> {
        let address = Arc::as_ptr(fingerprint).cast::<u8>() as usize;
        if let Some((_, code)) = self.by_address.get(&address) {
            return Some(*code);
        }
        let code = match self.by_text.get(fingerprint) {
            Some(code) => *code,
            None => {
                let number = u32::try_from(self.by_text.len()).ok()?;
                if self.by_text.len() >= MOST_CODES {
                    return None;
                }
                let code = Code::new(number, fingerprint);
                self.by_text.insert(fingerprint.clone(), code);
                code
            }
        };
        if self.by_address.len() >= MOST_ADDRESSES {
            self.by_address.clear();
        }
        // The clone keeps the address from being used for another text.
        self.by_address.insert(address, (fingerprint.clone(), code));
        Some(code)
    }
}

impl Code {
    fn new(number: u32, fingerprint: &str) -> Self {
        let mut words = fingerprint.split([' ', ';']);
        let verb = Verb::of(fingerprint);
        let bounds = match (words.next(), words.next()) {
            _ if verb != Verb::Control => None,
            (Some("begin" | "start"), _) => Some(Bound::Begin),
            (Some("rollback"), Some("to")) => None,
            (Some("commit" | "end" | "rollback"), _) => Some(Bound::End),
            _ => None,
        };
        Self {
            number,
            style: frameworks::style(fingerprint),
            verb,
            bounds,
            is_trial: is_trial(fingerprint),
            is_constant: !fingerprint.contains(['?', '$']),
            has_source: fingerprint.contains(" from ") || !fingerprint.starts_with("select"),
        }
    }
}
