//! Arguments of the tools, and their JSON schemas.

use super::tools::ToolError;
use crate::commands::distance::{DistanceArgs, parse_rates};
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
    #[serde(default)]
    rtt: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OfPredict {
    rtt: Vec<String>,
    rate: Option<String>,
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
    pub fn rtts(&self) -> Result<Vec<Duration>, ToolError> {
        match self.rtt.as_slice() {
            [] => Ok(vec![DEFAULT_PRICE_RTT]),
            some => round_trips(some),
        }
    }
}

impl OfPredict {
    /// One per round-trip time, all at the given rate.
    pub fn links(&self) -> Result<Vec<LinkDescription>, ToolError> {
        if self.rtt.is_empty() {
            return Err(ToolError::Arguments(
                "rtt is empty: such as [\"40ms\"]".to_owned(),
            ));
        }
        let rate = self.rate.as_deref().map(parse_rates).transpose();
        let rate = rate.map_err(|error| ToolError::Arguments(format!("rate: {error:#}")))?;
        let distances = DistanceArgs {
            rtt: round_trips(&self.rtt)?,
            rate: rate.into_iter().collect(),
            link: Vec::new(),
        };
        Ok(distances.links(&[]))
    }
}

fn round_trips(texts: &[String]) -> Result<Vec<Duration>, ToolError> {
    if texts.len() > MAX_LINKS {
        return Err(ToolError::Arguments(format!("rtt: at most {MAX_LINKS}")));
    }
    let spans: Result<Vec<Duration>, _> = texts.iter().map(|text| parse_duration(text)).collect();
    let mut spans = spans.map_err(|error| ToolError::Arguments(format!("rtt: {error}")))?;
    spans.sort_unstable();
    spans.dedup();
    Ok(spans)
}

pub fn parse<T: DeserializeOwned>(arguments: Value) -> Result<T, ToolError> {
    serde_json::from_value(arguments).map_err(|error| ToolError::Arguments(error.to_string()))
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
        "type": "array",
        "items": {"type": "string"},
        "maxItems": MAX_LINKS,
        "description": format!("{description} Each with its unit: 10ms, 40ms."),
    })
}

const fn usual_top() -> usize {
    10
}

pub const MAX_STATEMENTS: usize = 200;
const MAX_LINKS: usize = 20;
