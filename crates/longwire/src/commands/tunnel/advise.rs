//! `longwire tunnel advise`: the effect of a tunnel on observed traffic.

mod work;

use crate::commands::all_flag::AllArgument;
use crate::commands::cleartext_flag::CleartextArgument;
use crate::commands::keys_flag::KeyLogArgument;
use crate::commands::record_args::RecordArgs;
use crate::password;
use analysis::operations::rule::Rule;
use anyhow::{Result, bail};
use clap::Args as ClapArgs;
use model::{Advice, BitRate, Conditions, Price, Summary, Warning, parse_duration};
use pipeline::input;
use pipeline::moved::ConnectionChoice;
use pipeline::output::{self, Status};
use pipeline::page::PageFile;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use sys::Target;
use sys::arguments::CommandLine;
use tunnel::CompressionLevel;
use tunnel_io::advise::{self, AdviceRequest};

/// Estimate whether a tunnel would pay: traffic compressed at each level and predicted over several
/// rates.
///
/// The traffic comes from a capture, a recording or a server, which longwire loads with scripts as
/// `longwire load` does. Recordings hold no payload: make them with `watch --compressed-sizes`.
/// Payload stays in memory; no text of a statement or value of a result is written anywhere.
#[derive(Debug, ClapArgs)]
#[command(after_help = r"Examples:
  longwire tunnel advise shop.pcap --rate 450KB/s,10mbit,100mbit --rtt 40ms
  longwire tunnel advise shop.pcap --price-per-gb 0.09 --html advice.html
  longwire tunnel advise postgres://app@db1/shop -f page.sql -T 5s
  longwire tunnel advise mysql://app@db1/shop \
    --statement 'select * from article'")]
pub struct Args {
    /// Capture or recording files, or folders of them (`-` reads stdin), or one server: postgres://,
    /// mysql://, mariadb:// or http://.
    #[arg(required = true, value_name = "FILE|TARGET")]
    pub sources: Vec<PathBuf>,
    #[command(flatten)]
    pub keys: KeyLogArgument,
    /// Rates of the links, each way.
    #[arg(long, value_delimiter = ',', value_parser = BitRate::parse, default_value = RATES, value_name = "RATE,...")]
    pub rate: Vec<BitRate>,
    /// Round-trip time of the links, with unit. Default: as in the traffic.
    #[arg(long, value_parser = parse_duration, value_name = "TIME")]
    pub rtt: Option<Duration>,
    /// Price of a gigabyte between the ends, each way, in any currency.
    #[arg(long, value_name = "PRICE")]
    pub price_per_gb: Option<Price>,
    /// Levels to compare with no compression.
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "1,2,3,4,5,6,7,8,9",
        value_name = "LEVEL,..."
    )]
    pub levels: Vec<CompressionLevel>,
    /// Connections that would use the tunnel: postgres, mysql, redis, oracle, informix, drda, tds,
    /// http, fastcgi, tls or HOST:PORT. Default: all database connections.
    #[arg(long, value_delimiter = ',', value_parser = ConnectionChoice::parse, value_name = "CONNECTION,...")]
    pub on: Vec<ConnectionChoice>,
    /// Rule for operations: auto, connection, transaction, gap:50ms, marked, http or whole.
    /// Default: auto; a run of the script for a server.
    #[arg(long, value_name = "RULE")]
    pub operations: Option<Rule>,
    #[command(flatten)]
    pub asking: work::Asking,
    #[command(flatten)]
    pub cleartext: CleartextArgument,
    #[command(flatten)]
    pub all: AllArgument,
    #[command(flatten)]
    pub records: RecordArgs,
    /// Also write a page: one HTML file with the map.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// # Errors
/// When a source cannot be read or reached, or holds nothing to base advice on.
pub fn run(args: &Args, typed: &CommandLine) -> Result<Status> {
    let begun = Instant::now();
    args.cleartext.allow_for(target(&args.sources)?)?;
    input::ensure_not_read(&args.sources, args.html.as_deref())?;
    let page = args.html.as_deref().map(PageFile::create).transpose()?;
    let mut levels = vec![CompressionLevel::OFF];
    levels.extend(
        args.levels
            .iter()
            .filter(|level| **level != CompressionLevel::OFF),
    );
    levels.sort_unstable();
    levels.dedup();
    let stop = output::stop_on_signals()?;
    let asked = |source: String, rule, moved| AdviceRequest {
        source,
        levels: levels.clone(),
        rates: args.rate.clone(),
        rtt: args.rtt,
        price: args.price_per_gb,
        rule: args.operations.or(rule),
        moved,
    };
    let (observed, (advice, warnings)) = match target(&args.sources)? {
        None => {
            args.asking.refuse_for_files()?;
            let files = input::with_folders(&args.sources)?;
            let name = input::title(&files);
            let asked = asked(name.clone(), None, args.on.clone());
            (name, advise::advise_files(&files, args.keys.open()?, &asked)?)
        }
        Some(url) => {
            args.keys.refuse_for_server()?;
            let target = password::completed(Target::parse(url)?);
            let name = format!("{} on {}", args.asking.title(&target), target.server());
            let moved = work::moved(&target, &args.on);
            let traffic = args
                .asking
                .traffic(url, &target, levels.clone(), moved.clone(), &stop)?;
            let rule = traffic.has_http().then_some(Rule::Transaction);
            let observed = format!("clients of {}", target.server());
            (observed, advise::advise(traffic, &asked(name, rule, moved))?)
        }
    };
    let conditions = output::conditions(
        typed,
        "processor time of the thread that compresses; times of operations as the source has them",
        observed,
    );
    if let Some(page) = page {
        page.write_advice(&advice, &conditions, &warnings)?;
    }
    print_advice(args, &advice, &conditions, &warnings, begun)?;
    Ok(Status::Done)
}

fn print_advice(
    args: &Args,
    advice: &Advice,
    conditions: &Conditions,
    warnings: &[Warning],
    begun: Instant,
) -> Result<()> {
    output::warn(warnings);
    let Some(format) = args.records.format() else {
        return Ok(output::print(&report::text::advice_view(
            advice,
            &args.all.style(),
        ))?);
    };
    let summary = Summary {
        turns: advice.turns,
        exchanges: advice.exchanges,
        operations: advice.operations,
        payload_bytes: advice.payload_bytes,
        duration: begun.elapsed(),
        ..Summary::default()
    };
    Ok(output::print_records(
        format,
        conditions,
        warnings,
        &summary,
        |records| records.advice(advice),
    )?)
}

/// The server, if the sources are not files.
fn target(sources: &[PathBuf]) -> Result<Option<&str>> {
    let urls = sources
        .iter()
        .filter_map(|source| source.to_str())
        .filter(|text| {
            let is_url = text.contains("://") || text.starts_with("jdbc:") || text.contains("host=");
            is_url && !Path::new(text).exists()
        });
    let urls: Vec<&str> = urls.collect();
    match (urls.as_slice(), sources.len()) {
        ([], _) => Ok(None),
        ([url], 1) => Ok(Some(url)),
        _ => bail!("give one server, or files, not both"),
    }
}

/// From the slow link of an office to a data centre; 450 KB/s is that of the published experiment.
const RATES: &str = "512kbit,450KB/s,10mbit,100mbit,1gbit";
