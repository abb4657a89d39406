//! Each tool reads the files, and answers in sentences and with the records of `--json`.

use super::arguments::{self, MAX_STATEMENTS, OfFindings, OfPredict, OfStatements, StatementOrder};
use crate::commands::grouping::Grouping;
use crate::commands::keys_flag::KeyLogArgument;
use analysis::findings::Distances;
use anyhow::{Result, ensure};
use model::{DEFAULT_PRICE_RTT, Warning};
use pipeline::aggregator::{Aggregator, AggregatorConfig};
use pipeline::input;
use predict::PredictionTarget;
use report::{JsonWriter, ReadOutcome};
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::io;
use std::path::PathBuf;
use std::time::Duration;
use sys::arguments::CommandLine;

#[derive(Debug, Clone, Copy)]
pub struct Files<'a> {
    pub files: &'a [PathBuf],
    pub grouping: &'a Grouping,
    pub keys: &'a KeyLogArgument,
    pub typed: &'a CommandLine,
}

/// The same figures, as sentences for a model and as records for programs.
#[derive(Debug)]
pub struct Answer {
    pub text: String,
    pub records: Value,
}

#[derive(Debug)]
pub enum ToolError {
    /// The client named an unknown tool.
    Unknown(String),
    Failed(anyhow::Error),
}

struct Tool {
    name: &'static str,
    description: &'static str,
    schema: fn() -> Value,
    call: fn(Value, &Files<'_>) -> Result<Answer>,
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

pub fn call(name: &str, arguments: Value, files: &Files<'_>) -> Result<Answer, ToolError> {
    let tool = TOOLS.iter().find(|tool| tool.name == name).ok_or_else(|| {
        let names: Vec<&str> = TOOLS.iter().map(|tool| tool.name).collect();
        ToolError::Unknown(format!("no such tool: there are {}", names.join(", ")))
    })?;
    (tool.call)(arguments, files).map_err(ToolError::Failed)
}

fn summary(arguments: Value, files: &Files<'_>) -> Result<Answer> {
    arguments::parse::<arguments::Nothing>(arguments)?;
    let outcome = read_files(files, priced(vec![DEFAULT_PRICE_RTT]))?;
    let mut summary = records(|writer| writer.summary(&outcome.summary))?;
    Ok(Answer {
        text: report::text::summary_sentences(&outcome),
        records: json!({"summary": summary.pop(), "warnings": warnings(&outcome)}),
    })
}

fn findings(arguments: Value, files: &Files<'_>) -> Result<Answer> {
    let asked: OfFindings = arguments::parse(arguments)?;
    let outcome = read_files(files, priced(asked.rtts()?))?;
    let found = records(|writer| {
        outcome
            .findings
            .iter()
            .try_for_each(|finding| writer.finding(finding))
    })?;
    let not_seen = outcome.summary.evidence.nameless_words();
    Ok(Answer {
        text: report::text::finding_sentences(&outcome),
        records: json!({"findings": found, "not_seen": not_seen, "warnings": warnings(&outcome)}),
    })
}

fn predict(arguments: Value, files: &Files<'_>) -> Result<Answer> {
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
    let not_predicted = outcome.not_predicted().map(|one| one.operation_name.to_string());
    Ok(Answer {
        text: report::text::prediction_sentences(&outcome),
        records: json!({"predictions": predicted, "not_predicted": not_predicted.collect::<Vec<_>>(), "warnings": warnings(&outcome)}),
    })
}

fn statements(arguments: Value, files: &Files<'_>) -> Result<Answer> {
    let asked: OfStatements = arguments::parse(arguments)?;
    ensure!(
        (1..=MAX_STATEMENTS).contains(&asked.top),
        "top is 1 to {MAX_STATEMENTS}"
    );
    let mut outcome = read_files(files, AggregatorConfig::default())?;
    let all = &mut outcome.statements;
    let most = match asked.by {
        StatementOrder::Time => {
            all.sort_by_key(|one| Reverse((one.total, one.turns)));
            "time"
        }
        StatementOrder::Turns => {
            all.sort_by_key(|one| Reverse((one.turns, one.total)));
            "round trips"
        }
    };
    let seen = outcome.statements.len();
    let top = &outcome.statements[..seen.min(asked.top)];
    let found = records(|writer| top.iter().try_for_each(|one| writer.statement(one)))?;
    Ok(Answer {
        text: report::text::statement_sentences(top, most, &outcome),
        records: json!({"statements": found, "distinct_statements": seen, "warnings": warnings(&outcome)}),
    })
}

/// Findings with their savings, and facts of the first sentence.
fn priced(rtts: Vec<Duration>) -> AggregatorConfig {
    AggregatorConfig {
        targets: PredictionTarget::at_rtts(&rtts),
        findings: Some(Distances { rtts, rate: None }),
        ..AggregatorConfig::default()
    }
}

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
