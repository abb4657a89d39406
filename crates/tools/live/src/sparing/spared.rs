//! What is spared.

use analysis::fingerprint::Fingerprints;
use analysis::verb::Verb;
use anyhow::{Result, bail};
use model::{Dialect, FindingKind, Fingerprint, SparingOutcome};
use std::fmt;
use std::sync::Arc;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Spared {
    /// Nothing: operations alternate all the same.
    Control,
    /// Connections and their logins.
    Connecting,
    /// A statement as longwire prints it, or as sent; `...` stands for any text.
    Statement {
        text: String,
        /// As fingerprints.
        whole: Vec<Fingerprint>,
        /// Between `...`, in lower case.
        pieces: Vec<String>,
    },
    /// Statements of a finding's kind that an operation repeats.
    Loops(FindingKind, Verb),
}

impl Spared {
    /// # Errors
    /// If longwire cannot spare this alone.
    pub fn parse(text: &str) -> Result<Self> {
        if text == SparingOutcome::CONTROL {
            return Ok(Self::Control);
        }
        match FindingKind::from_name(text) {
            None => Ok(Self::statement(text)),
            Some(FindingKind::Reconnect) => Ok(Self::Connecting),
            Some(kind @ FindingKind::NPlusOne) => Ok(Self::Loops(kind, Verb::Read)),
            Some(kind @ (FindingKind::RowByRow | FindingKind::UnrewrittenBatch)) => {
                Ok(Self::Loops(kind, Verb::Write))
            }
            Some(kind) => bail!(
                "--spare cannot tell which exchanges the remedy of {kind} removes: name a statement, or n+1, row-by-row, \
                 unrewritten-batch or reconnect"
            ),
        }
    }

    fn statement(text: &str) -> Self {
        let as_sent = |dialect: &Dialect| Fingerprints::default().statement(text.as_bytes(), *dialect);
        let lower = text.to_lowercase();
        Self::Statement {
            text: text.to_owned(),
            whole: DIALECTS.iter().map(as_sent).chain([Arc::from(text)]).collect(),
            pieces: lower.split("...").map(|piece| piece.trim().to_owned()).collect(),
        }
    }

    /// `most` is how often an operation has executed it.
    pub(super) fn means(&self, fingerprint: &str, most: u32) -> bool {
        match self {
            Self::Control | Self::Connecting => false,
            Self::Loops(_, verb) => most >= LOOP && Verb::from_fingerprint(fingerprint) == *verb,
            Self::Statement { whole, pieces, .. } => {
                whole.iter().any(|whole| **whole == *fingerprint) || matches(pieces, fingerprint)
            }
        }
    }
}

impl fmt::Display for Spared {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Control => formatter.write_str(SparingOutcome::CONTROL),
            Self::Connecting => write!(formatter, "{}", FindingKind::Reconnect),
            Self::Statement { text, .. } => formatter.write_str(text),
            Self::Loops(kind, _) => write!(formatter, "{kind}"),
        }
    }
}

/// The first piece begins it, the last ends it, the others are between, in order.
fn matches(pieces: &[String], fingerprint: &str) -> bool {
    let text = fingerprint.to_lowercase();
    let [first, between @ .., last] = pieces else {
        return false;
    };
    let Some(rest) = text
        .strip_prefix(first.as_str())
        .and_then(|rest| rest.strip_suffix(last.as_str()))
    else {
        return false;
    };
    let mut rest = rest;
    between.iter().all(|piece| match rest.find(piece.as_str()) {
        Some(place) => {
            rest = &rest[place + piece.len()..];
            true
        }
        None => false,
    })
}

const DIALECTS: [Dialect; 6] = [
    Dialect::Standard,
    Dialect::Mysql,
    Dialect::Informix,
    Dialect::Oracle,
    Dialect::SqlServer,
    Dialect::Redis,
];

/// As for a finding.
const LOOP: u32 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_named_as_printed_as_sent_or_in_part() {
        let printed = "select name, city from customers where id = ?";
        for text in [
            printed,
            "SELECT name, city FROM customers WHERE id = 17",
            "SELECT ... where id = ?",
            "select ... customers ...",
        ] {
            let spared = Spared::parse(text).expect("a statement");
            assert!(spared.means(printed, 0), "{text}");
            assert!(!spared.means("delete from customers where id = ?", 0), "{text}");
        }
    }

    #[test]
    fn kinds_of_findings_are_loops_connecting_or_refused() {
        let loops = Spared::parse("n+1").expect("a kind");
        assert!(loops.means("select ?", 3) && !loops.means("select ?", 2));
        assert!(!loops.means("insert into t values (?)", 9));
        assert_eq!(Spared::parse("reconnect").expect("a kind"), Spared::Connecting);
        assert_eq!(Spared::parse("control").expect("a kind"), Spared::Control);
        let refused = Spared::parse("ack-stall").expect_err("no exchanges").to_string();
        assert!(refused.contains("ack-stall"), "{refused}");
    }
}
