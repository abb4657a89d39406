//! Budgets and their text form.

use anyhow::{Context, Result, bail};
use link::LinkDescription;
use model::{DEFAULT_PRICE_RTT, FindingKind, Pattern, format_duration, parse_duration};
use std::fmt;
use std::time::Duration;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Budget {
    /// `None` applies to all operations without a budget of this kind of their own.
    pub names: Option<Pattern>,
    pub limit: BudgetLimit,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BudgetLimit {
    Turns(Most<u64>),
    Predicted(Most<Duration>, Box<LinkDescription>),
    /// Median time that transactions are open; as measured if there is no link.
    Held(Most<Duration>, Option<Box<LinkDescription>>),
    Forbid(FindingKind),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Most<T> {
    Absolute(T),
    /// Increase over the baseline.
    More(T),
}

impl Budget {
    /// Parses `20`, `+2` and `NAMES=20`.
    pub fn turns(text: &str) -> Result<Self> {
        let (names, text) = named(text);
        let most = most(text, |text| text.parse().ok()).with_context(|| {
            format!("'{text}' is not a number of round trips: write 20, +2 (more than in the baseline), or 'GET /checkout*=20'")
        })?;
        Ok(Self {
            names,
            limit: BudgetLimit::Turns(most),
        })
    }

    /// Parses `200ms@40ms`, `+10ms@40ms`, `200ms@rtt=40ms rate=10mbit` and `NAMES=200ms@40ms`.
    pub fn predicted(text: &str) -> Result<Self> {
        let Some((text, link)) = text.rsplit_once('@') else {
            bail!("'{text}' names no distance: write 200ms@40ms, or '200ms@rtt=40ms rate=10mbit'");
        };
        let link = self::link(link)?;
        let (names, text) = named(text);
        let most = most(text, |text| parse_duration(text).ok()).with_context(|| {
            format!("'{text}' is no time: write it with its unit, 200ms@40ms or 'GET /checkout*=200ms@40ms'")
        })?;
        Ok(Self {
            names,
            limit: BudgetLimit::Predicted(most, Box::new(link)),
        })
    }

    /// Parses `100ms@40ms`, `+10ms@40ms`, `100ms@rtt=40ms rate=10mbit`, `100ms` (as measured), each
    /// with an optional `NAMES=`.
    pub fn held(text: &str) -> Result<Self> {
        // Names may contain an @.
        let behind = text.rsplit_once('@');
        let elsewhere = behind.and_then(|(before, behind)| Some((before, link(behind).ok()?)));
        let (span, link) = match elsewhere {
            Some((before, link)) => (before, Some(Box::new(link))),
            None => (text, None),
        };
        let (names, span) = named(span);
        let most = most(span, |span| parse_duration(span).ok()).with_context(|| {
            format!("'{text}' is no time: write 100ms@40ms, '100ms@rtt=40ms rate=10mbit', 100ms (as measured) or 'GET /checkout*=100ms@40ms'")
        })?;
        Ok(Self {
            names,
            limit: BudgetLimit::Held(most, link),
        })
    }

    /// Parses `n+1,row-by-row` and `NAMES=n+1,row-by-row` into one budget per kind. The error for
    /// an unknown kind lists the known ones.
    pub fn forbid(text: &str) -> Result<Vec<Self>> {
        let (names, kinds) = named(text);
        kinds
            .split(',')
            .map(|word| {
                let Some(kind) = FindingKind::from_name(word) else {
                    bail!(
                        "'{word}' is no kind of finding: use one or several of {}",
                        kinds_known()
                    );
                };
                Ok(Self {
                    names: names.clone(),
                    limit: BudgetLimit::Forbid(kind),
                })
            })
            .collect()
    }

    /// True if both limit the same figure, so that one replaces the other.
    pub fn is_like(&self, other: &Self) -> bool {
        match (&self.limit, &other.limit) {
            (BudgetLimit::Turns(_), BudgetLimit::Turns(_)) => true,
            (BudgetLimit::Predicted(_, link), BudgetLimit::Predicted(_, other)) => link == other,
            (BudgetLimit::Held(_, link), BudgetLimit::Held(_, other)) => link == other,
            (BudgetLimit::Forbid(kind), BudgetLimit::Forbid(other)) => kind == other,
            (
                BudgetLimit::Turns(_)
                | BudgetLimit::Predicted(..)
                | BudgetLimit::Held(..)
                | BudgetLimit::Forbid(_),
                _,
            ) => false,
        }
    }

    pub const fn is_relative(&self) -> bool {
        matches!(
            self.limit,
            BudgetLimit::Turns(Most::More(_))
                | BudgetLimit::Predicted(Most::More(_), _)
                | BudgetLimit::Held(Most::More(_), _)
        )
    }

    pub fn link(&self) -> Option<&LinkDescription> {
        match &self.limit {
            BudgetLimit::Predicted(_, link) | BudgetLimit::Held(_, Some(link)) => Some(link),
            BudgetLimit::Turns(_) | BudgetLimit::Held(_, None) | BudgetLimit::Forbid(_) => None,
        }
    }

    pub fn is_for(&self, name: &str) -> bool {
        self.names.as_ref().is_none_or(|names| names.matches(name))
    }
}

/// In command line syntax.
impl fmt::Display for Budget {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self
            .names
            .as_ref()
            .map(|names| format!("{names}="))
            .unwrap_or_default();
        match &self.limit {
            BudgetLimit::Turns(Most::Absolute(turns)) => {
                write!(formatter, "--max-round-trips {names}{turns}")
            }
            BudgetLimit::Turns(Most::More(turns)) => write!(formatter, "--max-round-trips {names}+{turns}"),
            BudgetLimit::Predicted(most, link) => {
                write!(formatter, "--max-predicted {names}{}@{link}", span_of(*most))
            }
            BudgetLimit::Held(most, Some(link)) => {
                write!(formatter, "--max-held {names}{}@{link}", span_of(*most))
            }
            BudgetLimit::Held(most, None) => write!(formatter, "--max-held {names}{}", span_of(*most)),
            BudgetLimit::Forbid(kind) => write!(formatter, "--forbid {names}{kind}"),
        }
    }
}

/// Links of the budgets, or the default one. Changes are reported for the first.
pub fn links(budgets: &[Budget]) -> Vec<LinkDescription> {
    let mut links: Vec<LinkDescription> = Vec::new();
    let (of_operations, others): (Vec<&Budget>, Vec<&Budget>) = budgets
        .iter()
        .partition(|budget| matches!(budget.limit, BudgetLimit::Predicted(..)));
    for link in of_operations
        .iter()
        .chain(&others)
        .filter_map(|budget| budget.link())
    {
        if !links.contains(link) {
            links.push(*link);
        }
    }
    if links.is_empty() {
        links.push(LinkDescription::with_rtt(DEFAULT_PRICE_RTT));
    }
    links
}

fn span_of(most: Most<Duration>) -> String {
    match most {
        Most::Absolute(span) => format_duration(span),
        Most::More(span) => format!("+{}", format_duration(span)),
    }
}

fn link(text: &str) -> Result<LinkDescription> {
    match parse_duration(text) {
        Ok(rtt) => Ok(LinkDescription::with_rtt(rtt)),
        Err(_) if text.contains('=') => text.parse().with_context(|| format!("'{text}' is no link")),
        Err(fault) => Err(fault).context("the round-trip time after @ is not valid"),
    }
}

/// Names may contain `=`, so the last one counts.
fn named(text: &str) -> (Option<Pattern>, &str) {
    match text.rsplit_once('=') {
        Some((names, value)) => (Some(Pattern::new(names)), value),
        None => (None, text),
    }
}

fn most<T>(text: &str, parse: impl Fn(&str) -> Option<T>) -> Option<Most<T>> {
    match text.strip_prefix('+') {
        Some(more) => parse(more).map(Most::More),
        None => parse(text).map(Most::Absolute),
    }
}

fn kinds_known() -> String {
    let names: Vec<&str> = FindingKind::ALL.iter().map(|kind| kind.name()).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_are_read_as_they_are_written() {
        let shown = |budget: Result<Budget>| budget.expect("a budget").to_string();
        assert_eq!(shown(Budget::turns("20")), "--max-round-trips 20");
        assert_eq!(
            shown(Budget::turns("GET /a?b=c*=+2")),
            "--max-round-trips GET /a?b=c*=+2"
        );
        assert_eq!(
            shown(Budget::predicted("200ms@40ms")),
            "--max-predicted 200 ms@rtt=40ms"
        );
        assert_eq!(
            shown(Budget::predicted("GET /*=1.5s@rtt=40ms rate=10mbit")),
            "--max-predicted GET /*=1.50 s@rtt=40ms rate=10mbit"
        );
        for (written, budget) in [
            ("100ms@40ms", "--max-held 100 ms@rtt=40ms"),
            ("100ms", "--max-held 100 ms"),
            ("+5ms@40ms", "--max-held +5.00 ms@rtt=40ms"),
            ("GET /@me*=100ms", "--max-held GET /@me*=100 ms"),
            (
                "GET /@me*=100ms@rtt=40ms rate=10mbit",
                "--max-held GET /@me*=100 ms@rtt=40ms rate=10mbit",
            ),
        ] {
            assert_eq!(shown(Budget::held(written)), budget);
        }
        let forbidden = Budget::forbid("POST *=n+1,row-by-row").expect("budgets");
        let forbidden: Vec<String> = forbidden.iter().map(ToString::to_string).collect();
        assert_eq!(forbidden, ["--forbid POST *=n+1", "--forbid POST *=row-by-row"]);
    }

    #[test]
    fn what_is_not_understood_says_how_it_is_written() {
        let refusal = |result: Result<Budget>| format!("{:#}", result.expect_err("refused"));
        assert!(refusal(Budget::turns("many")).contains("write 20"));
        assert!(refusal(Budget::turns("-1")).contains("not a number of round trips"));
        assert!(refusal(Budget::predicted("200ms")).contains("200ms@40ms"));
        assert!(refusal(Budget::predicted("200@40ms")).contains("unit"));
        assert!(refusal(Budget::predicted("200ms@40")).contains("round-trip time after @"));
        assert!(refusal(Budget::predicted("200ms@rtt=40ms rat=1")).contains("no link"));
        assert!(refusal(Budget::held("100@40ms")).contains("100ms (as measured)"));
        assert!(refusal(Budget::held("100ms@40")).contains("write 100ms@40ms"));
        let unknown = format!("{:#}", Budget::forbid("n+2").expect_err("refused"));
        assert!(
            unknown.contains("n+1, row-by-row, unrewritten-batch"),
            "{unknown}"
        );
    }
}
