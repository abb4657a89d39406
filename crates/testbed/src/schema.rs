//! Records against `docs/records.schema.json`, without the keys that later versions may add.

use serde_json::{Map, Value};
use std::path::Path;
use std::sync::LazyLock;

/// # Panics
/// If the schema has no such type or key, or another kind of value.
#[track_caller]
pub fn assert_described(record: &Value) {
    let name = record["type"].as_str().unwrap_or_default();
    let schema = SCHEMA["$defs"].get(name);
    let schema = schema.unwrap_or_else(|| panic!("no type '{name}' in {PATH}"));
    if let Some(wrong) = wrong(name, record, schema) {
        panic!("not as in {PATH}: {wrong} in {record}");
    }
}

/// The keys of a type, besides `type` and `schema`.
///
/// # Panics
/// If the schema has no such type.
pub fn keys(name: &str) -> Vec<String> {
    let keys = SCHEMA["$defs"][name]["properties"].as_object();
    let keys = keys.unwrap_or_else(|| panic!("no type '{name}' in {PATH}"));
    keys.keys().cloned().collect()
}

const PATH: &str = "docs/records.schema.json";

static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(PATH);
    let text = std::fs::read_to_string(path).expect("the schema is there");
    serde_json::from_str(&text).expect("it is JSON")
});

fn wrong(place: &str, value: &Value, schema: &Value) -> Option<String> {
    let is_right = match schema["type"].as_str() {
        Some("boolean") => value.is_boolean(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("number") => value.is_number(),
        Some("string") => value.is_string(),
        Some("array") => value.is_array(),
        _ => value.is_object(),
    };
    let is_listed = schema["enum"]
        .as_array()
        .is_none_or(|values| values.contains(value));
    if !is_right || !is_listed {
        return Some(format!("{place} is {value}"));
    }
    match value {
        Value::Array(items) => items.iter().find_map(|item| wrong(place, item, &schema["items"])),
        Value::Object(parts) => wrong_part(place, parts, schema),
        _ => None,
    }
}

fn wrong_part(place: &str, parts: &Map<String, Value>, schema: &Value) -> Option<String> {
    let is_of_type = |key: &str| schema.get("type").is_none() && matches!(key, "type" | "schema" | "file");
    let mut parts = parts.iter().filter(|(key, _)| !is_of_type(key));
    parts.find_map(|(key, part)| {
        let known = schema["properties"]
            .get(key)
            .or_else(|| schema.get("additionalProperties"));
        match known {
            Some(schema) => wrong(&format!("{place}.{key}"), part, schema),
            None => Some(format!("{place} has {key}")),
        }
    })
}
