//! `longwire watch`: measures while the application runs, as a relay in front of the database, or at a
//! network interface.

mod interface;
mod relayed;
mod run;

pub(super) use relayed::with_tls;

use super::exporting::ExportArgs;
use super::interface_source::InterfaceArgs;
use super::reporting::Reporting;
use super::targets::RelayArgs;
use anyhow::Result;
use clap::Args as ClapArgs;
use pipeline::output::Status;
use std::ffi::OsString;
use std::path::PathBuf;

/// Relay an application's database traffic, or observe it at a network interface, and measure it while the
/// application runs.
///
/// Point the application at the address that is printed, or let longwire start it: `{host}`, `{port}` and
/// `{url}` in its arguments are replaced, and LONGWIRE_HOST, LONGWIRE_PORT, LONGWIRE_URL, DATABASE_URL,
/// PGHOST, PGPORT, MYSQL_HOST and MYSQL_TCP_PORT are set. Ends with the command, whose exit status passes
/// through, or on Ctrl-C.
///
/// Several targets are relayed at once, in one analysis. With http://HOST:PORT, the application itself, among
/// them, an HTTP request is one operation with the statements and cache calls that it caused. Each target has
/// `{NAME.port}`, ... and LONGWIRE_NAME_PORT, ..., where NAME is its scheme (postgres, redis, http; postgres2
/// for a second one); `{port}` is of the first. See docs/watch.md.
///
/// With --interface nothing is relayed: packets are captured, of the targets or of all TCP, and connections
/// that are open already are joined. A command connects to the servers themselves. See docs/interface.md.
#[derive(Debug, ClapArgs)]
#[command(
    mut_arg("targets", |targets| targets.required(false).required_unless_present("interface")),
    // An argument that is changed becomes the last one, which has to be this.
    mut_arg("command", |command| command),
    after_help = "Examples:\n  longwire watch postgres://app@db1/shop -- ./report.py\n  \
                        longwire watch 'mysql://app@db1/shop?sslmode=require' --listen 127.0.0.1:3307 -o run.lwr\n  \
                        longwire watch postgres://db1 -- psql -h {host} -p {port} -c 'select 1'\n  \
                        longwire watch postgres://app@db1/shop --link 'rtt=40ms rate=10mbit' -- ./report.py\n  \
                        longwire watch http://127.0.0.1:8000 postgres://app@db1/shop redis://cache1 -- ./shop --port 8000\n  \
                        longwire watch postgres://db1 redis://cache1 --link redis=rtt=5ms -- ./app {port} {redis.port}\n  \
                        longwire watch --interface eth0 --port 5432\n  \
                        longwire watch --interface any --filter 'port 5432 and not host 10.0.0.7' --write-pcap run.pcapng\n  \
                        longwire watch --interface lo -- ./shop\n  \
                        longwire watch --interface eth0 --port 5432 --prometheus 127.0.0.1:9464"
)]
pub struct Args {
    /// The servers and their links.
    #[command(flatten)]
    pub relays: RelayArgs,
    /// The network interface, where one is observed.
    #[command(flatten)]
    pub interface: InterfaceArgs,
    /// Keep the run as a recording.
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// What is reported. With --json the command's own output goes to stderr.
    #[command(flatten)]
    pub reporting: Reporting,
    /// Where series go.
    #[command(flatten)]
    pub exports: ExportArgs,
    /// The command to run, behind `--`.
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// Runs it.
///
/// # Errors
/// When a target, the listening address or the interface cannot be used, or the command cannot be started.
pub fn run(args: &Args) -> Result<Status> {
    if !args.interface.is_given() {
        args.interface.keys.refuse_for_server()?;
        return relayed::run(args);
    }
    args.interface.refuse_relay_flags(&args.relays)?;
    interface::run(args)
}

/// The command as a command line shows it: without its arguments, which may hold a password.
fn shown_command(args: &Args) -> String {
    match args.command.first() {
        Some(program) if args.command.len() > 1 => format!(" -- {} ...", program.display()),
        Some(program) => format!(" -- {}", program.display()),
        None => String::new(),
    }
}
