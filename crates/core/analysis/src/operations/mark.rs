//! Marks: statements with which a client names its next work.
//!
//! `SELECT 1 AS "longwire NAME"` (MySQL: in backticks) begins a span of that name and ends the one
//! before; without a name it only ends one. Every database accepts a column name, and as an
//! identifier it stays in fingerprints.

use model::Exchange;

/// Name of a mark, empty if it only ends a span; `None` if the exchange is not a mark.
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
