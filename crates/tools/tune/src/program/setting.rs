//! Parses `--set NAME=v1,v2 --set URL:name=v1,v2` into settings of a program.

use anyhow::{Result, bail, ensure};
use std::process::Command;
use std::sync::Arc;
use sys::{Target, TargetError};

/// One value for each variable and parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramSetting {
    values: Vec<Value>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Value {
    place: Place,
    name: Arc<str>,
    /// `None` leaves the variable or parameter out.
    text: Option<Arc<str>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Environment,
    Url,
}

/// All combinations of `--set`, varying the first most slowly. Numeric values ascend and words keep
/// their order, so that the first setting is the smallest.
///
/// # Errors
/// If one is not `NAME=VALUE,...`, has no values, or names a secret or a variable that longwire
/// sets.
pub fn grid(texts: &[String]) -> Result<Vec<ProgramSetting>> {
    let axes = texts.iter().map(|text| axis(text)).collect::<Result<Vec<_>>>()?;
    for (index, axis) in axes.iter().enumerate() {
        let same = |other: &Vec<Value>| match (other.first(), axis.first()) {
            (Some(other), Some(value)) => other.place == value.place && other.name == value.name,
            _ => false,
        };
        ensure!(
            !axes.iter().take(index).any(same),
            "--set names {} twice: write all its values behind one",
            axis.first().map_or("", |value| &value.name)
        );
    }
    let size = axes
        .iter()
        .try_fold(1_usize, |size, axis| size.checked_mul(axis.len()))
        .unwrap_or(usize::MAX);
    ensure!(
        size <= MAX_SETTINGS,
        "--set gives {size} combinations, at most {MAX_SETTINGS} can be compared: leave values out, or tune one thing after the other"
    );
    let first = vec![ProgramSetting { values: Vec::new() }];
    Ok(axes.into_iter().fold(first, |settings, axis| {
        let with = |setting: &ProgramSetting, value: &Value| {
            let mut values = setting.values.clone();
            values.push(value.clone());
            ProgramSetting { values }
        };
        let combined = settings
            .iter()
            .flat_map(|setting| axis.iter().map(move |value| with(setting, value)));
        combined.collect()
    }))
}

fn axis(text: &str) -> Result<Vec<Value>> {
    let Some((name, values)) = text.split_once('=') else {
        bail!(
            "--set {text}: write NAME=VALUE,VALUE for the environment, or URL:NAME=VALUE,VALUE for the URL"
        );
    };
    let (place, name) = match name.strip_prefix("URL:") {
        Some(name) => (Place::Url, name),
        None => (Place::Environment, name),
    };
    ensure!(
        !name.is_empty() && !name.contains(|letter: char| letter.is_whitespace() || letter.is_control()),
        "--set {text}: '{name}' is no name of a variable or parameter"
    );
    ensure!(
        place == Place::Url || !OURS.contains(&name),
        "--set {name}: longwire sets it so that the program finds the relay"
    );
    let lower = name.to_ascii_lowercase();
    ensure!(
        !SECRET.iter().any(|word| lower.contains(word)),
        "--set {name}: a secret is no setting to compare, and would be shown in the report"
    );
    let mut values: Vec<Value> = split(values)
        .into_iter()
        .map(|text| Value {
            place,
            name: name.into(),
            text: (!text.is_empty()).then(|| text.into()),
        })
        .collect();
    for (index, value) in values.iter().enumerate() {
        let before = values.get(..index).unwrap_or_default();
        ensure!(
            !before.contains(value),
            "--set {name} has {} twice",
            value.shown()
        );
    }
    sort_numbers(&mut values);
    Ok(values)
}

/// A comma is literal after a backslash.
fn split(values: &str) -> Vec<String> {
    let mut all = vec![String::new()];
    let mut letters = values.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' if letters.next_if_eq(&',').is_some() => {
                if let Some(last) = all.last_mut() {
                    last.push(',');
                }
            }
            ',' => all.push(String::new()),
            letter => {
                if let Some(last) = all.last_mut() {
                    last.push(letter);
                }
            }
        }
    }
    all
}

/// Sorts if all values are numbers. An omitted value comes first.
fn sort_numbers(values: &mut [Value]) {
    let number = |value: &Value| match value.text.as_deref() {
        None => Some(i128::MIN),
        Some(text) => text.parse::<i128>().ok(),
    };
    if values.iter().all(|value| number(value).is_some()) {
        values.sort_by_key(|value| number(value).unwrap_or_default());
    }
}

impl Value {
    fn shown(&self) -> String {
        let prefix = match self.place {
            Place::Environment => "",
            Place::Url => "URL:",
        };
        match &self.text {
            Some(text) => format!("{prefix}{}={text}", self.name),
            None => format!("{prefix}{} left out", self.name),
        }
    }
}

impl ProgramSetting {
    /// `NAME=VALUE`, separated by spaces.
    pub fn label(&self) -> Arc<str> {
        let shown: Vec<String> = self.values.iter().map(Value::shown).collect();
        shown.join(" ").into()
    }

    /// # Errors
    /// If a parameter concerns the way to reach the server.
    pub fn target(&self, target: &Target) -> Result<Target, TargetError> {
        let parameters = self.values.iter().filter(|value| value.place == Place::Url);
        parameters.into_iter().try_fold(target.clone(), |target, value| {
            target.with_parameter(&value.name, value.text.as_deref())
        })
    }

    pub fn put_into(&self, command: &mut Command) {
        let variables = self
            .values
            .iter()
            .filter(|value| value.place == Place::Environment);
        for Value { name, text, .. } in variables {
            match text {
                Some(text) => command.env(&**name, &**text),
                None => command.env_remove(&**name),
            };
        }
    }

    /// A misspelt parameter that the driver would ignore, and its correct name.
    pub fn misspelt(&self) -> Option<(&str, &'static str)> {
        self.values
            .iter()
            .filter(|value| value.place == Place::Url)
            .find_map(|value| {
                let known = CASE_SENSITIVE
                    .into_iter()
                    .find(|known| known.eq_ignore_ascii_case(&value.name))?;
                (known != &*value.name).then_some((&*value.name, known))
            })
    }

    pub fn is_of_url(&self) -> bool {
        self.values.iter().any(|value| value.place == Place::Url)
    }
}

/// Variables with the relay's address.
const OURS: [&str; 8] = [
    "LONGWIRE_HOST",
    "LONGWIRE_PORT",
    "LONGWIRE_URL",
    "DATABASE_URL",
    "PGHOST",
    "PGPORT",
    "MYSQL_HOST",
    "MYSQL_TCP_PORT",
];

/// Parts of names that indicate secrets.
const SECRET: [&str; 6] = ["password", "passwd", "pwd", "secret", "token", "passphrase"];

/// KingbaseES driver parameters that are case-sensitive; other spellings are silently ignored.
const CASE_SENSITIVE: [&str; 1] = ["zipLevel"];

/// More would take days, or leave the result to chance with few runs each.
const MAX_SETTINGS: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(texts: &[&str]) -> Vec<String> {
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        let settings = grid(&texts).expect("a grid");
        settings
            .iter()
            .map(|setting| setting.label().to_string())
            .collect()
    }

    fn refusal(texts: &[&str]) -> String {
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        grid(&texts).expect_err("refused").to_string()
    }

    #[test]
    fn numbers_ascend_and_words_stay_in_their_order() {
        assert_eq!(
            labels(&["SIZE=4096,0,32767"]),
            ["SIZE=0", "SIZE=4096", "SIZE=32767"]
        );
        assert_eq!(
            labels(&["URL:mode=simple,,extended"]),
            ["URL:mode=simple", "URL:mode left out", "URL:mode=extended"]
        );
        assert_eq!(labels(&["A=10,"]), ["A left out", "A=10"]);
    }

    #[test]
    fn several_are_a_grid_and_a_comma_can_be_part_of_a_value() {
        assert_eq!(
            labels(&["A=1,2", r"URL:b=x\,y,z"]),
            ["A=1 URL:b=x,y", "A=1 URL:b=z", "A=2 URL:b=x,y", "A=2 URL:b=z"]
        );
    }

    #[test]
    fn what_cannot_be_compared_is_refused() {
        assert!(refusal(&["SIZE"]).contains("URL:NAME=VALUE"));
        assert!(refusal(&["=1,2"]).contains("no name"));
        assert!(refusal(&["PGHOST=a,b"]).contains("relay"));
        assert!(refusal(&["PGPASSWORD=a,b"]).contains("secret"));
        assert!(refusal(&["A=1,2", "A=3"]).contains("twice"));
        assert!(refusal(&["A=1,1"]).contains("A=1 twice"));
        let eleven = "A=1,2,3,4,5,6,7,8,9,10,11";
        assert!(refusal(&[eleven, &eleven.replace('A', "B")]).contains("121 combinations"));
    }

    #[test]
    fn another_case_than_the_drivers_own_is_known() {
        let of = |text: &str| grid(&[text.to_owned()]).expect("a grid");
        assert_eq!(of("URL:ziplevel=5")[0].misspelt(), Some(("ziplevel", "zipLevel")));
        assert_eq!(of("URL:zipLevel=5")[0].misspelt(), None);
        assert_eq!(of("ziplevel=5")[0].misspelt(), None);
    }
}
