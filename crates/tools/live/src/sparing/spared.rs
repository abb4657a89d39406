//! The exchanges to spare, as requested.

use analysis::fingerprint::Fingerprints;
use analysis::verb::{Verb, is_trial};
use anyhow::{Result, bail};
use model::{Dialect, Finding, FindingKind, Fingerprint, SparingOutcome, is_unseen_fingerprint};
use std::cmp::Reverse;
use std::collections::HashSet;
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
        keeps_literals: bool,
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
    pub fn parse(text: &str, keeps_literals: bool) -> Result<Self> {
        if text == SparingOutcome::CONTROL {
            return Ok(Self::Control);
        }
        match FindingKind::from_name(&text.to_lowercase()) {
            None if text.trim().is_empty() => bail!("--spare names nothing: a statement, or {KINDS}"),
            None if is_unknown_word(text) => bail!(
                "--spare: '{text}' is neither a statement nor a kind that can be spared. Name a statement as it is printed, or {KINDS}"
            ),
            None => Ok(Self::statement(text, keeps_literals)),
            Some(FindingKind::Reconnect) => Ok(Self::Connecting),
            Some(kind @ FindingKind::NPlusOne) => Ok(Self::Loops(kind, Verb::Read)),
            Some(kind @ (FindingKind::RowByRow | FindingKind::UnrewrittenBatch)) => {
                Ok(Self::Loops(kind, Verb::Write))
            }
            Some(kind) => bail!(
                "--spare cannot tell which exchanges the remedy of {kind} removes: name a statement, or {KINDS}"
            ),
        }
    }

    /// The exchanges that a finding's remedy removes, if longwire can tell which.
    pub(super) fn of_finding(finding: &Finding) -> Option<Self> {
        let Some(text) = &finding.fingerprint else {
            return (finding.kind == FindingKind::Reconnect).then_some(Self::Connecting);
        };
        let is_loop = matches!(
            finding.kind,
            FindingKind::NPlusOne | FindingKind::RowByRow | FindingKind::UnrewrittenBatch
        );
        (is_loop && !is_unseen_fingerprint(text)).then(|| Self::Statement {
            text: text.to_string(),
            keeps_literals: true,
            whole: vec![text.clone()],
            pieces: Vec::new(),
        })
    }

    fn statement(text: &str, keeps_literals: bool) -> Self {
        let as_sent = |dialect: &Dialect| Fingerprints::default().statement(text.as_bytes(), *dialect);
        let lower = text.to_lowercase();
        Self::Statement {
            text: text.to_owned(),
            keeps_literals,
            whole: DIALECTS.iter().map(as_sent).chain([Arc::from(text)]).collect(),
            pieces: lower.split("...").map(|piece| piece.trim().to_owned()).collect(),
        }
    }

    /// Executions in one operation that show that a statement is meant.
    pub(super) const fn min_executions(&self) -> u32 {
        match self {
            Self::Loops(..) => LOOP,
            Self::Control | Self::Connecting | Self::Statement { .. } => 0,
        }
    }

    pub(super) fn names(&self, fingerprint: &str) -> bool {
        match self {
            Self::Control | Self::Connecting => false,
            Self::Loops(_, verb) => Verb::from_fingerprint(fingerprint) == *verb,
            Self::Statement { whole, pieces, .. } => {
                whole.iter().any(|whole| **whole == *fingerprint) || matches(pieces, fingerprint)
            }
        }
    }

    /// Up to three of `seen`, those with most of its words first.
    pub(super) fn nearest<'a>(&self, seen: impl Iterator<Item = &'a Fingerprint>) -> Vec<String> {
        let Self::Statement { pieces, .. } = self else {
            return Vec::new();
        };
        let wanted: HashSet<&str> = pieces.iter().flat_map(|piece| words(piece)).collect();
        let shared = |text: &Fingerprint| {
            let text = text.to_lowercase();
            let own: HashSet<&str> = words(&text).collect();
            wanted.intersection(&own).count()
        };
        let mut seen: Vec<_> = seen.map(|text| (Reverse(shared(text)), text)).collect();
        seen.sort_unstable();
        let nearest = seen.iter().take(MAX_NEAREST);
        nearest.map(|(_, text)| format!("'{text}'")).collect()
    }

    /// Without literals, unless they are kept. `seen` is a statement that it names.
    pub(super) fn printed(&self, seen: Option<&Fingerprint>) -> String {
        match self {
            Self::Control => SparingOutcome::CONTROL.to_owned(),
            Self::Connecting => FindingKind::Reconnect.to_string(),
            Self::Loops(kind, _) => kind.to_string(),
            Self::Statement {
                text, keeps_literals, ..
            } if *keeps_literals => text.clone(),
            Self::Statement { text, pieces, .. } => match (seen, &pieces[..]) {
                (Some(seen), [_]) => seen.to_string(),
                // The pieces stand in a fingerprint, which has no literal.
                (Some(_), _) => text.clone(),
                (None, _) => masked(text),
            },
        }
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    words.filter(|word| !word.is_empty())
}

/// Statements of one word are known: `commit`, `PING`.
fn is_unknown_word(text: &str) -> bool {
    let is_word = text
        .trim()
        .chars()
        .all(|letter| letter.is_alphanumeric() || "-_+".contains(letter));
    let is_known = |word: &str| is_trial(word) || Verb::from_fingerprint(word) != Verb::Other;
    is_word && !is_known(&text.to_lowercase()) && !is_known(&text.to_uppercase())
}

/// `"` quotes names in some dialects, and literals in others: both are masked.
fn masked(text: &str) -> String {
    let mut fingerprints = Fingerprints::default();
    let mut mask = |piece: &str| {
        let standard = fingerprints.statement(piece.as_bytes(), Dialect::Standard);
        fingerprints.statement(standard.as_bytes(), Dialect::Mysql)
    };
    let pieces: Vec<_> = text.split("...").map(|piece| mask(piece.trim())).collect();
    pieces.join(" ... ").trim().to_owned()
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

const DIALECTS: [Dialect; 7] = [
    Dialect::Standard,
    Dialect::Mysql,
    Dialect::Informix,
    Dialect::Oracle,
    Dialect::SqlServer,
    Dialect::Redis,
    Dialect::Mongodb,
];

const KINDS: &str = "n+1, row-by-row, unrewritten-batch, reconnect or control";
const MAX_NEAREST: usize = 3;
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
            let spared = Spared::parse(text, false).expect("a statement");
            assert!(spared.names(printed), "{text}");
            assert!(!spared.names("delete from customers where id = ?"), "{text}");
        }
    }

    #[test]
    fn the_nearest_statements_share_most_words() {
        let seen = [
            "commit",
            "select name from customers where id = ?",
            "select ?",
            "begin",
        ];
        let seen: Vec<Fingerprint> = seen.into_iter().map(Arc::from).collect();
        let spared = Spared::parse("select nome FROM customers", false).expect("a statement");
        let nearest = spared.nearest(seen.iter());
        assert_eq!(
            nearest,
            [
                "'select name from customers where id = ?'",
                "'select ?'",
                "'begin'"
            ]
        );
    }

    #[test]
    fn literals_are_printed_only_if_they_are_kept() {
        let printed = |text, keeps_literals, seen: Option<&str>| {
            let spared = Spared::parse(text, keeps_literals).expect("a statement");
            spared.printed(seen.map(Arc::from).as_ref())
        };
        let sent = "select 'a' from t where id = 17";
        let fingerprint = "select ? from t where id = ?";
        assert_eq!(printed(sent, false, None), fingerprint);
        assert_eq!(printed(sent, false, Some(fingerprint)), fingerprint);
        assert_eq!(printed(sent, true, Some(fingerprint)), sent);
        let pattern = printed("select ... where id = 17 and name = \"secret\" ...", false, None);
        assert_eq!(pattern, "select ... where id = ? and name = ? ...");
        let names = "select \"id\" ... = ?";
        assert_eq!(
            printed(names, false, Some("select \"id\" from t where id = ?")),
            names
        );
    }

    #[test]
    fn kinds_of_findings_are_loops_connecting_or_refused() {
        let parse = |text| Spared::parse(text, false);
        let loops = parse("n+1").expect("a kind");
        assert!(loops.names("select ?") && !loops.names("insert into t values (?)"));
        assert_eq!(loops.min_executions(), 3);
        assert_eq!(parse("reconnect").expect("a kind"), Spared::Connecting);
        assert_eq!(parse("control").expect("a kind"), Spared::Control);
        let refused = parse("ack-stall").expect_err("no exchanges").to_string();
        assert!(refused.contains("ack-stall"), "{refused}");
        assert!(Spared::parse(" ", false).is_err());
        for typo in ["nonsense", "n+2", "row_by_row"] {
            let refused = parse(typo).expect_err("neither").to_string();
            assert!(refused.contains(typo) && refused.contains(KINDS), "{refused}");
        }
        for word in ["commit", "COMMIT", "ping", "(COM_PING)", "nonsense ...", "GET ?"] {
            assert!(parse(word).is_ok(), "{word}");
        }
        assert_eq!(Spared::parse("N+1", false).expect("a kind"), loops);
    }
}
