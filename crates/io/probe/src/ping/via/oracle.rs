//! Measures Oracle's database links with a script for Oracle's own client.
//!
//! The script is an anonymous PL/SQL block. It times calls over the link with the source's clock
//! (`SYSTIMESTAMP`, microseconds). The round trips of each call come from the session statistic
//! `SQL*Net roundtrips to/from dblink`. They are unknown if the user may not read statistics.
//!
//! Output lines begin with [`MARK`], also inside other output of the client. Neither script nor
//! output contains a secret.

use super::{ViaError, check_rows};
use model::{DatabaseLinkOutcome, Distribution, DistributionBuilder, LinkRows};
use std::collections::BTreeMap;
use std::time::Duration;

pub const MARK: &str = "longwire-via";

/// The script for `calls` calls over the link named `link`.
///
/// # Errors
/// Fails with [`ViaError::LinkName`] if the name is not valid.
pub fn script(link: &str, calls: u64, rows: Option<u64>) -> Result<String, ViaError> {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "_$#.@".contains(letter);
    if link.is_empty() || link.len() > MAX_NAME_LEN || !link.chars().all(plain) {
        return Err(ViaError::LinkName);
    }
    if !(1..=MAX_CALLS).contains(&calls) {
        return Err(ViaError::Calls { calls });
    }
    rows.map_or(Ok(()), check_rows)?;
    let many = rows.map_or_else(String::new, |rows| {
        format!(", and {rows} rows made from it six times,")
    });
    Ok(SCRIPT
        .replace("{LINK}", link)
        .replace("{CALLS}", &calls.to_string())
        .replace("{MANY}", &many)
        .replace("{ROWS}", &rows.unwrap_or_default().to_string())
        .replace("{MARK}", MARK))
}

pub fn is_output(text: &str) -> bool {
    text.lines().any(|line| words(line).next() == Some("begin"))
}

/// Parses the output of the script; `None` if there is none.
pub fn parse_outcome(text: &str) -> Option<DatabaseLinkOutcome> {
    let mut seen = Seen::default();
    text.lines().for_each(|line| seen.line(line));
    seen.link.is_some().then(|| seen.outcome())
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    let rest = line.trim().strip_prefix(MARK).unwrap_or_default();
    rest.split_whitespace()
}

fn value<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    words(line).find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
}

fn span(line: &str) -> Option<Duration> {
    value(line, "us")?.parse().ok().map(Duration::from_micros)
}

fn turns(line: &str) -> Option<u64> {
    value(line, "roundtrips")?.parse().ok()
}

#[derive(Default)]
struct Seen {
    link: Option<String>,
    connect: Option<Duration>,
    first_call: Option<Duration>,
    calls: Vec<(Duration, Option<u64>)>,
    rows: Option<u64>,
    many_rows: Vec<(Duration, Option<u64>)>,
    failed: u64,
    complete: bool,
}

impl Seen {
    fn line(&mut self, line: &str) {
        match words(line).next() {
            Some("begin") => self.link = value(line, "link").map(ToOwned::to_owned),
            Some("connect") => self.connect = span(line),
            Some("first") => self.first_call = span(line),
            Some("sample") => self.calls.extend(span(line).map(|span| (span, turns(line)))),
            Some("rows") => {
                self.rows = value(line, "n").and_then(|rows| rows.parse().ok());
                self.many_rows.extend(span(line).map(|span| (span, turns(line))));
            }
            Some("error") => self.failed += 1,
            Some("end") => self.complete = true,
            _ => {}
        }
    }

    fn outcome(self) -> DatabaseLinkOutcome {
        let counts: Vec<Option<u64>> = self.calls.iter().map(|(_, turns)| *turns).collect();
        let usual = usual(&counts);
        let (mut calls, mut round_trips) = (DistributionBuilder::new(), DistributionBuilder::new());
        for (span, turns) in &self.calls {
            calls.add(*span);
            // By each call's own count: a call that fetched more took more round trips, not longer
            // ones.
            let count = turns.and_then(|turns| u32::try_from(turns).ok());
            if let Some(one) = count.and_then(|count| span.checked_div(count)) {
                round_trips.add(one);
            }
        }
        let known = usual.is_some();
        DatabaseLinkOutcome {
            link: self.link.unwrap_or_default().into(),
            through: "Oracle database link".into(),
            connect: self.connect,
            first_call: self.first_call,
            calls: calls.distribution(),
            round_trips: if known {
                round_trips.distribution()
            } else {
                Distribution::default()
            },
            turns_per_call: usual,
            calls_in_round_trips: None,
            evidence: evidence(&counts, self.complete),
            rows: self.rows.map(|rows| many_rows(rows, &self.many_rows)),
            client_rtt: None,
            failed: self.failed,
        }
    }
}

fn many_rows(rows: u64, calls: &[(Duration, Option<u64>)]) -> LinkRows {
    let mut spans = DistributionBuilder::new();
    calls.iter().for_each(|(span, _)| spans.add(*span));
    let counts: Vec<_> = calls.iter().map(|(_, turns)| *turns).collect();
    LinkRows {
        rows,
        calls: spans.distribution(),
        turns: usual(&counts),
    }
}

/// The most frequent count, the smallest on a tie; `None` if a call has no count.
fn usual(counts: &[Option<u64>]) -> Option<u64> {
    let mut calls: BTreeMap<u64, u64> = BTreeMap::new();
    for count in counts {
        *calls.entry((*count)?).or_default() += 1;
    }
    let most = calls.values().max()?;
    let usual = calls.iter().find(|(_, calls)| *calls == most);
    usual.map(|(count, _)| *count).filter(|count| *count > 0)
}

fn evidence(counts: &[Option<u64>], complete: bool) -> String {
    let what = if usual(counts).is_some() {
        "the source counted the round trips of every call (SQL*Net roundtrips to/from dblink)"
    } else if counts.is_empty() {
        "nothing was measured"
    } else {
        "not established: the user may not read the statistic SQL*Net roundtrips to/from dblink (v$mystat, v$statname)"
    };
    let cut = if complete {
        ""
    } else {
        "; the output is cut: its last line is missing"
    };
    format!("{what}{cut}")
}

const SCRIPT: &str = include_str!("oracle.sql");
/// Of a global database name (`DB_NAME.DB_DOMAIN@qualifier`).
const MAX_NAME_LEN: usize = 128;
const MAX_CALLS: u64 = 100_000;

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "\
SQL*Plus: Release 19.0.0.0.0\n\
longwire-via begin schema=1 kind=oracle link=FAR.EXAMPLE calls=3\n\
longwire-via connect us=3450123 roundtrips=7\n\
longwire-via first us=201000 roundtrips=2\n\
longwire-via sample n=1 us=200000 roundtrips=2\n\
longwire-via error n=2 code=-2068\n\
longwire-via sample n=3 us=204000 roundtrips=2\n\
longwire-via end samples=2\n\
PL/SQL procedure successfully completed.\n";

    #[test]
    fn a_call_of_two_turns_is_not_one_round_trip() {
        assert!(is_output(OUTPUT));
        let outcome = parse_outcome(OUTPUT).expect("output");
        assert_eq!(&*outcome.link, "FAR.EXAMPLE");
        assert_eq!(outcome.turns_per_call, Some(2));
        assert_eq!(outcome.round_trips.p50, Some(Duration::from_millis(101)));
        assert_eq!(outcome.calls.p50, Some(Duration::from_millis(202)));
        assert_eq!(outcome.connect, Some(Duration::from_micros(3_450_123)));
        assert_eq!(outcome.failed, 1);
    }

    #[test]
    fn without_the_statistic_there_is_no_round_trip() {
        let outcome = parse_outcome(&OUTPUT.replace("roundtrips=2", "roundtrips=-")).expect("output");
        assert_eq!(outcome.turns_per_call, None);
        assert_eq!(outcome.round_trips.count, 0);
        assert_eq!(outcome.calls.count, 2);
        assert!(
            outcome.evidence.starts_with("not established"),
            "{}",
            outcome.evidence
        );
    }

    #[test]
    fn other_text_is_no_output_and_cut_output_says_so() {
        assert!(!is_output("longwire-via\nselect 1"));
        assert_eq!(parse_outcome("PL/SQL procedure successfully completed."), None);
        let cut = OUTPUT.replace("longwire-via end samples=2\n", "");
        assert!(parse_outcome(&cut).expect("output").evidence.contains("cut"));
    }

    #[test]
    fn the_script_prints_what_is_read_and_takes_names_only() {
        let script = script("FAR.EXAMPLE@Q1", 40, None).expect("script");
        for word in ["begin", "connect", "first", "sample", "error", "end"] {
            assert!(script.contains(&format!("'{MARK} {word}")), "{word}");
        }
        assert!(
            script.contains("dual@FAR.EXAMPLE@Q1") && !script.contains('{'),
            "{script}"
        );
        assert!(!script.contains("rows made from it"));
        let script = super::script("FAR", 40, Some(500)).expect("script");
        for words in [
            "'longwire-via rows n=500'",
            "500 rows made from it six times",
            "connect by level <= 500",
        ] {
            assert!(script.contains(words), "{words}: {script}");
        }
        assert!(super::script("FAR", 40, Some(1)).is_err());
        assert!(super::script("far'; drop table x --", 40, None).is_err());
        assert!(super::script("FAR", 0, None).is_err());
    }

    #[test]
    fn many_rows_have_the_round_trips_that_the_source_counted() {
        let rows =
            "longwire-via rows n=500 us=81000 roundtrips=2\nlongwire-via rows n=500 us=80000 roundtrips=2\n";
        let outcome = parse_outcome(&format!("{rows}{OUTPUT}")).expect("output");
        let found = outcome.rows.expect("rows");
        assert_eq!((found.rows, found.turns, found.calls.count), (500, Some(2), 2));
        assert_eq!(found.calls.min, Some(Duration::from_millis(80)));
        assert_eq!(outcome.rows_in_round_trips(), Some(2.0));
    }

    #[test]
    fn the_usual_count_is_that_of_most_calls() {
        let of = |counts: &[u64]| usual(&counts.iter().copied().map(Some).collect::<Vec<_>>());
        assert_eq!(of(&[2, 2, 5, 5]), Some(2));
        assert_eq!(of(&[2, 5, 5]), Some(5));
        assert_eq!(of(&[2, 3, 4, 4]), Some(4));
        assert_eq!(
            (of(&[]), of(&[0, 0, 2]), usual(&[Some(2), None])),
            (None, None, None)
        );
    }
}
