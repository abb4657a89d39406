//! Parses tables of services, `[services.NAME]`.

use super::section::{Section, advice};
use super::tree::{ConfigNode, ConfigValue, Entry, Table};
use super::{CommandLine, ConfigError, ReadinessCheck, Service, ServiceKind, check_name, command_line, host};
use crate::services::ServiceSettings;
use model::ConfigFile as File;
use std::time::Duration;

/// Default time limit for getting ready.
const READY_TIMEOUT: Duration = Duration::from_secs(60);

pub fn parse_services(
    file: File<'_>,
    entry: Option<&Entry>,
    hosts: &[String],
) -> Result<Vec<Service>, ConfigError> {
    let Some(entry) = entry else {
        return Ok(Vec::new());
    };
    let all = Section::new(file, entry, "[services.NAME]".to_owned())?;
    all.entries()
        .iter()
        .map(|entry| {
            check_name(file, &entry.key, &entry.place)?;
            let name = format!("[services.{}]", entry.key);
            read_one(&Section::new(file, entry, name)?, &entry.key, hosts)
        })
        .collect()
}

fn read_one(section: &Section<'_>, name: &str, hosts: &[String]) -> Result<Service, ConfigError> {
    let file = section.file;
    let kind = kind(section)?;
    let command = section
        .node("command")
        .map(|node| command_line(file, "command", node))
        .transpose()?;
    if kind == ServiceKind::Command && command.is_none() {
        section.required("command", "\"program argument\", or kind = \"postgres\"")?;
    }
    let (ready, timeout) = match section.entry("ready") {
        Some(entry) => ready(file, entry)?,
        None => (None, None),
    };
    let service = Service {
        name: name.to_owned(),
        place: section.place.clone(),
        host: host(section, "host", hosts)?,
        kind,
        command,
        settings: settings(section)?,
        environment: environment(section)?,
        ready,
        ready_timeout: timeout.unwrap_or(READY_TIMEOUT),
        setup: setup(section)?,
    };
    section.finish()?;
    ServiceSettings::parse(service.kind, &service.settings)
        .map_err(|fault| file.error(fault.place.as_ref().unwrap_or(&section.place), fault.what))?;
    Ok(service)
}

fn kind(section: &Section<'_>) -> Result<ServiceKind, ConfigError> {
    let Some((word, place)) = section.text("kind")? else {
        return Ok(ServiceKind::Command);
    };
    let known = || ServiceKind::ALL.into_iter();
    known().find(|kind| kind.name() == word).ok_or_else(|| {
        let advice = advice(word, known().map(ServiceKind::name));
        let what =
            format!("there is no kind of service '{word}': {advice}; any program is kind = \"command\"");
        section.file.error(place, what)
    })
}

fn settings(section: &Section<'_>) -> Result<Table, ConfigError> {
    let Some(entry) = section.entry("settings") else {
        return Ok(Table::default());
    };
    match &entry.node.value {
        ConfigValue::Table(table) => Ok(table.clone()),
        _ => Err(section.wrong("settings", &entry.node, "a table, settings.KEY = VALUE")),
    }
}

fn environment(section: &Section<'_>) -> Result<Vec<(String, String)>, ConfigError> {
    let Some(entry) = section.entry("environment") else {
        return Ok(Vec::new());
    };
    let table = Section::new(section.file, entry, "environment".to_owned())?;
    table
        .entries()
        .iter()
        .map(|entry| match entry.node.value.text() {
            Some(value) if !entry.key.is_empty() && !entry.key.contains(['=', '\0']) => {
                Ok((entry.key.clone(), value))
            }
            _ => Err(table.wrong(&entry.key, &entry.node, "NAME = \"value\"")),
        })
        .collect()
}

fn setup(section: &Section<'_>) -> Result<Vec<CommandLine>, ConfigError> {
    match section.node("setup") {
        None => Ok(Vec::new()),
        // Here a list contains commands; each item is a string or a list.
        Some(ConfigNode {
            value: ConfigValue::List(nodes),
            ..
        }) => nodes
            .iter()
            .map(|node| command_line(section.file, "setup", node))
            .collect(),
        Some(node) => Ok(vec![command_line(section.file, "setup", node)?]),
    }
}

fn ready(file: File<'_>, entry: &Entry) -> Result<(Option<ReadinessCheck>, Option<Duration>), ConfigError> {
    let section = Section::new(file, entry, "ready".to_owned())?;
    let port = section.number("port", 1, 65_535)?;
    let url = section.text("url")?;
    let command = section
        .node("command")
        .map(|node| command_line(file, "command", node))
        .transpose()?;
    let timeout = section.duration("timeout")?;
    section.finish()?;
    let ways = [
        port.map(|port| ReadinessCheck::Port(port as u16)),
        url.map(|(url, _)| ReadinessCheck::Url(url.to_owned())),
        command.map(ReadinessCheck::Command),
    ];
    let mut ways = ways.into_iter().flatten();
    let way = ways.next();
    if ways.next().is_some() {
        let what = "ready has several checks: write one of port, url and command";
        return Err(file.error(&entry.node.place, what));
    }
    if let Some((url, place)) = url
        && !url.starts_with("http://")
    {
        return Err(file.error(
            place,
            format!("{url:?} is no URL of HTTP: write \"http://HOST:PORT/PATH\""),
        ));
    }
    Ok((way, timeout))
}
