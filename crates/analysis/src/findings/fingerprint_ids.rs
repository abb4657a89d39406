//! Fingerprints as numbers, with what findings need to know about them.

use super::control::Control;
use super::frameworks::{self, Style};
use super::pages::{Paging, paging};
use crate::by_fingerprint::ByFingerprint;
use crate::verb::Verb;
use model::{Fingerprint, is_unseen_fingerprint};

/// What is known of fingerprints, by their numbers.
#[derive(Debug, Default)]
pub(super) struct FingerprintIds {
    known: ByFingerprint<FingerprintId>,
}

/// A fingerprint's number, and what its text shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FingerprintId {
    /// Equal for equal fingerprints.
    pub(super) number: u32,
    pub(super) verb: Verb,
    /// It begins or ends a transaction.
    pub(super) bounds: Option<Bound>,
    /// Its text was not seen: what it does shows in its replies only.
    pub(super) is_unseen: bool,
    /// There is no literal and no parameter in it.
    pub(super) is_constant: bool,
    /// It does no work of its own.
    pub(super) control: Option<Control>,
    /// It asks for a part of a result.
    pub(super) paging: Option<Paging>,
    /// It reads what the database is made of, or how it does: work of drivers, frameworks and monitoring.
    pub(super) is_catalogue: bool,
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
pub(super) const MAX_CODES: usize = 20_000;

impl FingerprintIds {
    /// The code of a fingerprint; `None` past [`MAX_CODES`].
    pub(super) fn fingerprint_id(&mut self, fingerprint: &Fingerprint) -> Option<FingerprintId> {
        let new = |number, text: &Fingerprint| FingerprintId::new(number, text);
        let number = self.known.number(fingerprint, MAX_CODES, new)?;
        self.known.value(number).copied()
    }
}

impl FingerprintId {
    fn new(number: u32, fingerprint: &str) -> Self {
        let mut words = fingerprint.split([' ', ';']);
        let verb = Verb::from_fingerprint(fingerprint);
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
            control: Control::from_fingerprint(fingerprint),
            is_unseen: is_unseen_fingerprint(fingerprint),
            is_constant: !fingerprint.contains(['?', '$']) && !fingerprint.starts_with('('),
            paging: paging(fingerprint),
            is_catalogue: is_catalogue(fingerprint),
            has_source: fingerprint.contains(" from ") || !fingerprint.starts_with("select"),
        }
    }
}

/// Whether a statement reads the system's own tables and nothing else, as far as its text shows.
pub(super) fn is_catalogue(fingerprint: &str) -> bool {
    let text = fingerprint.to_ascii_lowercase();
    text.starts_with("show ") || CATALOGUES.iter().any(|name| text.contains(name))
}

/// How the names of system tables begin, behind a word or a quote.
const CATALOGUES: [&str; 12] = [
    "pg_catalog.",
    " pg_",
    "\"pg_",
    "information_schema",
    "performance_schema",
    " sys.",
    " sysibm.",
    " syscat.",
    " systables",
    " v$",
    " gv$",
    " all_objects",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn system_tables_are_known_by_their_names() {
        for (text, expected) in [
            ("select count(*) from pg_stat_activity", true),
            ("select t.oid from pg_catalog.pg_type t", true),
            ("select a from information_schema.tables", true),
            ("SHOW global status", true),
            ("select a from pages", false),
            ("select a from sysadmins", false),
        ] {
            assert_eq!(is_catalogue(text), expected, "{text}");
        }
    }
}
