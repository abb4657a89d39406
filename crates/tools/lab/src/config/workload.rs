//! Parses the `[workload]` table.

use super::section::{Section, advice, text};
use super::tree::Entry;
use super::{ConfigError, WorkloadKind, WorkloadSettings, command_line, home, host, known_host, texts};
use analysis::operations::rule::Rule;
use model::ConfigFile as File;
use std::time::Duration;
use sys::files::{MAX_SCRIPT_BYTES, read_small_text};

const KINDS: [&str; 3] = ["http", "sql", "command"];

/// All but `run` have a grouping rule.
const OPERATIONS: [&str; 4] = ["http", "transaction", "connection", "run"];

const TIMEOUT: Duration = Duration::from_secs(60);

pub fn parse_workload(
    file: File<'_>,
    entry: &Entry,
    hosts: &[String],
) -> Result<WorkloadSettings, ConfigError> {
    let section = Section::new(file, entry, "[workload]".to_owned())?;
    let (word, place) = text(file, "kind", section.required("kind", "\"http\"")?)?;
    let (kind, usual) = match word {
        "http" => (http(&section, hosts)?, Some(Rule::Http)),
        "sql" => (sql(&section, hosts)?, Some(Rule::Transaction)),
        "command" => {
            let node = section.required("command", "\"program argument\"")?;
            let command = command_line(file, "command", node)?;
            (WorkloadKind::Command { command }, None)
        }
        _ => {
            let what = format!(
                "there is no kind of workload '{word}': {}",
                advice(word, KINDS.into_iter())
            );
            return Err(file.error(place, what));
        }
    };
    let timeout = section.duration("timeout")?.unwrap_or(TIMEOUT);
    if timeout.is_zero() {
        return Err(file.error(
            &entry.place,
            "timeout is zero: write more, such as timeout = \"60s\"",
        ));
    }
    let workload = WorkloadSettings {
        host: host(&section, "host", hosts)?,
        clients: section.number("clients", 1, 10_000)?.unwrap_or(1) as u32,
        operation: operation(&section, usual, &kind)?,
        kind,
        timeout,
    };
    section.finish()?;
    Ok(workload)
}

fn http(section: &Section<'_>, hosts: &[String]) -> Result<WorkloadKind, ConfigError> {
    let url = url(section, "url", &["http"], "\"http://web/\"", hosts)?;
    Ok(WorkloadKind::Http {
        url,
        keep_alive: section.boolean("keep_alive", false)?,
    })
}

fn sql(section: &Section<'_>, hosts: &[String]) -> Result<WorkloadKind, ConfigError> {
    let schemes = ["postgres", "postgresql", "mysql", "mariadb"];
    let target = url(
        section,
        "target",
        &schemes,
        "\"postgres://user@database/name\"",
        hosts,
    )?;
    Ok(WorkloadKind::Sql {
        target,
        statements: statements(section)?,
        reconnect: section.boolean("reconnect", false)?,
    })
}

/// The host must be one of the lab's.
fn url(
    section: &Section<'_>,
    key: &'static str,
    schemes: &[&str],
    example: &str,
    hosts: &[String],
) -> Result<String, ConfigError> {
    let (url, place) = text(section.file, key, section.required(key, example)?)?;
    let parts = url
        .split_once("://")
        .filter(|(scheme, _)| schemes.contains(scheme));
    let Some((_, rest)) = parts else {
        // Not quoted, because it may contain a password.
        let what = format!("{key} is no URL of {}: write {key} = {example}", schemes[0]);
        return Err(section.file.error(place, what));
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    let address = authority
        .rsplit_once('@')
        .map_or(authority, |(_, address)| address);
    let name = address.split(':').next().unwrap_or(address);
    // Every host knows itself as localhost: here the end of a tunnel on the workload's host.
    if name != "localhost" {
        known_host(section.file, name, place, hosts)?;
    }
    Ok(url.to_owned())
}

fn statements(section: &Section<'_>) -> Result<Vec<String>, ConfigError> {
    let file = section.file;
    let (listed, script) = (section.node("statements"), section.text("script")?);
    let statements: Vec<String> = match (listed, script) {
        (Some(node), None) => texts(file, "statements", node)?
            .into_iter()
            .map(|(statement, _)| statement.to_owned())
            .collect(),
        (None, Some((name, place))) => {
            let path = home(file.path).join(name);
            let script = read_small_text(&path, MAX_SCRIPT_BYTES)
                .map_err(|error| file.error(place, format!("could not read {}: {error}", path.display())))?;
            vec![script]
        }
        (Some(node), Some(_)) => {
            let what = "statements and script are both given: leave one out";
            return Err(file.error(&node.place, what));
        }
        (None, None) => {
            let what = "[workload] has neither statements nor script: add statements = [\"select 1\"]";
            return Err(file.error(&section.place, what));
        }
    };
    match listed.or(section.node("script")) {
        Some(node) if statements.iter().all(|statement| statement.trim().is_empty()) => Err(file.error(
            &node.place,
            "there is no statement: write at least one, such as \"select 1\"",
        )),
        _ => Ok(statements),
    }
}

fn operation(
    section: &Section<'_>,
    usual: Option<Rule>,
    kind: &WorkloadKind,
) -> Result<Option<Rule>, ConfigError> {
    let Some((word, place)) = section.text("operation")? else {
        return Ok(usual);
    };
    let command = matches!(kind, WorkloadKind::Command { .. });
    match word {
        "run" if command => Ok(None),
        "http" => Ok(Some(Rule::Http)),
        "transaction" => Ok(Some(Rule::Transaction)),
        "connection" => Ok(Some(Rule::Connection)),
        _ => {
            let known = OPERATIONS.into_iter().filter(|word| command || *word != "run");
            let what = format!("there is no operation '{word}' here: {}", advice(word, known));
            Err(section.file.error(place, what))
        }
    }
}
