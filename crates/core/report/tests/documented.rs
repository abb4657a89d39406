//! `docs/output.md` matches the output: every type, every key, and its example lines.

mod samples;
mod written;

use model::{Warning, WarningKind};
use report::RecordType;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use written::written;

#[derive(Default)]
struct Section {
    keys: BTreeSet<String>,
    examples: Vec<String>,
}

fn documented() -> BTreeMap<String, Section> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/output.md");
    let text = std::fs::read_to_string(file).expect("docs/output.md is there");
    let mut sections: BTreeMap<String, Section> = BTreeMap::new();
    let mut current = None;
    for line in text.lines() {
        if let Some(heading) = line.strip_prefix('#') {
            current = backticked(heading).into_iter().next();
            continue;
        }
        let Some(name) = &current else { continue };
        let section = sections.entry(name.clone()).or_default();
        if line.starts_with('{') {
            section.examples.push(line.to_owned());
        }
        if let Some((keys, _)) = line.strip_prefix("- ").and_then(|row| row.split_once("`: ")) {
            for key in backticked(keys) {
                assert!(
                    section.keys.insert(key.clone()),
                    "{name}: {key} is documented twice"
                );
            }
        }
    }
    sections
}

fn backticked(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Keys of every type, and of `steps`, `levels` and `asked` in an exchange.
fn written_keys() -> BTreeMap<String, BTreeSet<String>> {
    let mut types: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in written() {
        let record: Value = serde_json::from_str(&line).expect("it is JSON");
        let record = record.as_object().expect("it is an object");
        assert_eq!(record.get("schema"), Some(&Value::from(1)));
        let name = record.get("type").and_then(Value::as_str).expect("it has a type");
        let keys = record
            .keys()
            .filter(|key| !matches!(key.as_str(), "type" | "schema"));
        types.entry(name.to_owned()).or_default().extend(keys.cloned());
        if let Some(asked) = record.get("asked").and_then(Value::as_object) {
            types
                .entry("asked".to_owned())
                .or_default()
                .extend(asked.keys().cloned());
        }
        for list in ["steps", "levels"] {
            let parts = record.get(list).and_then(Value::as_array);
            for part in parts.into_iter().flatten() {
                let part = part.as_object().expect("a part is an object");
                types
                    .entry(list.to_owned())
                    .or_default()
                    .extend(part.keys().cloned());
            }
        }
    }
    types
}

#[test]
fn every_type_and_key_is_documented_and_no_other() {
    let documented = documented();
    let written = written_keys();
    let names = |names: &mut dyn Iterator<Item = &String>| names.cloned().collect::<Vec<_>>();
    assert_eq!(names(&mut documented.keys()), names(&mut written.keys()));
    for (name, keys) in written {
        assert_eq!(documented[&name].keys, keys, "keys of {name}");
        if let Some(found) = RecordType::find(&name) {
            let columns: BTreeSet<String> = found.keys().map(str::to_owned).collect();
            assert_eq!(columns, keys, "columns of {name}");
        }
    }
}

/// Words in backticks in the line of each key.
fn documented_parts() -> BTreeMap<String, BTreeSet<String>> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/output.md");
    let text = std::fs::read_to_string(file).expect("docs/output.md is there");
    let mut parts: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for row in text.lines().filter(|line| line.starts_with("- `")) {
        let mut words = backticked(row).into_iter();
        let key = words.next().unwrap_or_default();
        parts.entry(key).or_default().extend(words);
    }
    parts
}

/// Objects under a key, of keys that are not names.
fn parts<'a>(key: &str, value: &'a Value) -> Vec<&'a serde_json::Map<String, Value>> {
    match value {
        Value::Object(named) if key == "services" => named.values().filter_map(Value::as_object).collect(),
        Value::Object(part) if key != "settings" => vec![part],
        Value::Array(list) => list.iter().filter_map(Value::as_object).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn keys_of_parts_are_documented_with_them() {
    let documented = documented_parts();
    let mut seen = BTreeSet::new();
    for line in written() {
        let record: Value = serde_json::from_str(&line).expect("it is JSON");
        for (key, value) in record.as_object().expect("it is an object") {
            // These have sections of their own.
            if ["asked", "steps", "levels"].contains(&key.as_str()) {
                continue;
            }
            for part in parts(key, value).into_iter().flat_map(|part| part.keys()) {
                assert!(
                    documented[key].contains(part),
                    "{part} of {key} is not in its row"
                );
                seen.insert(key.clone());
            }
        }
    }
    let seen: Vec<&str> = seen.iter().map(String::as_str).collect();
    assert_eq!(
        seen,
        [
            "as_good",
            "assigned",
            "evidence",
            "new_findings",
            "pooler",
            "services",
            "tags"
        ]
    );
}

#[test]
fn the_examples_are_lines_that_are_written() {
    let written = written();
    for (name, section) in documented() {
        assert!(
            ["asked", "steps", "levels"].contains(&name.as_str()) || !section.examples.is_empty(),
            "{name} has no example"
        );
        for example in section.examples {
            let now: Vec<&String> = written
                .iter()
                .filter(|line| line.contains(&format!("\"type\":\"{name}\"")))
                .collect();
            assert!(
                written.contains(&example),
                "{name} shows\n{example}\nwritten is\n{now:#?}"
            );
        }
    }
}

#[test]
fn keys_tell_their_units() {
    for line in written() {
        let record: Value = serde_json::from_str(&line).expect("it is JSON");
        for (key, value) in record.as_object().expect("it is an object") {
            let is_span = key.ends_with("_ns");
            assert!(!is_span || value.is_i64() || value.is_u64(), "{key} is {value}");
            assert!(!value.is_null(), "{key} is there without a value");
            assert!(
                key.chars()
                    .all(|letter| letter.is_ascii_lowercase() || matches!(letter, '_' | '0'..='9'))
            );
        }
    }
}

#[test]
fn every_kind_of_warning_is_documented_and_has_a_name_of_its_own() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/output.md");
    let text = std::fs::read_to_string(file).expect("docs/output.md is there");
    let (_, section) = text
        .split_once("### Kinds of warnings\n")
        .expect("a table of kinds");
    let section = section.split("\n## ").next().expect("its end");
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
    let documented: Vec<&str> = rows.filter_map(|row| row.split('`').next()).collect();
    let kinds: Vec<&str> = WarningKind::ALL.iter().map(|kind| kind.name()).collect();
    assert_eq!(documented, kinds, "the table has the kinds in their order");
    assert_eq!(
        WarningKind::OtherVersion as usize + 1,
        kinds.len(),
        "the list has all"
    );
    for (place, (kind, name)) in WarningKind::ALL.iter().zip(&kinds).enumerate() {
        assert_eq!(*kind as usize, place, "{name}");
        let is_kebab = |letter: char| letter.is_ascii_lowercase() || letter == '-';
        assert!(name.chars().all(is_kebab), "{name}");
        assert_eq!(WarningKind::from_name(name), Some(*kind));
        let line = samples::line(|writer| writer.warning(&Warning::new(*kind, "text")));
        assert!(line.contains(&format!("\"kind\":\"{name}\"")), "{line}");
    }
}

#[test]
fn what_has_no_bounds_has_no_duration_but_a_reason() {
    let mut unlike = samples::prediction("GET /article/?", 40, 27.6, None);
    let keys = |unlike: &model::Prediction| {
        let line = samples::line(|writer| writer.prediction(unlike));
        let record: Value = serde_json::from_str(&line).expect("it is JSON");
        let median = ["duration_ns", "p50_ns", "mean_ns", "per_second"].map(|key| record.get(key).is_some());
        assert!(median.iter().all(|has| *has == median[0]), "{line}");
        ["duration_ns", "low_ns", "high_ns", "slope", "no_duration"].map(|key| record.get(key).is_some())
    };
    assert_eq!(keys(&unlike), [true, true, true, true, false]);
    unlike.low = unlike.high / 4;
    assert_eq!(keys(&unlike), [false, true, true, true, true], "wide");
    unlike.low = unlike.high / 21;
    assert_eq!(keys(&unlike), [false, false, false, false, true]);
}
