//! Rules that group exchanges into operations.

use model::parse_duration;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Rule {
    /// HTTP requests and their work, and exchanges with a request's identifier; otherwise
    /// transactions, and outside them bursts: statements of one connection without a longer pause.
    #[default]
    Auto,
    Connection,
    /// A transaction, a statement outside one, or connecting.
    Transaction,
    /// Exchanges of one client host without a longer pause between them.
    Gap(Duration),
    /// Only HTTP requests and their work.
    Http,
    /// Between marks of the client: `SELECT 1 AS "longwire NAME"`.
    Marked,
    Whole,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is not a way to find operations: use auto, connection, transaction, gap:50ms, marked, http or whole"
)]
pub struct ParseRuleError(String);

impl FromStr for Rule {
    type Err = ParseRuleError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "auto" => Ok(Self::Auto),
            "connection" => Ok(Self::Connection),
            "transaction" => Ok(Self::Transaction),
            "http" => Ok(Self::Http),
            "marked" => Ok(Self::Marked),
            "whole" => Ok(Self::Whole),
            _ => text
                .strip_prefix("gap:")
                .and_then(|span| parse_duration(span).ok())
                .map(Self::Gap)
                .ok_or_else(|| ParseRuleError(text.to_owned())),
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => formatter.write_str("auto"),
            Self::Connection => formatter.write_str("connection"),
            Self::Transaction => formatter.write_str("transaction"),
            Self::Gap(span) => write!(formatter, "gap:{}ns", span.as_nanos()),
            Self::Http => formatter.write_str("http"),
            Self::Marked => formatter.write_str("marked"),
            Self::Whole => formatter.write_str("whole"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_survive_their_text_form() {
        let gap = Rule::Gap(Duration::from_millis(50));
        for rule in [
            Rule::Auto,
            Rule::Connection,
            Rule::Transaction,
            gap,
            Rule::Http,
            Rule::Marked,
            Rule::Whole,
        ] {
            assert_eq!(rule.to_string().parse(), Ok(rule));
        }
        assert_eq!("gap:50ms".parse(), Ok(gap));
        for bad in ["", "gap", "gap:", "gap:50", "connections"] {
            assert!(bad.parse::<Rule>().is_err(), "{bad}");
        }
    }
}
