//! `longwire demo`: the whole story on one machine with nothing installed.

mod page;
mod proof;
mod stage;

use crate::commands::record_args::RecordArgs;
use analysis::findings::Distances;
use analysis::operations::rule::Rule;
use anyhow::{Result, ensure};
use clap::Args as ClapArgs;
use demo::{FetchedPage, PageVariant};
use model::{DEFAULT_RTTS, Warning};
use pipeline::aggregator::{Aggregator, AggregatorConfig};
use pipeline::output::{self, Status};
use pipeline::output_health::OutputHealth;
use pipeline::page::{PRICES, PageFile, PageRun};
use predict::PredictionTarget;
use proof::DemoProof;
use report::ReadOutcome;
use report::outcome::DemoOutcome;
use stage::DemoSetup;
use std::path::PathBuf;
use sys::StopToken;
use sys::arguments::CommandLine;

/// See the whole story in half a minute, with nothing installed.
///
/// Runs an embedded SQL server, an application that queries it too often, and a relay between them.
/// Measures at distance 0, predicts further away, and proves it over an emulated link. Then repeats
/// the page with its queries joined. Needs no privileges.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  longwire demo
  longwire demo --html demo.html")]
pub struct Args {
    #[command(flatten)]
    pub records: RecordArgs,
    /// Write the page with charts and sliders to this file. Default: longwire-demo.html, if that
    /// name is free.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// Measured pages of each variant.
const PAGES: usize = 40;

/// Pages of each variant before that, to warm caches and connections.
const WARM_UP: usize = 3;

pub fn run(args: &Args, typed: &CommandLine) -> Result<Status> {
    let mut warnings = Vec::new();
    let stop = output::stop_on_signals()?;
    let output_health = OutputHealth::default();
    let page = page::open(args.html.as_deref(), &mut warnings, &output_health)?;
    let chatty = DemoSetup::set(PageVariant::Chatty, "page, 1 + N look-ups")?;
    let joined = DemoSetup::set(PageVariant::Joined, "page, one join")?;
    let wanted = wanted(args, [&chatty, &joined], page.as_ref());
    let conditions = output::conditions(
        typed,
        "kernel receive timestamps where the socket gives them, else the monotonic clock",
        "relay on loopback, in front of an embedded SQL server".to_owned(),
    );
    let mut aggregator = Aggregator::new(&wanted, conditions)?;
    let moved = aggregator.moved();
    let names = [chatty.name.clone(), joined.name.clone()];
    let shown = alternate(&chatty, &joined, &stop)?;
    let proof = proof::prove(&chatty, &joined, shown.rows, &stop);
    for stage in [chatty, joined] {
        stage.strike(&mut aggregator);
    }
    warnings.extend(proof.warnings.iter().cloned());
    let outcome = aggregator.finish_amended(warnings, None, |outcome| add_proof(outcome, &proof))?;
    let written = page::write(
        page,
        &PageRun {
            title: page::TITLE,
            outcome: &outcome,
            moved: &moved,
            asked: &wanted.targets,
            computing: wanted.computing,
            wake_up: wanted.wake_up,
            links: &outcome.links,
        },
        &output_health,
    );
    output::warn(&outcome.warnings);
    if let (true, Some(path)) = (args.records.is_given(), &written) {
        output::print_note(&format!("the page is in {}", path.display()));
    }
    if !args.records.is_given() {
        let [chatty, joined] = names;
        let story = DemoOutcome {
            pages: shown.pages,
            rows: shown.rows,
            chatty,
            joined,
            links: outcome.links.clone(),
            page: written.map(|path| path.display().to_string()),
            outcome,
        };
        output::print(&report::text::demo_view(&story, &output::style()))?;
    }
    Ok(output_health.status(match stop.is_stopped() {
        true => Status::Interrupted,
        false => Status::Done,
    }))
}

fn wanted(args: &Args, variants: [&DemoSetup; 2], page: Option<&PageFile>) -> AggregatorConfig {
    AggregatorConfig {
        rule: Rule::Connection,
        targets: PredictionTarget::at_rtts(&PRICES),
        names: variants
            .map(|variant| (variant.server, variant.name.clone()))
            .to_vec(),
        findings: Some(Distances {
            rtts: DEFAULT_RTTS.to_vec(),
            rate: None,
        }),
        records: args.records.format(),
        samples: page.map(PageFile::samples),
        ..AggregatorConfig::default()
    }
}

struct Shown {
    /// Pages of each variant.
    pages: usize,
    /// Products on a page.
    rows: usize,
}

/// Alternates between the variants, so that other work of the machine affects both.
fn alternate(chatty: &DemoSetup, joined: &DemoSetup, stop: &StopToken) -> Result<Shown> {
    for _ in 0..WARM_UP {
        chatty.page_unseen()?;
        joined.page_unseen()?;
    }
    let mut shown = Shown { pages: 0, rows: 0 };
    while shown.pages == 0 || (shown.pages < PAGES && !stop.is_stopped()) {
        let (before, after): (FetchedPage, FetchedPage) = (chatty.page()?, joined.page()?);
        ensure!(
            before.checksum == after.checksum,
            "the two variants of the page show different content"
        );
        shown.pages += 1;
        shown.rows = before.rows;
    }
    Ok(shown)
}

fn add_proof(outcome: &mut ReadOutcome, proof: &DemoProof) {
    for prediction in &mut outcome.predictions {
        let proved = proof
            .pages
            .iter()
            .find(|proved| proved.name == prediction.operation_name && proved.rtt == prediction.rtt);
        prediction.measured = proved.map(|proved| proved.measured.clone());
    }
    outcome.links.clone_from(&proof.links);
    let off = proof.links.iter().flat_map(report::text::link_warnings);
    outcome.warnings.extend(off.collect::<Vec<Warning>>());
}
