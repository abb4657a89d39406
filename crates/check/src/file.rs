use crate::{Budget, Pattern};
use analysis::hosts::HostChoice;
use anyhow::{Context, Result, anyhow};
use serde::Deserialize;

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
    max_round_trips: Option<Number>,
    #[serde(default)]
    max_predicted: OneOrMore,
    #[serde(default)]
    max_held: OneOrMore,
    #[serde(default)]
    forbid: OneOrMore,
    #[serde(default)]
    host: OneOrMore,
    #[serde(default)]
    operation: Vec<Named>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Named {
    name: String,
    #[serde(alias = "max-turns")]
    max_round_trips: Option<Number>,
    #[serde(default)]
    max_predicted: OneOrMore,
    #[serde(default)]
    max_held: OneOrMore,
    #[serde(default)]
    forbid: OneOrMore,
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

impl Default for OneOrMore {
    fn default() -> Self {
        Self::More(Vec::new())
    }
}

impl OneOrMore {
    fn texts(self) -> Vec<String> {
        match self {
            Self::One(text) => vec![text],
            Self::More(texts) => texts,
        }
    }
}

/// # Errors
/// If an entry is invalid; the error has the line.
pub fn parse(text: &str) -> Result<BudgetFile> {
    let file: File = toml::from_str(text)?;
    let host = |text: String| HostChoice::parse(&text).map_err(|fault| anyhow!("in host: {fault}"));
    let hosts = file.host.texts().into_iter().map(host).collect::<Result<_>>()?;
    let mut budgets = parse_budget(
        None,
        file.max_round_trips,
        [file.max_predicted, file.max_held, file.forbid],
    )?;
    for named in file.operation {
        let context = format!("in [[operation]] with the name '{}'", named.name);
        let names = Pattern::new(&named.name);
        let more = parse_budget(
            Some(&names),
            named.max_round_trips,
            [named.max_predicted, named.max_held, named.forbid],
        );
        budgets.extend(more.context(context)?);
    }
    Ok(BudgetFile { budgets, hosts })
}

fn parse_budget(
    names: Option<&Pattern>,
    turns: Option<Number>,
    [predicted, held, forbid]: [OneOrMore; 3],
) -> Result<Vec<Budget>> {
    let mut budgets = Vec::new();
    match turns {
        Some(Number::Number(turns)) => budgets.push(Budget::turns(&turns.to_string())?),
        Some(Number::Text(turns)) => budgets.push(Budget::turns(&turns)?),
        None => {}
    }
    for text in predicted.texts() {
        budgets.push(Budget::predicted(&text)?);
    }
    for text in held.texts() {
        budgets.push(Budget::held(&text)?);
    }
    for text in forbid.texts() {
        budgets.extend(Budget::forbid(&text)?);
    }
    for budget in &mut budgets {
        budget.names = names.cloned();
    }
    Ok(budgets)
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
        let file = parse(text).expect("budgets");
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
        let refusal = |text: &str| format!("{:#}", parse(text).expect_err("refused"));
        assert!(refusal("host = 'web'").starts_with("in host: "));
        assert!(refusal("max-turn = 20").contains("max-round-trips"));
        assert!(refusal("[[operation]]\nmax-round-trips = 3").contains("name"));
        let named = refusal("[[operation]]\nname = 'GET /'\nforbid = 'n+2'");
        assert!(
            named.contains("'GET /'") && named.contains("'n+2' is no kind"),
            "{named}"
        );
    }
}
