//! Attributes from labels, and of the resource.

use crate::otlp::messages::{AnyValue, KeyValue, Resource, Scope, Value};
use crate::otlp::summary::query_summary;
use model::Protocol;

/// Attributes of the exporting process by name: `service.name`, `host.name` and similar.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ResourceAttributes(pub Vec<(String, String)>);

impl ResourceAttributes {
    pub(crate) fn message(&self) -> Resource {
        Resource {
            attributes: self.0.iter().map(|(key, value)| text(key, value)).collect(),
        }
    }
}

pub(crate) fn scope() -> Scope {
    Scope {
        name: "longwire".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

pub(crate) fn text(key: &str, value: &str) -> KeyValue {
    key_value(key, Value::Text(value.to_owned()))
}

pub(crate) fn number(key: &str, value: i64) -> KeyValue {
    key_value(key, Value::Int(value))
}

pub(crate) fn fraction(key: &str, value: f64) -> KeyValue {
    key_value(key, Value::Double(value))
}

pub(crate) fn yes(key: &str) -> KeyValue {
    key_value(key, Value::Bool(true))
}

fn key_value(key: &str, value: Value) -> KeyValue {
    KeyValue {
        key: key.to_owned(),
        value: Some(AnyValue { value: Some(value) }),
    }
}

/// `server.address` and `server.port` of a target.
pub(crate) fn server(target: &str) -> Vec<KeyValue> {
    let parts = target
        .rsplit_once(':')
        .and_then(|(host, port)| Some((host, port.parse::<i64>().ok()?)));
    match parts {
        Some((host, port)) => vec![
            text("server.address", host.trim_matches(['[', ']'])),
            number("server.port", port),
        ],
        None => vec![text("server.address", target)],
    }
}

/// The protocol of a target; for a database, the conventions' value.
pub(crate) fn system(protocol: Option<Protocol>) -> KeyValue {
    match protocol {
        Some(protocol) if !protocol.is_database() => text("network.protocol.name", protocol.name()),
        protocol => text(
            "db.system.name",
            protocol
                .and_then(|protocol| protocol.facts().otel_name)
                .unwrap_or("other_sql"),
        ),
    }
}

/// `keep_text` adds the statement itself.
pub(crate) fn of_labels(labels: &[crate::metrics::Label], keep_text: bool) -> Vec<KeyValue> {
    let protocol = labels.iter().find(|(name, _)| *name == "protocol");
    let protocol = protocol.and_then(|(_, value)| Protocol::from_name(value));
    let each = labels.iter().flat_map(|(name, value)| match *name {
        "target" => server(value),
        "protocol" => vec![system(protocol)],
        "statement" if labels.iter().any(|(name, _)| *name == "protocol") => {
            statement(protocol, value, keep_text)
        }
        "direction" => vec![text(
            "network.io.direction",
            if &**value == "sent" { "transmit" } else { "receive" },
        )],
        other => vec![text(&format!("longwire.{other}"), value)],
    });
    each.collect()
}

/// Statements of other protocols than databases' are requests.
pub(crate) fn statement(protocol: Option<Protocol>, fingerprint: &str, keep_text: bool) -> Vec<KeyValue> {
    let Some(protocol) = protocol else {
        return vec![text("db.query.summary", fingerprint)];
    };
    if !protocol.is_database() {
        return vec![text("longwire.request", fingerprint)];
    }
    let mut all = vec![text("db.query.summary", &query_summary(protocol, fingerprint))];
    if keep_text {
        all.push(text("db.query.text", fingerprint));
    }
    all
}
