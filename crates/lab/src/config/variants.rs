//! `[variants.NAME]`: settings that change together, under a name that a sweep lists.

use super::section::{File, Section, advice, text};
use super::sweep::check_setting;
use super::tree::{ConfigNode, ConfigValue, Entry, FileSpan, Table};
use super::{ConfigError, Lab, SettingSweep};

/// Settings that change together.
#[derive(Debug, Clone, PartialEq)]
pub struct LabVariant {
    /// What sweeps and reports call it.
    pub name: String,
    /// The variant that its figures are compared with: measured in the same rounds, all else the same.
    pub against: Option<String>,
    /// Whether its points are predicted: no capture is made for one that is not.
    pub predict: bool,
    /// The settings, each with its path and what it becomes.
    settings: Vec<(Vec<String>, ConfigNode)>,
    place: FileSpan,
    against_place: FileSpan,
}

impl LabVariant {
    /// The settings, each with its path and what it becomes.
    pub fn settings(&self) -> &[(Vec<String>, ConfigNode)] {
        &self.settings
    }
}

/// The key by which a sweep lists variants.
pub const SETTING: &str = "variant";

/// Takes the variants out of the file's tree.
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

/// The values of `entry`, and of the tables in it.
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

/// Reports settings that do not exist, variants to compare with that do not exist, and names listed by sweeps
/// that are no variants.
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
    let mut listed = axes.filter(|axis| axis.setting() == SETTING).peekable();
    if let (None, Some(first)) = (listed.peek(), variants.first()) {
        let what = format!(
            "no sweep lists the variants: add variant = [{:?}] to a [[sweep]]",
            first.name
        );
        return Err(file.error(&first.place, what));
    }
    for node in listed.flat_map(|axis| &axis.values) {
        let (name, place) = text(file, SETTING, node)?;
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
