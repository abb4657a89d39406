//! Classifies statements that do no work: control of transaction or session, and reads of known
//! facts.

use crate::verb::{Verb, is_trial};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Control {
    Begin,
    End,
    Savepoint,
    Setting,
    Reset,
    Probe,
    SessionRead,
    /// Reads a fact already in a write's reply: `select last_insert_id()`, `show warnings`.
    AfterWrite,
    Database,
    Queue,
}

impl Control {
    /// `None` for work. A text of several statements has a class only if none of them is work: a
    /// driver opening a session sends `set x = ?; select ?`.
    pub(super) fn from_fingerprint(fingerprint: &str) -> Option<Self> {
        let text = fingerprint.trim_end_matches([';', ' ']);
        match text {
            "MULTI" => return Some(Self::Queue),
            // In Redis, a number selects the database.
            "SELECT ?" | "(COM_INIT_DB)" => return Some(Self::Database),
            "(COM_RESET_CONNECTION)" => return Some(Self::Reset),
            _ => {}
        }
        let parts = text.split(';').map(|part| of_one(part.trim()));
        let parts: Vec<Self> = parts.collect::<Option<_>>()?;
        let not_probe = parts.iter().find(|&&part| part != Self::Probe);
        not_probe.or(parts.first()).copied()
    }
}

fn of_one(text: &str) -> Option<Control> {
    if is_trial(text) {
        return Some(Control::Probe);
    }
    let mut words = text.split(' ').map(str::to_ascii_lowercase);
    let first = words.next().unwrap_or_default();
    let second = words.next().unwrap_or_default();
    let third = words.next().unwrap_or_default();
    let words = [first.as_str(), second.as_str()];
    if let Some((.., class)) = BY_WORDS.iter().find(|row| fits(row, words)) {
        return *class;
    }
    let is_of_transaction = || Verb::from_fingerprint(text) == Verb::Control;
    match words {
        // Redis commands are in capitals.
        ["set", _] if !text.starts_with("SET") => Some(Control::Setting),
        ["deallocate", "prepare"] if third == "all" => Some(Control::Reset),
        ["begin" | "start", _] if is_of_transaction() => Some(Control::Begin),
        ["end", _] if is_of_transaction() => Some(Control::End),
        ["select", _] if !text.contains(" from ") || text.ends_with(" from dual") => of_read(&second),
        ["show", word] => of_show(if word == "session" { &third } else { word }),
        _ => None,
    }
}

/// First words, second words (any if empty), class. `None` for statements that belong to a single
/// transaction.
type ByWords = (&'static [&'static str], &'static [&'static str], Option<Control>);

fn fits((first, second, _): &ByWords, words: [&str; 2]) -> bool {
    first.contains(&words[0]) && (second.is_empty() || second.contains(&words[1]))
}

/// The first matching row wins.
const BY_WORDS: &[ByWords] = &[
    (&["set"], &["local"], None),
    (&["alter"], &["session"], Some(Control::Setting)),
    (
        &["reset", "deallocate", "discard", "close"],
        &["all"],
        Some(Control::Reset),
    ),
    (&["unlisten"], &["*"], Some(Control::Reset)),
    (&["reset"], &[], Some(Control::Setting)),
    (&["savepoint", "release"], &[], Some(Control::Savepoint)),
    (&["save"], &["transaction"], Some(Control::Savepoint)),
    (&["rollback"], &["to"], None),
    (&["commit", "rollback", "abort"], &[], Some(Control::End)),
    (
        &["committransaction", "aborttransaction"],
        &[],
        Some(Control::End),
    ),
    (&["use"], &[], Some(Control::Database)),
];

fn of_read(what: &str) -> Option<Control> {
    let begins_with = |known: &[&str]| known.iter().any(|known| what.starts_with(known));
    match () {
        // In Oracle, a column of the sequence.
        () if begins_with(&SAID_BY_WRITES) || what.ends_with(".currval") => Some(Control::AfterWrite),
        () if what.starts_with("pg_advisory_unlock_all(") => Some(Control::Reset),
        () if begins_with(&["@@", "current_setting("]) => Some(Control::SessionRead),
        () => None,
    }
}

fn of_show(what: &str) -> Option<Control> {
    match what {
        "warnings" | "errors" => Some(Control::AfterWrite),
        _ if SESSION_SETTINGS.contains(&what) => Some(Control::SessionRead),
        _ => None,
    }
}

const SAID_BY_WRITES: [&str; 7] = [
    "last_insert_id(",
    "@@identity",
    "scope_identity(",
    "ident_current(",
    "lastval(",
    "currval(",
    "row_count(",
];

const SESSION_SETTINGS: [&str; 8] = [
    "transaction",
    "transaction_isolation",
    "transaction_read_only",
    "search_path",
    "standard_conforming_strings",
    "timezone",
    "client_encoding",
    "datestyle",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_work_is_of_a_class() {
        for (text, class) in [
            ("", Some(Control::Probe)),
            (";", Some(Control::Probe)),
            ("select ?", Some(Control::Probe)),
            ("PING", Some(Control::Probe)),
            ("(COM_PING)", Some(Control::Probe)),
            ("(COM_INIT_DB)", Some(Control::Database)),
            ("use shop", Some(Control::Database)),
            ("SELECT ?", Some(Control::Database)),
            ("DISCARD all", Some(Control::Reset)),
            ("deallocate all", Some(Control::Reset)),
            ("DEALLOCATE PREPARE all", Some(Control::Reset)),
            ("deallocate s_1", None),
            (
                "select pg_advisory_unlock_all(); close all; unlisten *; reset all",
                Some(Control::Reset),
            ),
            (
                "set extra_float_digits=?;set ssl_renegotiation_limit=?;select ?",
                Some(Control::Setting),
            ),
            ("set a = ?; select name from t", None),
            ("SET ? ?", None),
            ("begin", Some(Control::Begin)),
            ("begin isolation level serializable", Some(Control::Begin)),
            ("start transaction", Some(Control::Begin)),
            ("begin x := ?; end", None),
            ("commit", Some(Control::End)),
            ("rollback", Some(Control::End)),
            ("savepoint a", Some(Control::Savepoint)),
            ("release savepoint a", Some(Control::Savepoint)),
            ("rollback to savepoint a", None),
            ("set local app.user = ?", None),
            (
                "select @@session.transaction_read_only",
                Some(Control::SessionRead),
            ),
            ("show transaction isolation level", Some(Control::SessionRead)),
            ("select last_insert_id()", Some(Control::AfterWrite)),
            ("select LAST_INSERT_ID()", Some(Control::AfterWrite)),
            ("select CURRVAL(?)", Some(Control::AfterWrite)),
            ("select items_seq.currval from dual", Some(Control::AfterWrite)),
            ("select nextval(?)", None),
            ("select items_seq.nextval from dual", None),
            ("show warnings", Some(Control::AfterWrite)),
            ("SHOW WARNINGS", Some(Control::AfterWrite)),
            ("MULTI", Some(Control::Queue)),
            ("select name from t where id = ?", None),
            ("show tables", None),
            ("(prepared S_1)", None),
            ("insert into t values(?)", None),
        ] {
            assert_eq!(Control::from_fingerprint(text), class, "{text}");
        }
    }
}
