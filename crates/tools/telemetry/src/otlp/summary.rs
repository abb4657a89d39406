//! `db.query.summary`: operation and targets of a statement, independent of columns and conditions.

use model::{Dialect, Protocol};

/// Summary of a fingerprint after the OpenTelemetry conventions: operations in capitals and their
/// targets in text order, at most 255 bytes. For HTTP it is the fingerprint itself. Misleads if a
/// target is named by a function's result or a literal.
pub fn query_summary(protocol: Protocol, fingerprint: &str) -> String {
    match protocol.is_database() {
        true if protocol.facts().dialect == Dialect::Redis => {
            fingerprint.split(' ').next().unwrap_or_default().to_owned()
        }
        true if protocol.facts().dialect == Dialect::Mongodb => {
            let words = fingerprint.split(' ').take(2);
            let names: Vec<&str> = words.filter(|word| !word.starts_with(['[', '{', '('])).collect();
            cut(&names.join(" "))
        }
        true => of_sql(fingerprint),
        false => cut(fingerprint),
    }
}

fn of_sql(fingerprint: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    let mut expects = Expects::Operation;
    for word in tokens(fingerprint) {
        let plain = word.to_ascii_lowercase();
        if OPERATIONS.contains(&plain.as_str()) {
            words.push(plain.to_ascii_uppercase());
            expects = match plain.as_str() {
                "update" | "truncate" | "call" => Expects::Target,
                _ => Expects::Nothing,
            };
        } else if BEFORE_TARGETS.contains(&plain.as_str()) {
            expects = Expects::Target;
        } else if plain == "," {
            expects = if expects == Expects::Comma {
                Expects::Target
            } else {
                Expects::Nothing
            };
        } else if expects == Expects::Target {
            if MODIFIERS.contains(&plain.as_str()) {
                continue;
            }
            expects = Expects::Nothing;
            if is_name(&word) {
                words.push(word);
                expects = Expects::Comma;
            }
        } else if expects == Expects::Operation {
            // BEGIN, COMMIT, SET: the first word alone.
            words.push(plain.to_ascii_uppercase());
            expects = Expects::Nothing;
        } else if expects != Expects::Comma || !is_name(&word) {
            // After a table, a name is its alias, or the word before it: a comma may still follow.
            expects = Expects::Nothing;
        }
    }
    cut(&words.join(" "))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expects {
    Operation,
    Target,
    /// After a table, a comma introduces another.
    Comma,
    Nothing,
}

/// Words and single signs; quoted names are one word.
fn tokens(text: &str) -> impl Iterator<Item = String> + '_ {
    let mut rest = text.trim_start();
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let length = match first {
            '"' | '`' | '[' => {
                let close = if first == '[' { ']' } else { first };
                rest.get(1..)
                    .and_then(|inside| inside.find(close))
                    .map_or(rest.len(), |end| end + 2)
            }
            _ if is_part_of_name(first) => rest.find(|sign| !is_part_of_name(sign)).unwrap_or(rest.len()),
            _ => first.len_utf8(),
        };
        let (word, behind) = rest.split_at(length);
        rest = behind.trim_start();
        Some(word.to_owned())
    })
}

fn is_part_of_name(sign: char) -> bool {
    sign.is_alphanumeric() || matches!(sign, '_' | '.' | '$' | '#' | '@')
}

fn is_name(word: &str) -> bool {
    word.starts_with(|first: char| {
        first.is_alphabetic() || matches!(first, '_' | '"' | '`' | '[' | '#' | '@')
    }) && !OPERATIONS.contains(&word.to_ascii_lowercase().as_str())
}

fn cut(text: &str) -> String {
    let end = (0..=text.len().min(MAX_TEXT_LEN))
        .rev()
        .find(|&end| text.is_char_boundary(end));
    text.get(..end.unwrap_or_default())
        .unwrap_or_default()
        .trim_end()
        .to_owned()
}

const OPERATIONS: [&str; 12] = [
    "select", "insert", "update", "delete", "merge", "replace", "call", "create", "drop", "alter",
    "truncate", "copy",
];
const BEFORE_TARGETS: [&str; 4] = ["from", "join", "into", "table"];
const MODIFIERS: [&str; 8] = [
    "only",
    "table",
    "ignore",
    "low_priority",
    "lateral",
    "if",
    "not",
    "exists",
];
const MAX_TEXT_LEN: usize = 255;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_and_targets_in_their_order() {
        for (text, expected) in [
            ("select a, b from orders where id = ?", "SELECT orders"),
            ("select * from a x, b as y where x.i = y.i", "SELECT a b"),
            (
                "insert into shipping (a) select a from orders o join lines on o.i = lines.i",
                "INSERT shipping SELECT orders lines",
            ),
            (
                "update only public.stock set n = ? where i in (select i from old)",
                "UPDATE public.stock SELECT old",
            ),
            (
                "delete from \"Order Lines\" where i = ?",
                "DELETE \"Order Lines\"",
            ),
            (
                "with x as (select ? from t) select * from x",
                "WITH SELECT t SELECT x",
            ),
            ("begin", "BEGIN"),
            ("select ?", "SELECT"),
            ("select count(*) from (select a from b) c", "SELECT SELECT b"),
            ("create table if not exists t (i int)", "CREATE t"),
            ("select extract(year from d) from t", "SELECT d t"),
            ("", ""),
        ] {
            assert_eq!(query_summary(Protocol::Postgres, text), expected, "{text}");
        }
        assert_eq!(query_summary(Protocol::Redis, "GET ?"), "GET");
        assert_eq!(
            query_summary(Protocol::Mongodb, "find users {age $gt}"),
            "find users"
        );
        assert_eq!(
            query_summary(Protocol::Mongodb, "listCollections"),
            "listCollections"
        );
        assert_eq!(query_summary(Protocol::Http, "GET /page/?"), "GET /page/?");
    }
}
