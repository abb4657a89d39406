//! Fingerprints as numbers, with what findings need to know about them.

use super::frameworks::{self, Style};
use crate::by_fingerprint::ByFingerprint;
use crate::verb::{Verb, is_trial};
use model::Fingerprint;

/// What is known of fingerprints, by their numbers.
#[derive(Debug, Default)]
pub(super) struct Codes {
    known: ByFingerprint<Code>,
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

impl Codes {
    /// The code of a fingerprint; absent past [`MOST_CODES`].
    pub(super) fn of(&mut self, fingerprint: &Fingerprint) -> Option<Code> {
        let new = |number, text: &Fingerprint| Code::new(number, text);
        let number = self.known.number(fingerprint, MOST_CODES, new)?;
        self.known.value(number).copied()
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
