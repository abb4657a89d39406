//! Remedies in the terms of the client's driver.
//!
//! The first matching row of [`statements`] and [`sessions`] wins: rows for one software precede
//! general ones.
//! Spellings of settings are from the drivers' manuals; case matters.

mod sessions;
mod statements;

use super::control::Control;
use super::frameworks;
use super::pages::{Paging, paging};
use super::software::Software;
use model::{EndedBy, FindingKind, Protocol};

/// `dependent` selects the words for loops, `ended_by` those for connections made again.
pub(super) fn find_remedy(
    kind: FindingKind,
    software: Software,
    fingerprint: Option<&str>,
    dependent: Option<bool>,
    ended_by: Option<EndedBy>,
) -> String {
    let case = match kind == FindingKind::Reconnect {
        true => ended_by.map(Case::EndedBy),
        false => case(kind, fingerprint, dependent),
    };
    row_of(kind, software, case).map_or_else(String::new, |row| row.words.to_owned())
}

/// Turns that the remedy leaves each time: counted as waste, but not saved.
pub(super) fn turns_left(kind: FindingKind, software: Software) -> u64 {
    row_of(kind, software, None).map_or(0, |row| row.turns_left)
}

/// Specific cases precede general ones; so do rows for one software.
fn row_of(kind: FindingKind, software: Software, case: Option<Case>) -> Option<&'static Row> {
    let of_case = |row: &&Row| row.kind == kind && row.case.is_some() && row.case == case;
    let of_kind = |row: &&Row| row.kind == kind && row.case.is_none();
    let of_software = |row: &&Row| row.software.iter().any(|of| of.includes(software));
    let of_all = |row: &&Row| row.software.is_empty();
    let find = |one: &dyn Fn(&&'static Row) -> bool, other: &dyn Fn(&&'static Row) -> bool| {
        REMEDIES.into_iter().flatten().find(|row| one(row) && other(row))
    };
    find(&of_case, &of_software)
        .or_else(|| find(&of_case, &of_all))
        .or_else(|| find(&of_kind, &of_software))
        .or_else(|| find(&of_kind, &of_all))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Case {
    Independent,
    Dependent,
    Sequence,
    Control(Control),
    Paging(Paging),
    EndedBy(EndedBy),
}

fn case(kind: FindingKind, fingerprint: Option<&str>, dependent: Option<bool>) -> Option<Case> {
    match (kind, fingerprint) {
        (FindingKind::ControlTurns, None) => Some(Case::Control(Control::Begin)),
        (FindingKind::ControlTurns, Some(text)) => Some(Case::Control(
            Control::from_fingerprint(text).unwrap_or(Control::Probe),
        )),
        (FindingKind::SmallFetch, Some(text)) => paging(text).map(Case::Paging),
        (FindingKind::NPlusOne, Some(text)) if frameworks::is_next_value(text) => Some(Case::Sequence),
        _ => dependent.map(|dependent| match dependent {
            true => Case::Dependent,
            false => Case::Independent,
        }),
    }
}

pub(super) const PROGRAMS_PERHAPS: &str = "Statements after the login (settings, reads of settings) may be the program's own, and be sent \
                                           on a kept connection too. Then the smaller number is saved.";

pub(super) fn of_unseen(software: Software) -> &'static str {
    match software {
        Software::Speaks(Protocol::Mysql)
        | Software::Mysqlnd
        | Software::PythonMysql
        | Software::ConnectorJ
        | Software::MariadbJdbc => {
            "Its text was not seen, because it was prepared before the capture: performance_schema.prepared_statements_instances has it."
        }
        Software::Pgjdbc
        | Software::Kingbase
        | Software::LoadGenerator
        | Software::Web
        | Software::HttpStore
        | Software::Speaks(_) => {
            "Its text was not seen, because it was prepared before the capture. Begin the capture before the pool opens its connections, \
             or let the pool renew them."
        }
    }
}

const REMEDIES: [&[Row]; 2] = [statements::ROWS, sessions::ROWS];

struct Row {
    kind: FindingKind,
    /// Empty for all software.
    software: &'static [Software],
    /// `None` for all cases.
    case: Option<Case>,
    words: &'static str,
    turns_left: u64,
}

impl Row {
    const fn leaving(self, turns_left: u64) -> Self {
        Self { turns_left, ..self }
    }
}

const fn row(kind: FindingKind, software: &'static [Software], words: &'static str) -> Row {
    Row {
        kind,
        software,
        case: None,
        words,
        turns_left: 0,
    }
}

const fn case_row(kind: FindingKind, case: Case, software: &'static [Software], words: &'static str) -> Row {
    Row {
        kind,
        software,
        case: Some(case),
        words,
        turns_left: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_words_for_everybody() {
        for &kind in FindingKind::ALL {
            let fingerprints = [
                None,
                Some("set x = ?"),
                Some("select ?"),
                Some("discard all"),
                Some("savepoint a"),
                Some("select @@session.autocommit"),
                Some("show warnings"),
                Some("(COM_INIT_DB)"),
                Some("MULTI"),
                Some("select a from t limit ? offset ?"),
                Some("(ping)"),
            ];
            for fingerprint in fingerprints {
                for dependent in [Some(true), Some(false)] {
                    assert!(
                        !find_remedy(
                            kind,
                            Software::Speaks(Protocol::Unknown),
                            fingerprint,
                            dependent,
                            None
                        )
                        .is_empty(),
                        "{kind}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_driver_hears_its_own_words() {
        let words = find_remedy(
            FindingKind::UnrewrittenBatch,
            Software::ConnectorJ,
            None,
            Some(false),
            None,
        );
        assert!(words.contains("rewriteBatchedStatements=true"), "{words}");
        let words = find_remedy(FindingKind::SmallFetch, Software::Pgjdbc, None, None, None);
        assert!(words.contains("defaultRowFetchSize"), "{words}");
    }

    #[test]
    fn a_store_without_sql_hears_no_words_of_sql() {
        let stores = Protocol::ALL.iter().copied().filter(|protocol| {
            protocol.is_database() && (protocol.is_over_http() || *protocol == Protocol::Redis)
        });
        for store in stores.map(Software::Speaks) {
            let has_sql = statements::SQL_OVER_HTTP.contains(&store);
            for kind in [
                FindingKind::NPlusOne,
                FindingKind::RowByRow,
                FindingKind::Sequential,
            ] {
                for dependent in [Some(true), Some(false)] {
                    let words = find_remedy(kind, store, Some("GetItem Orders"), dependent, None);
                    let is_of_sql =
                        ["statement", "join", "WHERE", "addBatch"].map(|word| words.contains(word));
                    let may_be = has_sql || is_of_sql == [false; 4];
                    assert!(may_be, "{store:?}, {kind}: {words}");
                }
            }
        }
    }

    #[test]
    fn the_side_that_ends_connections_is_named() {
        let words = |software, ended_by| find_remedy(FindingKind::Reconnect, software, None, None, ended_by);
        for software in [Software::Web, Software::Speaks(Protocol::Dynamodb)] {
            let of = |by| words(software, Some(by));
            assert!(of(EndedBy::ServerHeader).starts_with("The server's replies end the connection"));
            assert!(of(EndedBy::ClientHeader).starts_with("The client's requests end the connection"));
            assert!(of(EndedBy::ServerFin).starts_with("The server closes the connection first"));
            assert!(of(EndedBy::ClientFin).starts_with("Keep connections"));
        }
        let postgres = words(Software::Pgjdbc, Some(EndedBy::ServerFin));
        assert!(postgres.starts_with("Keep connections in a pool"));
    }
}
