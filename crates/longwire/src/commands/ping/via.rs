//! `ping --via` and `ping --print-script`: from one database to another, through the first one's
//! link.

use super::Args;
use crate::password;
use anyhow::Result;
use clap::Args as ClapArgs;
use model::{Conditions, DatabaseLinkOutcome, Sample, SampleTally, Summary};
use pipeline::output::{self, Status};
use probe::ping::via;
use probe::ping::via::ViaOptions;
use report::RecordPrinter;
use std::io::Stdout;
use std::time::{Duration, Instant};
use sys::arguments::CommandLine;
use sys::{Clock, Target};

#[derive(Debug, ClapArgs)]
pub struct ViaArgs {
    /// Measure from this database to another one, through its own link (--database-link). Replaces
    /// TARGET.
    #[arg(long, value_name = "SOURCE", requires = "database_link", conflicts_with_all = ["targets", "print_script", "no_login", "statement", "prepared", "icmp", "prometheus"])]
    pub via: Option<String>,
    /// Name of the link in the source: a foreign server, SERVER/TABLE or SERVER in MariaDB, a
    /// database link in Oracle.
    #[arg(long, alias = "link", value_name = "NAME")]
    pub database_link: Option<String>,
    /// Print a script that measures where longwire cannot connect. `longwire read` reads its
    /// output.
    #[arg(
        long,
        alias = "script",
        value_name = "KIND",
        requires = "database_link",
        conflicts_with = "targets"
    )]
    pub print_script: Option<ScriptedDatabase>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum ScriptedDatabase {
    /// A PL/SQL script for SQL*Plus and SQLcl.
    Oracle,
}

impl ViaArgs {
    /// Runs the requested measurement; `None` if there is none.
    pub fn run(&self, args: &Args, typed: &CommandLine) -> Option<Result<Status>> {
        let link = self.database_link.as_deref()?;
        match (&self.via, self.print_script) {
            (Some(source), _) => Some(measure(args, typed, source, link)),
            (None, Some(ScriptedDatabase::Oracle)) => Some(print_script(args, link)),
            (None, None) => Some(Err(anyhow::anyhow!(
                "--database-link names a link of a source: say which with --via SOURCE, or ask for a script with --print-script"
            ))),
        }
    }
}

fn print_script(args: &Args, link: &str) -> Result<Status> {
    let script = via::oracle::script(link, args.count.unwrap_or(CALLS_OF_SCRIPT), args.rows)?;
    output::print(&script)?;
    Ok(Status::Done)
}

fn measure(args: &Args, typed: &CommandLine, source: &str, link: &str) -> Result<Status> {
    let target = password::completed(Target::parse(source)?);
    let stop = output::stop_on_signals()?;
    let clock = Clock::anchored_now();
    let options = ViaOptions {
        link,
        target: target.to_string().into(),
        count: args.count,
        rows: args.rows,
        interval: if args.flood { Duration::ZERO } else { args.interval },
        timeout: args.timeout,
        stop: &stop,
        clock,
    };
    let mut output = LinkPingOutput::new(args, typed);
    let mut told = Ok(());
    let (outcome, ended) = via::run(&target, &options, &mut |sample| {
        if told.is_ok() {
            told = output.sample(sample);
        }
    })?;
    told?;
    if let Some(table) = &ended.left_behind {
        output::warning(&format!("the table {table} is left in the source: drop it"));
    }
    let interrupted = stop.is_stopped();
    output.finish(&outcome, ended.by.map(|error| error.to_string()), interrupted)
}

struct LinkPingOutput {
    conditions: Option<Conditions>,
    records: Option<RecordPrinter<Stdout>>,
    sums: SampleTally,
    began: Instant,
    quiet: bool,
}

impl LinkPingOutput {
    fn new(args: &Args, typed: &CommandLine) -> Self {
        Self {
            conditions: Some(output::conditions(
                typed,
                "the source database's clock",
                "the source database".to_owned(),
            )),
            records: args.records.printer(),
            sums: SampleTally::default(),
            began: Instant::now(),
            quiet: output::is_quiet(),
        }
    }

    /// Writes the first record once others are certain to follow.
    fn begin(&mut self) -> Result<()> {
        if let (Some(records), Some(conditions)) = (&mut self.records, self.conditions.take()) {
            records.conditions(&conditions)?;
        }
        Ok(())
    }

    fn sample(&mut self, sample: &Sample) -> Result<()> {
        self.begin()?;
        self.sums.add(sample);
        if let Some(records) = &mut self.records {
            records.sample(sample)?;
            records.flush()?;
        } else if !self.quiet {
            output::print(&report::text::via_line(sample, &output::style()))?;
        }
        Ok(())
    }

    fn finish(
        mut self,
        outcome: &DatabaseLinkOutcome,
        ended: Option<String>,
        interrupted: bool,
    ) -> Result<Status> {
        if let Some(why) = &ended {
            output::warning(&format!("ended early: {why}"));
        }
        self.begin()?;
        let elapsed = self.began.elapsed();
        match &mut self.records {
            None => output::print(&report::text::via_view(outcome, &output::style()))?,
            Some(records) => {
                let samples = self.sums.outcome(elapsed);
                records.database_link(outcome)?;
                records.summary(&Summary {
                    turns: samples.turns,
                    exchanges: samples.totals.answered,
                    connections: 1,
                    duration: elapsed,
                    spread: outcome.round_trips,
                    samples: Some(samples.totals),
                    ..Summary::default()
                })?;
                records.flush()?;
            }
        }
        Ok(if interrupted {
            Status::Interrupted
        } else if ended.is_some() || outcome.round_trips.count == 0 {
            Status::Negative
        } else {
            Status::Done
        })
    }
}

/// Calls of a script unless --count is given.
const CALLS_OF_SCRIPT: u64 = 40;
