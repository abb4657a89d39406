//! The arguments of `split`.

use crate::commands::all_flag::AllArgument;
use crate::commands::cleartext_flag::CleartextArgument;
use crate::commands::distance::DistanceArgs;
use crate::commands::emulation_level::Level;
use crate::commands::record_args::RecordArgs;
use crate::commands::scripts::{Mode, builtin, weighted};
use crate::commands::seconds;
use crate::password;
use anyhow::{Context, Result};
use clap::Args as ClapArgs;
use client::session::{Session, SessionOptions};
use load::script::Scripts;
use load::sql::SqlLoad;
use model::DEFAULT_RTTS;
use probe::echo;
use proof::split::{NO_ADDRESS, SplitBench, SplitPlan};
use std::path::{Path, PathBuf};
use std::time::Duration;
use sys::StopToken;
use sys::Target;
use sys::files::{MAX_SCRIPT_BYTES, read_small_text};

/// Show how much of a workload's time is the client's, the network's and the server's, and its
/// throughput elsewhere.
///
/// Runs the workload with each number of clients: select 1, or scripts in pgbench's language.
/// Measures round trips of the same message sizes at the same rate, and subtracts them. The
/// arithmetic: clients / throughput = client + round trips x round-trip time + server.
///
/// Round-trip times come from `longwire echo --listen` on the server's host (--echo). If the server
/// is on this machine, an echo in this process measures them. Otherwise the kernel does; it leaves
/// out wake-ups, so the server's share is a little too long.
///
/// For throughput elsewhere, each round runs the clients with pauses in place of the distance. It
/// holds for clients as fast as longwire's own.
#[derive(Debug, ClapArgs)]
#[command(after_help = r"Examples:
  longwire split postgres://app@db1/shop --echo db1 -c 1,64
  longwire split postgres://localhost/shop -b select-only -M prepared \
    --link 10ms --link 'rtt=40ms rate=100mbit'
  longwire split postgres://localhost/shop -c 1,64 --rtt 10ms,40ms --verify")]
pub struct Args {
    /// The database: a URL, a jdbc: URL or a libpq key=value string.
    #[arg(value_name = "TARGET")]
    pub target: String,
    /// Concurrent clients; each number is measured.
    #[arg(short, long, default_value = "1,64", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=1000), value_name = "COUNT,...")]
    pub clients: Vec<u32>,
    /// A transaction: a script in pgbench's language, FILE or FILE@WEIGHT; can be repeated
    /// [default: select 1].
    #[arg(
        short = 'f',
        long = "script",
        visible_alias = "file",
        value_name = "FILE[@WEIGHT]"
    )]
    pub scripts: Vec<String>,
    /// A built-in script of pgbench: select-only, simple-update, tpcb-like, with @WEIGHT. Needs the
    /// tables of `longwire load --initialize`.
    #[arg(short, long, value_name = "NAME[@WEIGHT]")]
    pub builtin: Vec<String>,
    /// Scale of these tables.
    #[arg(short, long, default_value = "1", value_parser = clap::value_parser!(u32).range(1..), value_name = "SCALE")]
    pub scale: u32,
    /// Protocol for statements.
    #[arg(short = 'M', long = "protocol", default_value = "simple", value_name = "MODE")]
    pub mode: Mode,
    /// Duration of each visit: to each number of clients, and with pauses in place of each
    /// distance.
    #[arg(short = 'T', long = "time", default_value = "1s", value_parser = seconds::time, value_name = "TIME")]
    pub visit: Duration,
    /// Rounds; each visits everything. Figures are those of the round with the median transaction.
    /// Predictions need three.
    #[arg(long, default_value = "5", value_parser = clap::value_parser!(u32).range(1..=1000), value_name = "COUNT")]
    pub rounds: u32,
    #[command(flatten)]
    pub cleartext: CleartextArgument,
    /// Address of `longwire echo --listen` on the server's host: HOST or HOST:PORT.
    #[arg(long, value_name = "ADDR")]
    pub echo: Option<String>,
    #[command(flatten)]
    pub distances: DistanceArgs,
    /// Predict the throughput with the round-trip time to this `longwire echo --listen`; can be
    /// repeated.
    #[arg(long, alias = "at-echo", value_name = "ADDR")]
    pub link_echo: Vec<String>,
    /// Measure the workload over the emulated links, and show the error of each prediction.
    #[arg(long)]
    pub verify: bool,
    /// Level of the emulated links: packet if namespaces are available, else stream.
    #[arg(long, requires = "verify", value_name = "LEVEL")]
    pub level: Option<Level>,
    #[command(flatten)]
    pub all: AllArgument,
    #[command(flatten)]
    pub records: RecordArgs,
    /// Also write a page with bars of client, network and server: one HTML file.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

impl Args {
    /// # Errors
    /// When an echo is not `HOST` or `HOST:PORT`.
    pub fn plan(&self) -> Result<SplitPlan> {
        let usual = match self.link_echo.as_slice() {
            [] => &DEFAULT_RTTS[..],
            _ => &[],
        };
        let echo = |address: &String| Ok((address.clone(), echo_target(address)?));
        Ok(SplitPlan {
            rounds: self.rounds,
            links: self.distances.links(usual),
            echoes: self.link_echo.iter().map(echo).collect::<Result<_>>()?,
        })
    }

    /// Names a transaction in the report.
    pub fn work(&self) -> String {
        let named: Vec<&str> = self
            .builtin
            .iter()
            .chain(&self.scripts)
            .map(String::as_str)
            .collect();
        match named.as_slice() {
            [] => DEFAULT.to_owned(),
            named => named.join(", "),
        }
    }

    /// The workload, after the server was reached.
    ///
    /// # Errors
    /// When a script cannot be read or is wrong, or the login fails.
    pub fn bench(&self, stop: &StopToken) -> Result<SplitBench> {
        anyhow::ensure!(
            self.visit >= MIN_DURATION,
            "-T must be at least {}",
            model::format_duration(MIN_DURATION)
        );
        let target = password::completed(Target::parse(&self.target)?);
        let mut scripts = Scripts::new(load::sql::quoting(target.scheme));
        self.add_to(&mut scripts)?;
        scripts.define("scale", &self.scale.to_string())?;
        let mode = self.mode.query_mode();
        // Reports scripts that cannot be loaded before connecting to a server.
        SqlLoad::new(&target, scripts.clone(), mode)?;
        let session = Session::open(&target, SessionOptions::new(stop))?;
        let address = session.server();
        session.close();
        anyhow::ensure!(
            address.is_some() || target.socket.is_some(),
            "the server closed the connection after the login"
        );
        anyhow::ensure!(address.is_some() || !self.verify, NO_ADDRESS);
        let mut clients = self.clients.clone();
        clients.sort_unstable();
        clients.dedup();
        Ok(SplitBench {
            target,
            address,
            scripts,
            mode,
            clients,
            visit: self.visit,
        })
    }

    fn add_to(&self, scripts: &mut Scripts) -> Result<()> {
        for name in &self.builtin {
            let (name, weight) = chosen(name)?;
            let builtin = builtin(name)?;
            scripts.add(builtin.title, builtin.text, weight)?;
        }
        for file in &self.scripts {
            let (file, weight) = match Path::new(file).exists() {
                true => (file.as_str(), 1),
                false => chosen(file)?,
            };
            let text = read_small_text(Path::new(file), MAX_SCRIPT_BYTES)
                .with_context(|| format!("could not read {file}"))?;
            scripts.add(file, &text, weight)?;
        }
        if scripts.list().is_empty() {
            scripts.add(DEFAULT, DEFAULT, 1)?;
        }
        Ok(())
    }
}

/// `NAME@WEIGHT`, with a weight above 0.
fn chosen(text: &str) -> Result<(&str, u32)> {
    let (name, weight) = weighted(text)?;
    anyhow::ensure!(weight > 0, "'0' is not a weight: a whole number from 1 on");
    Ok((name, weight))
}

/// # Errors
/// When that is not `HOST` or `HOST:PORT`.
pub fn echo_target(address: &str) -> Result<Target> {
    Ok(Target::tcp_at(address, echo::DEFAULT_PORT)?)
}

/// The statement of the published experiment.
const DEFAULT: &str = "select 1";
const MIN_DURATION: Duration = Duration::from_millis(20);
