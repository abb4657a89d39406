//! `longwire link`: a command, or a shell, behind an emulated link.

mod shell;

use crate::commands::record_args::RecordArgs;
use anyhow::Result;
use clap::Args as ClapArgs;
use link::LinkDescription;
use live::child::CommandOutput;
use model::{LinkOutcome, Summary};
use netns::{Entered, Forward, HostId, LinkId, Network, Sandbox};
use pipeline::output::{self, Status};
use relay::command::NotStarted;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::Command;
use sys::arguments::CommandLine;

/// Run a command behind an emulated link: real packets and the system's own TCP, in both
/// directions.
///
/// The command has its own network (a Linux network namespace); the link is the only way out. It
/// reaches this system at the address in LONGWIRE_GATEWAY and forwarded ports (--forward) at
/// 127.0.0.1. Names and TCP servers outside work as usual.
///
/// Runs a shell if no command is given. The exit status is the command's. Needs root, or user
/// namespaces and /dev/net/tun. Everything is removed at the end.
#[derive(Debug, ClapArgs)]
#[command(after_help = r"Examples:
  longwire link 40ms -- curl https://example.org
  longwire link 'rtt=40ms rate=10mbit' --forward 5432 \
    -- psql -h 127.0.0.1 -c 'select 1'

A shell behind a link:
  longwire link 'rtt=120ms loss=1%'

The same link for tc, or from it:
  longwire link 'rtt=40ms rate=10mbit' --tc eth0
  longwire link 'tc qdisc add dev eth0 root netem delay 20ms' -- ./app

A link: rtt=40ms rate=10mbit/2mbit burst=32KiB queue=64KiB loss=0.1% jitter=2ms outage=2s@10s/60s seed=7 mtu=1400")]
pub struct Args {
    /// The link: `40ms`, `rtt=40ms rate=10mbit`, or in tc's form: `delay 20ms 2ms loss 0.1%`.
    #[arg(value_name = "LINK")]
    pub link: LinkDescription,
    /// Make this system's 127.0.0.1:PORT available inside. HERE:INSIDE for two different ports. Can
    /// be repeated.
    #[arg(long, value_name = "PORT", value_parser = parse_forward)]
    pub forward: Vec<Forward>,
    #[command(flatten)]
    pub records: RecordArgs,
    /// Write the packets of the link to FILE (pcap), as seen on the command's side.
    #[arg(long, value_name = "FILE")]
    pub capture: Option<PathBuf>,
    /// Print the link as commands of tc (netem, tbf) for DEVICE, and end.
    #[arg(long, value_name = "DEVICE", value_parser = parse_device, conflicts_with_all = ["forward", "records", "capture", "let_sleep", "command"])]
    pub tc: Option<String>,
    /// Let processors sleep while packets are on the link. Saves power, but adds up to half a
    /// millisecond to round trips.
    #[arg(long)]
    pub let_sleep: bool,
    /// The command to run, behind `--`.
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// As the kernel does (`dev_valid_name`).
fn parse_device(text: &str) -> Result<String, String> {
    let is_name = (1..MAX_DEVICE_NAME).contains(&text.len())
        && ![".", ".."].contains(&text)
        && text
            .chars()
            .all(|letter| letter.is_ascii_graphic() && !"/:;&|<>()$`\\\"'*?#".contains(letter));
    is_name
        .then(|| text.to_owned())
        .ok_or_else(|| "a network device has a name of up to 15 letters, such as eth0".to_owned())
}

/// `IFNAMSIZ`.
const MAX_DEVICE_NAME: usize = 16;

/// # Errors
/// When the system refuses the namespaces or devices, or a file cannot be written.
pub fn run(args: &Args, typed: &CommandLine) -> Result<Status> {
    if let Some(device) = &args.tc {
        return print_tc(&args.link, device);
    }
    let sandbox = match netns::sandbox::enter()? {
        Entered::Inside(sandbox) => sandbox,
        Entered::Finished(status) => return Ok(Status::Child(status)),
    };
    // Before any thread starts, because longwire's threads leave signals to the command.
    let attended = netns::sandbox::Attended::new();
    let site = Site::build(&sandbox, args)?;
    let mut command = match args.command.split_first() {
        Some((program, arguments)) => {
            let mut command = Command::new(program);
            command.args(arguments);
            command
        }
        None => shell::behind(&args.link)?,
    };
    site.prepare(&mut command, &args.link);
    CommandOutput::beside_records(args.records.is_given()).direct(&mut command)?;
    let status = attended.run(&mut command);
    let status = status.map_err(|error| NotStarted::new(&command, error))?;
    let outcome = site.network.outcome(site.link);
    if args.capture.is_some() {
        site.network.stop_capture(site.link)?;
    }
    print_outcome(args, typed, &outcome)?;
    Ok(Status::Child(status))
}

fn print_tc(link: &LinkDescription, device: &str) -> Result<Status> {
    let commands = link.tc_commands(device)?;
    let hosts = ["the client's host", "the server's host"];
    let text = hosts.iter().zip(commands.into_array()).map(|(host, commands)| {
        let commands = commands.join("\n");
        format!("# on {host}:\n{commands}\n")
    });
    output::print(&text.collect::<String>())?;
    Ok(Status::Done)
}

struct Site {
    network: Network,
    inside: HostId,
    gateway: HostId,
    link: LinkId,
}

impl Site {
    fn build(sandbox: &Sandbox, args: &Args) -> Result<Self> {
        let mut network = Network::new(sandbox)?;
        if !args.let_sleep {
            network.keep_awake();
        }
        let inside = network.add_host("command")?;
        let gateway = network.add_host("gateway")?;
        let link = network.add_link(inside, gateway, &args.link)?;
        network.open_gateway(link, &args.forward)?;
        let site = Self {
            network,
            inside,
            gateway,
            link,
        };
        if let Some(address) = site.network.address(gateway, inside) {
            sandbox.ask_names_of(address)?;
        }
        if let Some(file) = &args.capture {
            site.network.start_capture(link, file)?;
        }
        Ok(site)
    }

    fn prepare(&self, command: &mut Command, link: &LinkDescription) {
        self.network.run_in(self.inside, command);
        if let Some(address) = self.network.address(self.gateway, self.inside) {
            command.env("LONGWIRE_GATEWAY", address.to_string());
        }
        command.env("LONGWIRE_LINK", link.to_string());
        command.env(netns::network::DEPTH, netns::network::depth_inside());
    }
}

fn parse_forward(text: &str) -> Result<Forward, String> {
    let port = |text: &str| match text.parse() {
        Ok(0) | Err(_) => Err(format!("'{text}' is no port: 1 to 65535, or HERE:INSIDE")),
        Ok(port) => Ok(port),
    };
    let (outside, inside) = text.split_once(':').unwrap_or((text, text));
    Ok(Forward {
        inside: port(inside)?,
        outside: port(outside)?,
    })
}

fn print_outcome(args: &Args, typed: &CommandLine, outcome: &LinkOutcome) -> Result<()> {
    let warnings = report::text::link_warnings(outcome);
    output::warn(&warnings);
    if !output::is_quiet() {
        let mut stderr = io::stderr().lock();
        write!(stderr, "longwire: {}", report::text::link_line(outcome))?;
    }
    let Some(format) = args.records.format() else {
        return Ok(());
    };
    let mut conditions = output::conditions(typed, "monotonic clock", "emulated link".to_owned());
    conditions.link = Some(args.link.to_string());
    conditions.seed = (args.link.loss.is_some() || args.link.jitter.is_some()).then_some(args.link.seed);
    let packets = outcome.directions.iter().map(|direction| direction.packets).sum();
    let summary = Summary {
        packets: Some(packets),
        ..Summary::default()
    };
    Ok(output::print_records(
        format,
        &conditions,
        &warnings,
        &summary,
        |records| records.link(outcome),
    )?)
}
