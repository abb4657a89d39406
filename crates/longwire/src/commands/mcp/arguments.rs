//! Arguments of the tools, and their JSON schemas.

use crate::commands::distance::{DistanceArgs, parse_rates};
use anyhow::{Context, Result, ensure};
use link::LinkDescription;
use model::{DEFAULT_PRICE_RTT, parse_duration};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::time::Duration;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OfFindings {
    rtt: Option<RoundTrips>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OfPredict {
    rtt: RoundTrips,
    rate: Option<String>,
}

/// As a flag takes them, or as a list.
#[derive(Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "rtt is a time with its unit, such as \"10ms\", or a list of them"
)]
enum RoundTrips {
    Joined(String),
    List(Vec<String>),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OfStatements {
    #[serde(default = "usual_top")]
    pub top: usize,
    #[serde(default)]
    pub by: StatementOrder,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StatementOrder {
    #[default]
    Time,
    Turns,
}

impl OfFindings {
    /// Round-trip times used to price findings; same default as `read`.
    pub fn rtts(&self) -> Result<Vec<Duration>> {
        match &self.rtt {
            None => Ok(vec![DEFAULT_PRICE_RTT]),
            Some(rtts) if rtts.texts().is_empty() => Ok(vec![DEFAULT_PRICE_RTT]),
            Some(rtts) => rtts.durations(),
        }
    }
}

impl OfPredict {
    /// One per round-trip time, all at the given rate.
    pub fn links(&self) -> Result<Vec<LinkDescription>> {
        let rtt = self.rtt.durations()?;
        ensure!(!rtt.is_empty(), "rtt is empty: such as \"40ms\"");
        let rate = self.rate.as_deref().map(parse_rates).transpose();
        let distances = DistanceArgs {
            rtt,
            rate: rate.context("rate")?.into_iter().collect(),
            link: Vec::new(),
        };
        Ok(distances.links(&[]))
    }
}

impl RoundTrips {
    fn texts(&self) -> Vec<&str> {
        match self {
            Self::Joined(text) => text.split(',').map(str::trim).collect(),
            Self::List(texts) => texts.iter().map(String::as_str).collect(),
        }
    }

    fn durations(&self) -> Result<Vec<Duration>> {
        let texts = self.texts();
        ensure!(texts.len() <= MAX_LINKS, "rtt: at most {MAX_LINKS}");
        let spans: Result<Vec<Duration>, _> = texts.into_iter().map(parse_duration).collect();
        let mut spans = spans.context("rtt")?;
        spans.sort_unstable();
        spans.dedup();
        Ok(spans)
    }
}

pub fn parse<T: DeserializeOwned>(arguments: Value) -> Result<T> {
    Ok(serde_json::from_value(arguments)?)
}

pub fn of_nothing() -> Value {
    json!({"type": "object", "properties": {}, "additionalProperties": false})
}

pub fn of_findings() -> Value {
    json!({
        "type": "object",
        "properties": {"rtt": round_trip_schema("Round-trip times at which findings are priced; 40ms by default.")},
        "additionalProperties": false,
    })
}

pub fn of_predict() -> Value {
    json!({
        "type": "object",
        "properties": {
            "rtt": round_trip_schema("Round-trip times to predict for."),
            "rate": {"type": "string", "description": "Rate of the link, each way or both: 10mbit, 10mbit/2mbit; unlimited when left out."},
        },
        "required": ["rtt"],
        "additionalProperties": false,
    })
}

pub fn of_statements() -> Value {
    json!({
        "type": "object",
        "properties": {
            "top": {"type": "integer", "minimum": 1, "maximum": MAX_STATEMENTS, "description": "How many; 10 when left out."},
            "by": {"type": "string", "enum": ["time", "turns"], "description": "Sort key; time by default."},
        },
        "additionalProperties": false,
    })
}

fn round_trip_schema(description: &str) -> Value {
    json!({
        "type": ["string", "array"],
        "items": {"type": "string"},
        "maxItems": MAX_LINKS,
        "description": format!("{description} Each with its unit: \"10ms\", \"10ms,40ms\" or [\"10ms\", \"40ms\"]."),
    })
}

const fn usual_top() -> usize {
    10
}

pub const MAX_STATEMENTS: usize = 200;
const MAX_LINKS: usize = 20;
