//! Marks: statements by which a client says what it is about to do, so that its work has a name.
//!
//! `SELECT 1 AS "longwire NAME"` (MySQL: in backticks) begins a span of that name and ends the one before it;
//! without a name it only ends one. A column's name is an identifier: every database takes it, and it is no
//! literal, so that it remains in fingerprints.

use model::Exchange;

/// The name that a mark gives, empty for one that only ends a span; `None` if the exchange is no mark.
pub(super) fn find_mark(exchange: &Exchange) -> Option<&str> {
    let text = exchange.fingerprint.as_deref()?;
    let alias = strip_start(text, "select ? as ")?
        .trim_end_matches(';')
        .trim_end();
    let name = QUOTES
        .into_iter()
        .find_map(|quote| alias.strip_prefix(quote)?.strip_suffix(quote))
        .unwrap_or(alias);
    let name = strip_start(name, WORD)?;
    match name.chars().next() {
        None => Some(name),
        Some(' ') => Some(name.trim()),
        Some(_) => None,
    }
}

fn strip_start<'a>(text: &'a str, start: &str) -> Option<&'a str> {
    let head = text.get(..start.len())?;
    head.eq_ignore_ascii_case(start)
        .then(|| text.get(start.len()..))
        .flatten()
}

const WORD: &str = "longwire";
const QUOTES: [char; 2] = ['"', '`'];
