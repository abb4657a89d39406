use crate::Budget;
use analysis::hosts::HostChoice;
use anyhow::Result;
use model::{ConfigError, ConfigFile, Pattern};
use serde::Deserialize;
use std::path::Path;
use toml::Spanned;

#[derive(Debug, Default)]
pub struct BudgetFile {
    pub budgets: Vec<Budget>,
    /// Addresses of the same host, like `--host`.
    pub hosts: Vec<HostChoice>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct File {
    #[serde(alias = "max-turns")]
    max_round_trips: Option<Spanned<Number>>,
    max_predicted: Option<Spanned<OneOrMore>>,
    max_held: Option<Spanned<OneOrMore>>,
    forbid: Option<Spanned<OneOrMore>>,
    host: Option<Spanned<OneOrMore>>,
    #[serde(default)]
    operation: Vec<Named>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Named {
    name: String,
    #[serde(alias = "max-turns")]
    max_round_trips: Option<Spanned<Number>>,
    max_predicted: Option<Spanned<OneOrMore>>,
    max_held: Option<Spanned<OneOrMore>>,
    forbid: Option<Spanned<OneOrMore>>,
}

/// Accepts `20` or `"+2"`.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Number {
    Number(u64),
    Text(String),
}

/// Accepts `"200ms@40ms"`, or several in brackets.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    One(String),
    More(Vec<String>),
}

impl Number {
    fn texts(&self) -> Vec<String> {
        match self {
            Self::Number(number) => vec![number.to_string()],
            Self::Text(text) => vec![text.clone()],
        }
    }
}

impl OneOrMore {
    fn texts(&self) -> Vec<String> {
        match self {
            Self::One(text) => vec![text.clone()],
            Self::More(texts) => texts.clone(),
        }
    }
}

/// # Errors
/// If an entry is invalid; the error has line and column.
pub fn parse(path: &Path, text: &str) -> Result<BudgetFile, ConfigError> {
    let at = ConfigFile {
        path,
        text,
        reference: "docs/check.md has every key of a file of budgets",
    };
    let file: File = toml::from_str(text).map_err(|fault| at.parse_error(fault.span(), fault.message()))?;
    let hosts = each(at, "host", file.host.as_ref(), OneOrMore::texts, |text| {
        Ok(vec![HostChoice::parse(text).map_err(anyhow::Error::msg)?])
    })?;
    let limits = [&file.max_predicted, &file.max_held, &file.forbid];
    let mut budgets = parse_budgets(at, None, file.max_round_trips.as_ref(), limits)?;
    for named in &file.operation {
        let limits = [&named.max_predicted, &named.max_held, &named.forbid];
        budgets.extend(parse_budgets(
            at,
            Some(&named.name),
            named.max_round_trips.as_ref(),
            limits,
        )?);
    }
    Ok(BudgetFile { budgets, hosts })
}

fn parse_budgets(
    at: ConfigFile<'_>,
    operation: Option<&str>,
    turns: Option<&Spanned<Number>>,
    [predicted, held, forbid]: [&Option<Spanned<OneOrMore>>; 3],
) -> Result<Vec<Budget>, ConfigError> {
    let one = |budget: Result<Budget>| budget.map(|budget| vec![budget]);
    let texts = OneOrMore::texts;
    let mut budgets = each(at, "max-round-trips", turns, Number::texts, |text| {
        one(Budget::turns(text))
    })?;
    budgets.extend(each(at, "max-predicted", predicted.as_ref(), texts, |text| {
        one(Budget::predicted(text))
    })?);
    budgets.extend(each(at, "max-held", held.as_ref(), texts, |text| {
        one(Budget::held(text))
    })?);
    budgets.extend(each(at, "forbid", forbid.as_ref(), texts, Budget::forbid)?);
    for budget in &mut budgets {
        budget.names = operation.map(Pattern::new);
    }
    Ok(budgets)
}

/// The results of `parse` for all texts of a key.
fn each<V, T>(
    at: ConfigFile<'_>,
    key: &str,
    value: Option<&Spanned<V>>,
    texts: fn(&V) -> Vec<String>,
    parse: impl Fn(&str) -> Result<Vec<T>>,
) -> Result<Vec<T>, ConfigError> {
    let mut all = Vec::new();
    let Some(value) = value else { return Ok(all) };
    for text in texts(value.get_ref()) {
        all.extend(parse(&text).map_err(|fault| at.error(value.span(), format!("{key}: {fault:#}")))?);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_in_its_order() {
        let text = r#"
            max-round-trips = 20
            max-predicted = "200ms@40ms"
            max-held = ["100ms@40ms", "5ms"]
            forbid = ["n+1", "row-by-row"]
            host = ["web=10.0.0.5,172.17.0.0/16", "none"]
            [[operation]]
            name = "GET /checkout*"
            max-round-trips = "+2"
            max-predicted = ["1s@40ms", "2s@rtt=40ms rate=10mbit"]
        "#;
        let file = parse(Path::new("longwire.toml"), text).expect("budgets");
        assert_eq!(
            file.hosts,
            [
                HostChoice::Given("web=10.0.0.5,172.17.0.0/16".parse().expect("a host")),
                HostChoice::None
            ]
        );
        let shown: Vec<String> = file.budgets.iter().map(ToString::to_string).collect();
        assert_eq!(
            shown,
            [
                "--max-round-trips 20",
                "--max-predicted 200 ms@rtt=40ms",
                "--max-held 100 ms@rtt=40ms",
                "--max-held 5.00 ms",
                "--forbid n+1",
                "--forbid row-by-row",
                "--max-round-trips GET /checkout*=+2",
                "--max-predicted GET /checkout*=1.00 s@rtt=40ms",
                "--max-predicted GET /checkout*=2.00 s@rtt=40ms rate=10mbit",
            ]
        );
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        let refusal = |text: &str| {
            let refused = parse(Path::new("longwire.toml"), text);
            refused.expect_err("refused").to_string()
        };
        assert!(refusal("host = 'web'").starts_with("longwire.toml:1:8: host: "));
        assert!(refusal("max-turn = 20").contains("max-round-trips"));
        assert!(refusal("[[operation]]\nmax-round-trips = 3").contains("name"));
        let named = refusal("[[operation]]\nname = 'GET /'\nforbid = 'n+2'");
        assert!(
            named.starts_with("longwire.toml:3:10: forbid: ") && named.contains("'n+2' is no kind"),
            "{named}"
        );
    }
}
