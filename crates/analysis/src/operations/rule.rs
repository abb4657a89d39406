//! What makes exchanges one operation.

use model::parse_duration;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// What makes exchanges one operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Rule {
    /// HTTP requests with the work they caused, and what carries the identifier of a request; of the rest
    /// transactions, and what no transaction holds by burst: statements of one connection without a longer
    /// pause.
    #[default]
    Auto,
    /// A connection's life.
    Connection,
    /// A transaction, or a statement outside of any; connecting is separate.
    Transaction,
    /// Exchanges of one client host that follow each other without a pause longer than this.
    Gap(Duration),
    /// HTTP requests with the work they caused; nothing else.
    Http,
    /// What lies between marks that the client makes: `SELECT 1 AS "longwire NAME"`.
    Marked,
    /// All that was observed.
    Whole,
}

/// A text that is not a rule.
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
