//! `longwire predict`: the operations of a capture or recording on other links.

use crate::input;
use crate::output::{self, Status};
use crate::page::{PageFile, Run};
use crate::pipeline::moved::Choice;
use crate::pipeline::tally::{Tally, Wanted};
use analysis::operations::rule::Rule;
use anyhow::Result;
use clap::Args as ClapArgs;
use link::LinkDescription;
use model::{BitRate, Operation, OperationStep, parse_duration};
use predict::{Assumption, Target};
use report::text::{ExplainOutcome, ExplainedExchange};
use std::path::PathBuf;
use std::time::Duration;

/// Predict what the operations of a capture or recording would take on another link.
///
/// Each operation is replayed in virtual time: what waited for what stays, client and server times stay, and the
/// bytes of the moved connections cross the target link under Linux TCP.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  longwire predict app.pcap --rtt 1ms,10ms,40ms\n  \
                        longwire predict run.lwr --rtt 40ms --rate 10mbit --on postgres --explain")]
pub struct Args {
    /// Capture or recording files; `-` reads stdin.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Round trips of the target links, with unit.
    #[arg(long, default_value = "0ms,10ms,40ms,120ms", value_delimiter = ',', value_parser = parse_duration, value_name = "TIME,...")]
    pub rtt: Vec<Duration>,
    /// Rate of the target link, each way; unlimited when left out.
    #[arg(long, value_delimiter = ',', value_parser = BitRate::parse, value_name = "RATE,...")]
    pub rate: Vec<BitRate>,
    /// Connections that move: mysql, postgres, http, tls or HOST:PORT. All database connections when left out.
    #[arg(long, value_delimiter = ',', value_parser = Choice::parse, value_name = "WHICH,...")]
    pub on: Vec<Choice>,
    /// What an operation is: auto, connection, transaction, gap:50ms, http or whole.
    #[arg(long, default_value = "auto", value_name = "RULE")]
    pub operations: Rule,
    /// Say what the prediction assumes, and how the longest operation was replayed.
    #[arg(long, conflicts_with = "json")]
    pub explain: bool,
    /// Write records (JSON Lines) instead of the table.
    #[arg(long)]
    pub json: bool,
    /// Write a page too: one HTML file with the prediction over round trip and rate, and what it was made from.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// Runs it.
///
/// # Errors
/// When a file cannot be read or is neither a capture nor a recording.
pub fn run(args: &Args) -> Result<Status> {
    let page = args.html.as_deref().map(PageFile::create).transpose()?;
    let wanted = Wanted {
        rule: args.operations,
        targets: targets(&args.rtt, &args.rate),
        moved: args.on.clone(),
        json: args.json,
        longest: args.explain,
        samples: page.as_ref().map(PageFile::samples),
        ..Wanted::default()
    };
    let mut tally = Tally::new(&wanted, input::conditions(&args.files))?;
    let input = input::read(&args.files, false, &mut |fact| tally.fact(fact))?;
    let moved = tally.moved();
    let (outcome, longest) = tally.finish(input.warnings, input.packets)?;
    if !args.json {
        let style = output::style();
        let mut text = report::text::prediction_view(&outcome.predictions, &style);
        if let (Some(longest), Some(target)) = (longest, wanted.targets.last()) {
            let explained = explain(&longest, target, &|step| moved.moves(step));
            text.push_str(&report::text::explain_view(&explained, &style));
        }
        output::print(&text)?;
    }
    output::warn(&outcome.warnings);
    if let Some(page) = page {
        page.write(&Run {
            title: &input::title(&args.files),
            outcome: &outcome,
            moved: &moved,
            asked: &wanted.targets,
            links: &[],
        })?;
    }
    Ok(Status::Done)
}

/// One operation on one link, as the report shows it.
fn explain(operation: &Operation, target: &Target, moved: &dyn Fn(&OperationStep) -> bool) -> ExplainOutcome {
    let explanation = predict::explain(operation, target, moved);
    let steps = explanation.steps.iter().map(|step| ExplainedExchange {
        name: match &step.fingerprint {
            Some(fingerprint) => fingerprint.to_string(),
            None => step.phase.name().to_owned(),
        },
        moved: step.moved,
        turns: step.turns,
        bytes: [step.request_bytes, step.reply_bytes],
        started: step.times.started,
        completed: step.times.completed,
    });
    let assumption = |assumption: &Assumption| (assumption.text.to_owned(), assumption.source.to_owned());
    ExplainOutcome {
        operation_name: operation.name.to_string(),
        measured: operation.duration,
        predicted: explanation.replayed.duration,
        link: target.link.to_string(),
        assumptions: explanation.assumptions.iter().map(assumption).collect(),
        steps: steps.collect(),
    }
}

/// Every round trip with every rate.
pub fn targets(rtts: &[Duration], rates: &[BitRate]) -> Vec<Target> {
    let rates: Vec<Option<BitRate>> = if rates.is_empty() {
        vec![None]
    } else {
        rates.iter().copied().map(Some).collect()
    };
    let links = rates.iter().flat_map(|rate| {
        rtts.iter().map(move |rtt| LinkDescription {
            rate: [*rate; 2],
            ..LinkDescription::with_rtt(*rtt)
        })
    });
    links.map(|link| Target { link, clients: 1 }).collect()
}
