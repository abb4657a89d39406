//! Numbers fingerprints and caches their properties.

use super::control::Control;
use super::frameworks::{self, Style};
use super::pages::{Paging, paging};
use crate::by_fingerprint::ByFingerprint;
use crate::verb::Verb;
use model::{Fingerprint, is_unseen_fingerprint};

#[derive(Debug, Default)]
pub(super) struct FingerprintIds {
    known: ByFingerprint<FingerprintId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FingerprintId {
    pub(super) number: u32,
    pub(super) verb: Verb,
    pub(super) bounds: Option<Bound>,
    pub(super) is_unseen: bool,
    pub(super) is_constant: bool,
    pub(super) control: Option<Control>,
    pub(super) paging: Option<Paging>,
    /// Reads metadata or statistics, as drivers, frameworks and monitoring do.
    pub(super) is_catalogue: bool,
    pub(super) has_source: bool,
    pub(super) style: Style,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bound {
    Begin,
    End,
}

/// Statements with further fingerprints are in no finding.
pub(super) const MAX_CODES: usize = 20_000;

impl FingerprintIds {
    /// Returns `None` beyond [`MAX_CODES`].
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
            (Some("commit" | "end" | "rollback" | "commitTransaction" | "abortTransaction"), _) => {
                Some(Bound::End)
            }
            _ => None,
        };
        Self {
            number,
            style: frameworks::style(fingerprint),
            verb,
            bounds,
            control: Control::from_fingerprint(fingerprint),
            is_unseen: is_unseen_fingerprint(fingerprint),
            is_constant: !fingerprint.contains(['?', '$', '{']) && !fingerprint.starts_with('('),
            paging: paging(fingerprint),
            is_catalogue: is_catalogue(fingerprint),
            has_source: fingerprint.contains(" from ") || !fingerprint.starts_with("select"),
        }
    }
}

/// Whether a statement reads only system tables, judging by the text.
pub(super) fn is_catalogue(fingerprint: &str) -> bool {
    let text = fingerprint.to_ascii_lowercase();
    text.starts_with("show ") || CATALOGUES.iter().any(|name| text.contains(name))
}

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
