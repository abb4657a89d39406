//! Each tool reads the files and returns the records of `--json`.

use super::arguments::{self, MAX_STATEMENTS, OfFindings, OfPredict, OfStatements, StatementOrder};
use crate::commands::grouping::Grouping;
use crate::commands::keys_flag::KeyLogArgument;
use analysis::findings::Distances;
use anyhow::Result;
use model::Warning;
use pipeline::aggregator::{Aggregator, AggregatorConfig};
use pipeline::input;
use predict::PredictionTarget;
use report::{JsonWriter, ReadOutcome};
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::io;
use std::path::PathBuf;
use sys::arguments::CommandLine;

#[derive(Debug, Clone, Copy)]
pub struct Files<'a> {
    pub files: &'a [PathBuf],
    pub grouping: &'a Grouping,
    pub keys: &'a KeyLogArgument,
    pub typed: &'a CommandLine,
}

#[derive(Debug)]
pub enum ToolError {
    /// The client named an unknown tool, or invalid arguments.
    Arguments(String),
    Failed(anyhow::Error),
}

impl From<anyhow::Error> for ToolError {
    fn from(error: anyhow::Error) -> Self {
        Self::Failed(error)
    }
}

struct Tool {
    name: &'static str,
    description: &'static str,
    schema: fn() -> Value,
    call: fn(Value, &Files<'_>) -> Result<Value, ToolError>,
}

static TOOLS: [Tool; 4] = [
    Tool {
        name: "summary",
        description: "Totals of the traffic, with the time by client, network and server, and the warnings that a reader of the figures must know.",
        schema: arguments::of_nothing,
        call: summary,
    },
    Tool {
        name: "findings",
        description: "Waste (n+1, row by row, ...): statement, round trips, remedy, and the saving at the given distances.",
        schema: arguments::of_findings,
        call: findings,
    },
    Tool {
        name: "predict",
        description: "Predicted durations of the same operations with the database at other distances, with bounds.",
        schema: arguments::of_predict,
        call: predict,
    },
    Tool {
        name: "statements",
        description: "The statements with most time or most round trips, without their literals.",
        schema: arguments::of_statements,
        call: statements,
    },
];

pub fn list() -> Vec<Value> {
    let described = |tool: &Tool| {
        json!({
            "name": tool.name,
            "description": tool.description,
            "inputSchema": (tool.schema)(),
            "annotations": {"readOnlyHint": true, "openWorldHint": false},
        })
    };
    TOOLS.iter().map(described).collect()
}

pub fn call(name: &str, arguments: Value, files: &Files<'_>) -> Result<Value, ToolError> {
    let tool = TOOLS.iter().find(|tool| tool.name == name).ok_or_else(|| {
        let names: Vec<&str> = TOOLS.iter().map(|tool| tool.name).collect();
        ToolError::Arguments(format!("no such tool: there are {}", names.join(", ")))
    })?;
    (tool.call)(arguments, files)
}

fn summary(arguments: Value, files: &Files<'_>) -> Result<Value, ToolError> {
    arguments::parse::<arguments::Nothing>(arguments)?;
    let outcome = read_files(files, AggregatorConfig::default())?;
    let mut summary = records(|writer| writer.summary(&outcome.summary))?;
    Ok(json!({"summary": summary.pop(), "warnings": warnings(&outcome)}))
}

fn findings(arguments: Value, files: &Files<'_>) -> Result<Value, ToolError> {
    let asked: OfFindings = arguments::parse(arguments)?;
    let rtts = asked.rtts()?;
    let wanted = AggregatorConfig {
        targets: PredictionTarget::at_rtts(&rtts),
        findings: Some(Distances { rtts, rate: None }),
        ..AggregatorConfig::default()
    };
    let outcome = read_files(files, wanted)?;
    let found = records(|writer| {
        outcome
            .findings
            .iter()
            .try_for_each(|finding| writer.finding(finding))
    })?;
    let not_seen = outcome.summary.evidence.nameless_words();
    Ok(json!({"findings": found, "not_seen": not_seen, "warnings": warnings(&outcome)}))
}

fn predict(arguments: Value, files: &Files<'_>) -> Result<Value, ToolError> {
    let asked: OfPredict = arguments::parse(arguments)?;
    let wanted = AggregatorConfig {
        targets: PredictionTarget::grid(&asked.links()?, &[1]),
        ..AggregatorConfig::default()
    };
    let outcome = read_files(files, wanted)?;
    let predicted = records(|writer| {
        outcome
            .predictions
            .iter()
            .try_for_each(|one| writer.prediction(one))
    })?;
    let unmoved: Vec<&str> = outcome.unmoved.iter().map(|name| &**name).collect();
    Ok(json!({"predictions": predicted, "not_predicted": unmoved, "warnings": warnings(&outcome)}))
}

fn statements(arguments: Value, files: &Files<'_>) -> Result<Value, ToolError> {
    let asked: OfStatements = arguments::parse(arguments)?;
    if !(1..=MAX_STATEMENTS).contains(&asked.top) {
        return Err(ToolError::Arguments(format!("top is 1 to {MAX_STATEMENTS}")));
    }
    let mut outcome = read_files(files, AggregatorConfig::default())?;
    let seen = outcome.statements.len();
    match asked.by {
        StatementOrder::Time => outcome
            .statements
            .sort_by_key(|one| Reverse((one.total, one.turns))),
        StatementOrder::Turns => outcome
            .statements
            .sort_by_key(|one| Reverse((one.turns, one.total))),
    }
    let top = outcome.statements.iter().take(asked.top);
    let found = records(|writer| top.into_iter().try_for_each(|one| writer.statement(one)))?;
    Ok(json!({"statements": found, "distinct_statements": seen, "warnings": warnings(&outcome)}))
}

/// Shared by `read_files` and `predict`.
fn read_files(files: &Files<'_>, wanted: AggregatorConfig) -> Result<ReadOutcome> {
    let wanted = AggregatorConfig {
        targets: wanted.targets,
        findings: wanted.findings,
        ..files.grouping.config_for(files.files)
    };
    let mut aggregator = Aggregator::new(&wanted, input::conditions(files.files, files.typed))?;
    let input = input::read_files(files.files, files.keys.reading()?, &mut |fact| {
        aggregator.fact(fact)
    })?;
    let outcome = aggregator.finish(input.warnings, input.packets)?;
    Ok(outcome)
}

fn warnings(outcome: &ReadOutcome) -> Vec<Value> {
    let warnings = outcome.warnings.iter();
    let keys = |warning: &Warning| json!({"kind": warning.kind.name(), "text": warning.text});
    warnings.map(keys).collect()
}

fn records(write: impl FnOnce(&mut JsonWriter<Vec<u8>>) -> io::Result<()>) -> Result<Vec<Value>> {
    let mut writer = JsonWriter::new(Vec::new());
    write(&mut writer)?;
    let lines = writer.into_inner()?;
    let records = serde_json::Deserializer::from_slice(&lines).into_iter();
    Ok(records.collect::<Result<Vec<Value>, _>>()?)
}
