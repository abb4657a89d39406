//! `docs/records.schema.json` describes the records. `LONGWIRE_BLESS=1` writes it again.

mod samples;
mod written;

use model::{Assigned, EndedBy, Job, Lost, NotSeen, Phase, Protocol, RttSource, TransactionState};
use report::records::SCHEMA;
use report::records::types::TYPES;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use written::written;

/// Objects with names of the user's as keys.
const BY_NAME: [&str; 2] = ["settings", "services"];

/// The schema of a value below `key`.
fn schema_of(key: &str, value: &Value) -> Value {
    match value {
        Value::Null => panic!("{key} is there without a value"),
        Value::Bool(_) => json!({"type": "boolean"}),
        Value::Number(number) if number.is_f64() => json!({"type": "number"}),
        Value::Number(_) => json!({"type": "integer"}),
        Value::String(_) => json!({"type": "string"}),
        Value::Array(items) => {
            let items = items.iter().map(|item| schema_of(key, item));
            match items.reduce(|one, other| merged(key, one, other)) {
                Some(items) => json!({"type": "array", "items": items}),
                None => json!({"type": "array"}),
            }
        }
        Value::Object(parts) if BY_NAME.contains(&key) => {
            let values = parts.values().map(|part| schema_of("", part));
            match values.reduce(|one, other| merged(key, one, other)) {
                Some(values) => json!({"type": "object", "additionalProperties": values}),
                None => json!({"type": "object"}),
            }
        }
        Value::Object(parts) => {
            let properties = parts
                .iter()
                .map(|(part, value)| (part.clone(), schema_of(part, value)));
            json!({"type": "object", "properties": properties.collect::<Map<_, _>>()})
        }
    }
}

/// A schema of both.
fn merged(key: &str, one: Value, other: Value) -> Value {
    let (Value::Object(mut all), Value::Object(other)) = (one, other) else {
        panic!("{key} has a schema that is not an object");
    };
    for (word, value) in other {
        let merged = match (all.remove(&word), word.as_str()) {
            (None, _) => value,
            (Some(before), _) if before == value => value,
            (Some(before), "type") if [&before, &value].contains(&&json!("number")) => {
                assert!(
                    [&before, &value].contains(&&json!("integer")),
                    "{key}: {before} and {value}"
                );
                json!("number")
            }
            (Some(Value::Object(mut before)), "properties") => {
                for (part, value) in value.as_object().into_iter().flatten() {
                    let value = match before.remove(part) {
                        Some(before) => merged(part, before, value.clone()),
                        None => value.clone(),
                    };
                    before.insert(part.clone(), value);
                }
                Value::Object(before)
            }
            (Some(before), "items" | "additionalProperties") => merged(key, before, value),
            (Some(before), _) => panic!("{key}: {word} is {before} and {value}"),
        };
        all.insert(word, merged);
    }
    Value::Object(all)
}

/// Of each type, its keys.
fn schemas() -> BTreeMap<String, Map<String, Value>> {
    let mut types: BTreeMap<String, Map<String, Value>> = BTreeMap::new();
    for line in written() {
        let record: Map<String, Value> = serde_json::from_str(&line).expect("an object");
        let name = record["type"].as_str().expect("a name").to_owned();
        let keys = types.entry(name).or_default();
        for (key, value) in record {
            let schema = schema_of(&key, &value);
            let schema = match keys.remove(&key) {
                Some(before) => merged(&key, before, schema),
                None => schema,
            };
            keys.insert(key, schema);
        }
    }
    // An operation's is counted from its steps, of which a sample has few.
    let evidence = types["summary"]["evidence"].clone();
    if let Some(operation) = types.get_mut("operation") {
        operation.insert("evidence".to_owned(), evidence);
    }
    let rows = rows();
    types
        .iter_mut()
        .for_each(|(name, keys)| describe(name, keys, &rows));
    types
}

/// Of each section and key, its line in docs/output.md.
type Rows = BTreeMap<(String, String), String>;

fn rows() -> Rows {
    let text = std::fs::read_to_string(docs().join("output.md")).expect("docs/output.md is there");
    let mut rows = Rows::new();
    let mut section = String::new();
    for line in text.lines() {
        if line.starts_with('#') {
            section = line.split('`').nth(1).unwrap_or_default().to_owned();
        }
        let Some((keys, meaning)) = line.strip_prefix("- `").and_then(|row| row.split_once("`: ")) else {
            continue;
        };
        for key in keys.split('`').step_by(2) {
            rows.insert((section.clone(), key.to_owned()), without_links(meaning));
        }
    }
    rows
}

fn without_links(text: &str) -> String {
    let mut parts = text.split("](");
    let first = parts.next().unwrap_or_default();
    let others = parts.map(|part| part.split_once(')').map_or(part, |(_, rest)| rest));
    std::iter::once(first)
        .chain(others)
        .collect::<String>()
        .replace('[', "")
}

/// The values that a meaning lists: "`a`, `b` (why) or `c`", with words before a colon or behind a
/// semicolon.
fn values(meaning: &str) -> Option<Vec<&str>> {
    let list = meaning.split("; ").next()?;
    let mut rest = list.rsplit_once(": ").map_or(list, |(_, list)| list);
    let mut values = Vec::new();
    loop {
        let (value, behind) = rest.strip_prefix('`')?.split_once('`')?;
        values.push(value);
        let behind = match behind.strip_prefix(" (") {
            Some(reason) => reason.split_once(')')?.1,
            None => behind,
        };
        if behind.is_empty() {
            return (values.len() > 1).then_some(values);
        }
        let separators = [", or ", " or ", ", "];
        rest = separators
            .iter()
            .find_map(|separator| behind.strip_prefix(separator))?;
    }
}

/// Adds to each key of `section` its meaning and, to texts, the listed values.
fn describe(section: &str, properties: &mut Map<String, Value>, rows: &Rows) {
    let row = |section: &str, key: &str| rows.get(&(section.to_owned(), key.to_owned()));
    for (key, schema) in properties {
        let parts = match schema["type"] == "array" {
            true => schema["items"].get_mut("properties"),
            false => schema.get_mut("properties"),
        };
        if let Some(Value::Object(parts)) = parts {
            describe(key, parts, rows);
        }
        let Some(meaning) = row(section, key) else {
            continue;
        };
        let other = meaning
            .strip_prefix("as in `")
            .and_then(|name| name.strip_suffix('`'));
        let listed = values(other.and_then(|other| row(other, key)).unwrap_or(meaning));
        if let Some(listed) = listed.filter(|_| schema["type"] == "string") {
            schema["enum"] = json!(listed);
        }
        schema["description"] = json!(meaning);
    }
}

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs")
}

/// The file: a line for each key, in the order of columns.
fn file() -> String {
    let schemas = schemas();
    let mut text = format!(
        r#"{{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "title": "A record of longwire",
  "description": "One line of --json or of a recording. From docs/output.md. Keys, types and values may be added.",
  "type": "object",
  "required": ["type", "schema"],
  "properties": {{"type": {{"type": "string"}}, "schema": {{"const": {SCHEMA}}}, "file": {{"type": "string"}}}},
  "allOf": [
"#
    );
    let separator = |place: usize, count: usize| if place + 1 < count { "," } else { "" };
    for (place, found) in TYPES.iter().enumerate() {
        let name = found.name;
        let _ = writeln!(
            text,
            r##"    {{"if": {{"properties": {{"type": {{"const": "{name}"}}}}}}, "then": {{"$ref": "#/$defs/{name}"}}}}{}"##,
            separator(place, TYPES.len())
        );
    }
    text.push_str("  ],\n  \"$defs\": {\n");
    for (place, found) in TYPES.iter().enumerate() {
        let _ = writeln!(text, "    \"{}\": {{\n      \"properties\": {{", found.name);
        let keys: Vec<&str> = found.keys().collect();
        for (place, key) in keys.iter().enumerate() {
            let schema = &schemas[found.name][*key];
            let _ = writeln!(
                text,
                "        \"{key}\": {schema}{}",
                separator(place, keys.len())
            );
        }
        let _ = writeln!(text, "      }}\n    }}{}", separator(place, TYPES.len()));
    }
    text.push_str("  }\n}\n");
    text
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test writes the file on request")]
fn the_schema_file_describes_what_is_written() {
    let path = docs().join("records.schema.json");
    let now = file();
    if std::env::var_os("LONGWIRE_BLESS").is_some() {
        std::fs::write(&path, &now).expect("written");
    }
    let text = std::fs::read_to_string(&path).expect("docs/records.schema.json is there");
    assert!(
        text == now,
        "docs/records.schema.json is not that of LONGWIRE_BLESS=1:\n{now}"
    );
    assert!(serde_json::from_str::<Value>(&text).is_ok(), "it is JSON");
}

#[test]
fn listed_values_are_all_of_the_model() {
    let schemas = schemas();
    let assert_listed = |name: &str, key: &str, names: Vec<&str>| {
        let listed = schemas[name][key]["enum"].as_array().expect("a list");
        let listed: BTreeSet<&str> = listed.iter().filter_map(Value::as_str).collect();
        assert_eq!(listed, names.into_iter().collect(), "{name}: {key}");
    };
    let protocols = Protocol::ALL.iter().map(|protocol| protocol.facts().name);
    assert_listed("connection", "protocol", protocols.collect());
    assert_listed("exchange", "phase", Phase::ALL.map(Phase::name).to_vec());
    assert_listed("exchange", "not_seen", NotSeen::ALL.map(NotSeen::name).to_vec());
    assert_listed("exchange", "lost", Lost::ALL.map(Lost::name).to_vec());
    assert_listed("exchange", "assigned", Assigned::ALL.map(Assigned::name).to_vec());
    let states = TransactionState::ALL.map(TransactionState::name);
    assert_listed("exchange", "transaction", states.to_vec());
    let sources = RttSource::ALL.map(RttSource::name);
    assert_listed("connection", "rtt_source", sources.to_vec());
    assert_listed("connection", "ended_by", EndedBy::ALL.map(EndedBy::name).to_vec());
    assert_listed("tuned", "job", Job::ALL.map(Job::name).to_vec());
}
