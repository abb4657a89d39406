//! `longwire ping`: the distance of a database, measured in its own protocol.

mod ping_output;
mod rows;
mod via;

use crate::commands::all_flag::AllArgument;
use crate::commands::cleartext_flag::CleartextArgument;
use crate::commands::driver::DriverArgs;
use crate::commands::record_args::RecordArgs;
use crate::password;
use anyhow::{Result, bail};
use clap::Args as ClapArgs;
use live::address::to_serve;
use ping_output::PingOutput;
use pipeline::output::{self, Status};
use probe::ping::{DriverQuestion, Pace, PingPlan, Prometheus, Question};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;
use sys::arguments::CommandLine;
use sys::{Clock, Target};
use via::ViaArgs;

/// Measure how far away a database is: the smallest request, again and again.
///
/// Each line has the time until the last byte of the reply, the round trips counted on the socket,
/// and the kernel's own round-trip time. The first call of a connection is reported separately.
/// Ends after -n samples or on Ctrl-C, with a summary and the floor of this machine.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  longwire ping postgres://app@db1/shop
  longwire ping mysql://app@db1/shop -n 40 -i 50ms --icmp
  longwire ping --no-login postgres://db1 oracle://db2 redis://cache1
  longwire ping --connect 'postgres://app@db1/shop?sslmode=require' -n 5
  longwire ping postgres://app@db1/shop --prepared --statement 'select 1'
  longwire ping postgres://db1/shop --rows 500
  longwire ping --via postgres://db1/shop --database-link branch -n 40
  longwire ping jdbc:oracle:thin:@db1:1521/sales --driver ojdbc11.jar
  longwire ping http://web1/ --prometheus 127.0.0.1:9187 --json > samples.jsonl")]
pub struct Args {
    /// The servers, measured at the same time: URLs, jdbc: URLs or libpq key=value strings.
    #[arg(value_name = "TARGET", required_unless_present_any = ["via", "print_script"])]
    pub targets: Vec<String>,
    /// Time between samples.
    #[arg(short, long, default_value = "1s", value_name = "TIME", value_parser = model::parse_duration)]
    pub interval: Duration,
    /// Stop after this many samples of each target. First calls are extra.
    #[arg(short = 'n', short_alias = 'c', long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,
    /// Send the next sample as soon as the last one is answered.
    #[arg(long, conflicts_with = "interval")]
    pub flood: bool,
    /// Count a sample as lost if its reply is not complete after this time.
    #[arg(short = 'W', long, default_value = "5s", value_name = "TIME", value_parser = model::parse_duration)]
    pub timeout: Duration,
    /// Do not log in: send the first message of the protocol. If the protocol has none, open a TCP
    /// connection.
    #[arg(long, conflicts_with = "driver")]
    pub no_login: bool,
    /// Send this statement instead of the smallest one (PostgreSQL, MySQL). It runs once for each
    /// sample.
    #[arg(long, value_name = "SQL", conflicts_with = "no_login")]
    pub statement: Option<String>,
    /// Prepare the statement once and execute it. The first call shows the cost of preparing.
    #[arg(long, conflicts_with = "no_login")]
    pub prepared: bool,
    /// Fetch N rows, one full packet each, and show the gaps between packets. With --via: also time
    /// calls over the link that read N rows.
    #[arg(long, value_name = "COUNT", conflicts_with_all = ["no_login", "statement", "prepared", "icmp", "flood", "interval", "prometheus", "connect", "driver"])]
    pub rows: Option<u64>,
    #[command(flatten)]
    pub via: ViaArgs,
    #[command(flatten)]
    pub driver: DriverArgs,
    /// Open a new connection each time, up to the reply to its first query, and show where the time
    /// goes.
    #[arg(long, conflicts_with_all = ["no_login", "statement", "prepared"])]
    pub connect: bool,
    /// Also send ICMP echo requests to each host, if the system allows it.
    #[arg(long)]
    pub icmp: bool,
    #[command(flatten)]
    pub cleartext: CleartextArgument,
    /// Serve histograms for Prometheus at http://ADDRESS/metrics while it runs.
    #[arg(long, value_parser = to_serve, value_name = "ADDRESS")]
    pub prometheus: Option<SocketAddr>,
    #[command(flatten)]
    pub all: AllArgument,
    #[command(flatten)]
    pub records: RecordArgs,
    /// Also write a page with distributions: one HTML file.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["rows", "via", "print_script"])]
    pub html: Option<PathBuf>,
}

/// # Errors
/// When a target or an option cannot be used, or no target answers.
pub fn run(args: &Args, typed: &CommandLine) -> Result<Status> {
    let targets = args.targets.iter().chain(&args.via.via);
    args.cleartext.allow_for(targets.map(String::as_str))?;
    if let Some(done) = args.via.run(args, typed) {
        return done;
    }
    if let Some(rows) = args.rows {
        return rows::run(args, rows, typed);
    }
    let plans = plans(args)?;
    let names: Vec<String> = plans.iter().map(PingPlan::name).collect();
    let metrics = args
        .prometheus
        .map(|address| Prometheus::start(address, &names))
        .transpose()?;
    let stop = output::stop_on_signals()?;
    let mut ping_output = PingOutput::new(args, typed, &names, metrics)?;
    probe::ping::run(&plans, Clock::anchored_now(), &stop, |number, event| {
        ping_output.event(number, event)
    })?;
    ping_output.finish(stop.is_stopped())
}

/// One plan for each target, and one more for each host for ICMP.
fn plans(args: &Args) -> Result<Vec<PingPlan>> {
    if args.timeout.is_zero() || args.timeout > MAX_TIMEOUT {
        bail!("--timeout must be more than nothing and at most an hour");
    }
    let pace = match args.flood {
        true => Pace::Flood,
        false => Pace::every(args.interval)?,
    };
    let plan = |target: Target, question: Question, pace: Pace| PingPlan {
        target,
        question,
        pace,
        count: args.count,
        timeout: args.timeout,
    };
    let asked = args.targets.iter().map(|text| asked(args, text));
    let asked = asked.collect::<Result<Vec<(Target, Question)>>>()?;
    let mut plans: Vec<PingPlan> = asked
        .iter()
        .map(|(target, question)| plan(target.clone(), question.clone(), pace))
        .collect();
    if args.icmp {
        let targets = asked.into_iter().map(|(target, _)| target);
        for target in targets.filter(|target| target.socket.is_none()) {
            // Never a flood: hosts regard an ICMP flood as an attack.
            let beside = plan(target, Question::Icmp, Pace::every(args.interval)?);
            if plans.iter().all(|other| other.name() != beside.name()) {
                plans.push(beside);
            }
        }
    }
    Ok(plans)
}

fn asked(args: &Args, text: &str) -> Result<(Target, Question)> {
    if args.driver.takes(text) {
        let login = args.driver.login(text)?;
        let question = DriverQuestion {
            bridge: args.driver.options()?,
            sql: args.statement.clone(),
            prepared: args.prepared,
            connect: args.connect,
            login,
        };
        return Ok((question.login.url.target()?, Question::Driver(Box::new(question))));
    }
    if args.driver.is_given() && args.targets.len() == 1 {
        return Err(client::bridge::BridgeError::NotJdbc.into());
    }
    let target = Target::parse(text)?;
    Ok(match args.no_login {
        true => (target, question(args)),
        false => (password::completed(target), question(args)),
    })
}

fn question(args: &Args) -> Question {
    if args.connect {
        Question::Connect
    } else if args.no_login {
        Question::NoLogin
    } else {
        Question::Statement {
            sql: args.statement.clone(),
            prepared: args.prepared,
        }
    }
}

const MAX_TIMEOUT: Duration = Duration::from_secs(3600);
