//! Parses `[[sweep]]`, the settings and values to combine.

use super::section::advice;
use super::tree::{ConfigNode, ConfigValue, FileSpan, Table};
use super::{ALL_LINKS, ConfigError, Lab, links};
use model::ConfigFile as File;

/// Stands for every combination of the values.
#[derive(Debug, Clone, PartialEq)]
pub struct SettingSweep {
    /// In the order of the file.
    pub axes: Vec<Axis>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// For example `links`, `network`, `rtt`.
    pub path: Vec<String>,
    pub place: FileSpan,
    /// Contains at least one.
    pub values: Vec<ConfigNode>,
}

impl Axis {
    /// Returns a path like `links.network.rtt`.
    pub fn setting(&self) -> String {
        self.path.join(".")
    }
}

/// Total over all sweeps of a lab.
const MAX_POINTS: usize = 10_000;

/// Removes sweeps from the tree.
pub fn parse_sweeps(file: File<'_>, root: &mut Table) -> Result<Vec<SettingSweep>, ConfigError> {
    let Some(index) = root.entries.iter().position(|entry| entry.key == "sweep") else {
        return Ok(Vec::new());
    };
    let entry = root.entries.remove(index);
    let tables = match entry.node.value {
        ConfigValue::List(nodes) => nodes,
        ConfigValue::Table(_) => vec![entry.node],
        _ => Vec::new(),
    };
    let (mut sweeps, mut all) = (Vec::new(), 0_usize);
    for node in &tables {
        let ConfigValue::Table(table) = &node.value else {
            return Err(not_a_table(file, &node.place));
        };
        let mut axes = Vec::new();
        collect(file, table, &mut Vec::new(), &mut axes)?;
        let points = axes.iter().try_fold(1_usize, |points, axis: &Axis| {
            points.checked_mul(axis.values.len())
        });
        all = all.saturating_add(points.unwrap_or(usize::MAX));
        if all > MAX_POINTS {
            let what = format!(
                "with this sweep there are more than {MAX_POINTS} points: give its settings fewer values"
            );
            return Err(file.error(&node.place, what));
        }
        sweeps.push(SettingSweep { axes });
    }
    if sweeps.is_empty() {
        return Err(not_a_table(file, &entry.place));
    }
    Ok(sweeps)
}

fn not_a_table(file: File<'_>, place: &FileSpan) -> ConfigError {
    let what = "a sweep is a table of settings and their values: write [[sweep]] and below it links.NAME.rtt = \
                [\"0ms\", \"10ms\"]";
    file.error(place, what)
}

fn collect(
    file: File<'_>,
    table: &Table,
    path: &mut Vec<String>,
    axes: &mut Vec<Axis>,
) -> Result<(), ConfigError> {
    for entry in &table.entries {
        // The key may be quoted: `"links.network.rtt"`.
        let words: Vec<String> = entry.key.split('.').map(str::to_owned).collect();
        let depth = path.len();
        path.extend(words);
        match &entry.node.value {
            ConfigValue::Table(inner) => collect(file, inner, path, axes)?,
            ConfigValue::List(values) if !values.is_empty() => axes.push(Axis {
                path: path.clone(),
                place: entry.place.clone(),
                values: values.clone(),
            }),
            _ => {
                let setting = path.join(".");
                let what =
                    format!("{setting} needs the list of values that it takes: write {setting} = [...]");
                return Err(file.error(&entry.node.place, what));
            }
        }
        path.truncate(depth);
    }
    Ok(())
}

/// Rejects settings that do not exist or cannot be swept.
pub fn check(file: File<'_>, sweeps: &[SettingSweep], lab: &Lab) -> Result<(), ConfigError> {
    for axis in sweeps.iter().flat_map(|sweep| &sweep.axes) {
        // Listed names are checked with the variants.
        if axis.setting() == VARIANT {
            continue;
        }
        if let Err(what) = check_setting(&axis.path, lab) {
            let what = format!("there is no setting {} to sweep: {what}", axis.setting());
            return Err(file.error(&axis.place, what));
        }
    }
    Ok(())
}

/// # Errors
/// A suggestion for a setting that does not exist.
/// Key of a sweep that lists variants.
pub const VARIANT: &str = "variant";

pub(super) fn check_setting(path: &[String], lab: &Lab) -> Result<(), String> {
    let words: Vec<&str> = path.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["links", name, key] => {
            let names = || lab.links.iter().map(|link| link.name.as_str()).chain([ALL_LINKS]);
            if !names().any(|known| known == *name) {
                return Err(format!("there is no link '{name}', {}", advice(name, names())));
            }
            if links::KEYS.contains(key) || *key == "link" {
                return Ok(());
            }
            Err(format!("a link has no '{key}', {}", links::key_advice(key)))
        }
        ["services", name, "settings", _] | ["services", name, "environment", _] => service(name, lab),
        ["services", name, key] => {
            service(name, lab)?;
            let keys = ["command", "setup"];
            if keys.contains(key) {
                return Ok(());
            }
            Err(format!(
                "of a service only settings, environment, command and setup can be swept, {}",
                advice(key, keys.into_iter())
            ))
        }
        ["workload", key] => {
            let keys = [
                "clients",
                "url",
                "keep_alive",
                "target",
                "statements",
                "script",
                "reconnect",
                "command",
            ];
            if keys.contains(key) {
                return Ok(());
            }
            Err(advice(key, keys.into_iter()))
        }
        ["measure", key] => {
            let keys = ["operations", "duration", "repeat", "settle"];
            if keys.contains(key) {
                return Ok(());
            }
            Err(advice(key, keys.into_iter()))
        }
        _ => Err(
            "write links.NAME.KEY, services.NAME.settings.KEY, workload.KEY, measure.operations or variant"
                .to_owned(),
        ),
    }
}

fn service(name: &str, lab: &Lab) -> Result<(), String> {
    let names = || lab.services.iter().map(|service| service.name.as_str());
    if names().any(|known| known == name) {
        return Ok(());
    }
    Err(format!("there is no service '{name}', {}", advice(name, names())))
}
