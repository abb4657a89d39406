//! Parses `[variants.NAME]`, named groups of settings for a sweep.

use super::section::{Section, advice, text};
use super::sweep::{VARIANT, check_setting};
use super::tree::{ConfigNode, ConfigValue, Entry, FileSpan, Table};
use super::{ConfigError, Lab, SettingSweep};
use model::ConfigFile as File;

#[derive(Debug, Clone, PartialEq)]
pub struct LabVariant {
    pub name: String,
    /// Variant to compare with, measured in the same rounds under otherwise equal settings.
    pub against: Option<String>,
    /// If false, its points are not predicted and no capture is made.
    pub predict: bool,
    /// Path and new value.
    settings: Vec<(Vec<String>, ConfigNode)>,
    place: FileSpan,
    against_place: FileSpan,
}

impl LabVariant {
    /// Path and new value of each.
    pub fn settings(&self) -> &[(Vec<String>, ConfigNode)] {
        &self.settings
    }
}

/// Removes variants from the tree.
pub fn parse_variants(file: File<'_>, root: &mut Table) -> Result<Vec<LabVariant>, ConfigError> {
    let Some(index) = root.entries.iter().position(|entry| entry.key == "variants") else {
        return Ok(Vec::new());
    };
    let entry = root.entries.remove(index);
    let all = Section::new(file, &entry, "[variants.NAME]".to_owned())?;
    all.entries().iter().map(|entry| read_one(file, entry)).collect()
}

fn read_one(file: File<'_>, entry: &Entry) -> Result<LabVariant, ConfigError> {
    let name = format!("[variants.{:?}]", entry.key);
    if !(1..=64).contains(&entry.key.len()) || entry.key.chars().any(char::is_control) {
        let what = "the name of a variant has 1 to 64 bytes on one line: give it another one";
        return Err(file.error(&entry.place, what));
    }
    let section = Section::new(file, entry, name)?;
    let against = section.text(AGAINST)?;
    let mut settings = Vec::new();
    for entry in section.entries() {
        if ![AGAINST, PREDICT].contains(&entry.key.as_str()) {
            collect(entry, &mut Vec::new(), &mut settings);
        }
    }
    Ok(LabVariant {
        name: entry.key.clone(),
        against: against.map(|(name, _)| name.to_owned()),
        predict: section.boolean(PREDICT, true)?,
        settings,
        place: entry.place.clone(),
        against_place: against.map(|(_, place)| place.clone()).unwrap_or_default(),
    })
}

fn collect(entry: &Entry, path: &mut Vec<String>, settings: &mut Vec<(Vec<String>, ConfigNode)>) {
    let depth = path.len();
    path.extend(entry.key.split('.').map(str::to_owned));
    match &entry.node.value {
        ConfigValue::Table(inner) => inner
            .entries
            .iter()
            .for_each(|entry| collect(entry, path, settings)),
        _ => settings.push((path.clone(), entry.node.clone())),
    }
    path.truncate(depth);
}

/// Rejects unknown settings, unknown variants to compare with, and unknown names listed by sweeps.
pub fn check(
    file: File<'_>,
    variants: &[LabVariant],
    sweeps: &[SettingSweep],
    lab: &Lab,
) -> Result<(), ConfigError> {
    for variant in variants {
        for (path, node) in &variant.settings {
            check_setting(path, lab).map_err(|what| {
                let setting = path.join(".");
                file.error(
                    &node.place,
                    format!("there is no setting {setting} to vary: {what}"),
                )
            })?;
        }
        if let Some(name) = &variant.against {
            named(file, name, &variant.against_place, variants)?;
        }
    }
    let axes = sweeps.iter().flat_map(|sweep| &sweep.axes);
    let mut listed = axes.filter(|axis| axis.setting() == VARIANT).peekable();
    if let (None, Some(first)) = (listed.peek(), variants.first()) {
        let what = format!(
            "no sweep lists the variants: add variant = [{:?}] to a [[sweep]]",
            first.name
        );
        return Err(file.error(&first.place, what));
    }
    for node in listed.flat_map(|axis| &axis.values) {
        let (name, place) = text(file, VARIANT, node)?;
        named(file, name, place, variants)?;
    }
    Ok(())
}

fn named(file: File<'_>, name: &str, place: &FileSpan, variants: &[LabVariant]) -> Result<(), ConfigError> {
    let names = || variants.iter().map(|variant| variant.name.as_str());
    if names().any(|known| known == name) {
        return Ok(());
    }
    let advice = advice(name, names());
    Err(file.error(place, format!("there is no variant '{name}': {advice}")))
}

const AGAINST: &str = "against";
const PREDICT: &str = "predict";
