//! `longwire relay`: connections to a server over an emulated link, without any privilege.

use super::child::Child;
use super::relaying::{self, announce};
use crate::relayed_command::{connect_to, last_bytes};
use anyhow::Result;
use clap::Args as ClapArgs;
use link::LinkDescription;
use model::ObserverFactory;
use model::{ConnectionEvent, ConnectionId, Observer, Summary};
use pipeline::delivery::Delivery;
use pipeline::output::{self, EndRequest, Status};
use relay::{Counters, RelayOptions};
use report::JsonWriter;
use std::ffi::OsString;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use sys::{Clock, Target};

/// Relay connections to a server as if a link lay between: delay, rate, queue, loss, jitter, outages.
///
/// All connections share the link, both directions; their handshakes cross it too. Works on streams with a model of TCP, so
/// that it needs no privilege. Point the application at the address that is printed, or let longwire start it as `watch`
/// does. Ends with the command, whose exit status passes through, or on Ctrl-C. To measure what passes, use
/// `watch --link`.
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  longwire relay postgres://db1 --link rtt=40ms --listen 127.0.0.1:5433\n  \
                        longwire relay tcp://10.0.0.2:3306 --link 'rtt=40ms rate=10mbit/2mbit queue=64KiB loss=0.1%'\n  \
                        longwire relay postgres://db1 --link 'rtt=200ms jitter=5ms' -- psql -h {host} -p {port}\n\n\
                        A link: rtt=40ms rate=10mbit/2mbit burst=32KiB queue=64KiB loss=0.1% jitter=2ms outage=2s@10s/60s seed=7 mtu=1400"
)]
pub struct Args {
    /// The server: a URL (tcp://HOST:PORT for any), a jdbc: URL or a libpq key=value string.
    #[arg(value_name = "TARGET")]
    pub target: String,
    /// The link: 'rtt=40ms rate=10mbit', or as tc writes it: 'delay 20ms 2ms loss 0.1%'. Without it, none.
    #[arg(long, value_name = "SPEC")]
    pub link: Option<LinkDescription>,
    /// Where the application connects.
    #[arg(long, default_value = "127.0.0.1:0", value_name = "ADDRESS")]
    pub listen: SocketAddr,
    /// Write records (JSON Lines) to stdout; the command's own output goes to stderr.
    #[arg(long)]
    pub json: bool,
    /// The command to run, behind `--`.
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// Runs it.
///
/// # Errors
/// When the target, the link or the listening address cannot be used, or the command cannot be started.
pub fn run(args: &Args) -> Result<Status> {
    let target = Target::parse(&args.target)?;
    relaying::check(&target, args.link.as_ref())?;
    relay::probe(&target, REACH)?;
    let tls = relaying::tls_as_asked(&target)?;
    let asked = EndRequest::on_signals()?;
    let delivery = Delivery::default();
    let options = RelayOptions {
        listen: args.listen,
        target: target.clone(),
        link: args.link,
        tls: tls.relay,
    };
    let began = Instant::now();
    let relay = relay::start(options, Clock::anchored_now(), Arc::new(Nobody))?;
    let status = if args.command.is_empty() {
        announce(&delivery, &target, &relay, args.link.as_ref());
        until(|| asked.take().map(|_| Status::Interrupted))
    } else {
        let mut child = Child::start(&args.command, &target, connect_to(&relay), tls.client, args.json)?;
        until(|| child.ended(asked.take()))
    };
    let grace = match status {
        Status::Interrupted => Duration::ZERO,
        _ => last_bytes(args.link.as_ref()),
    };
    let counters = relay.stop(grace);
    let warnings = relaying::warnings(&counters);
    output::warn(&warnings);
    let told = match &counters.link {
        Some(link) => relaying::tell_link(link),
        None => tell_counts(&counters),
    };
    delivery.of("what passed is", told);
    if args.json {
        let written = write_records(args, &target, &counters, began.elapsed(), &warnings);
        delivery.of("the records on stdout are", written);
    }
    Ok(delivery.status(status))
}

fn until(mut ended: impl FnMut() -> Option<Status>) -> Status {
    loop {
        if let Some(status) = ended() {
            return status;
        }
        std::thread::sleep(LOOK);
    }
}

fn tell_counts(counters: &Counters) -> io::Result<()> {
    let [up, down] = counters.payload_bytes;
    writeln!(
        io::stderr().lock(),
        "Relayed {} connections: {up} bytes up, {down} down",
        counters.accepted - counters.failed
    )
}

fn write_records(
    args: &Args,
    target: &Target,
    counters: &Counters,
    duration: Duration,
    warnings: &[model::Warning],
) -> io::Result<()> {
    let link = args.link.as_ref();
    let spec = link.map_or_else(String::new, |link| format!(" --link '{link}'"));
    let command_line = format!("longwire relay {target}{spec} --listen {}", args.listen);
    let conditions = output::conditions(
        command_line,
        "the monotonic clock",
        format!("relay in front of {}", target.server()),
    );
    let mut records = JsonWriter::new(io::stdout().lock());
    records.conditions(&relaying::with_link(conditions, link))?;
    if let Some(link) = &counters.link {
        records.link(link)?;
    }
    warnings.iter().try_for_each(|warning| records.warning(warning))?;
    records.summary(&Summary {
        connections: counters.accepted - counters.failed,
        payload_bytes: counters.payload_bytes,
        duration,
        ..Summary::default()
    })?;
    records.flush()
}

/// An observer that looks at nothing: the relay only relays.
struct Nobody;

impl ObserverFactory for Nobody {
    fn observe(&self, _: ConnectionId) -> Box<dyn Observer + Send> {
        Box::new(Self)
    }
}

impl Observer for Nobody {
    fn event(&mut self, _: ConnectionId, _: ConnectionEvent<'_>) {}
}

/// How long the server may take to accept a connection before the run is refused.
const REACH: Duration = Duration::from_secs(10);

/// How often it is checked whether the run has to end.
const LOOK: Duration = Duration::from_millis(20);
