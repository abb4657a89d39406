//! `longwire estimate`: an operation elsewhere, from figures alone.

use super::distance::DistanceArgs;
use super::record_args::RecordArgs;
use crate::commands::all_flag::AllArgument;
use anyhow::{Result, bail};
use clap::Args as ClapArgs;
use link::LinkDescription;
use model::{
    BitRate, ByteCount, Compression, DEFAULT_RTTS, KnownOperation, RowTransfer, Summary, parse_duration,
};
use pipeline::output::{self, Status};
use predict::estimate::{MeasuredTime, estimate};
use report::outcome::{EstimateBase, EstimateReport};
use std::time::Duration;
use sys::arguments::CommandLine;

/// Estimate an operation elsewhere from a few figures, without a server or a capture.
///
/// Time is client and server, plus round trips times round-trip time, plus bytes divided by rate.
/// TCP's slow start, windows and losses are not included: predict has them, from a capture.
#[derive(Debug, ClapArgs)]
#[command(after_help = r"Examples:
A page of 12.3 ms and 4 round trips, further away:
  longwire estimate --duration 12.3ms --trips 4 --rtt 10ms,40ms,120ms

Throughput at another latency; qperf's tcp_lat is one way:
  longwire estimate --per-second 36938 --measured-rtt 5.16us --rtt 13.6us \
    --one-way

Fetch buffers, and compression:
  longwire estimate --rows 32000 --row-bytes 322 --buffer 4KiB,32KiB \
    --rtt 10ms
  longwire estimate --bytes 2MB --ratio 5 --compress-rate 40MB/s \
    --rate 450kB/s")]
pub struct Args {
    /// Measured time of an operation.
    #[arg(long, value_parser = parse_duration, value_name = "TIME", conflicts_with = "per_second")]
    pub duration: Option<Duration>,
    /// Measured operations per second of all clients.
    #[arg(long, value_parser = above_zero, value_name = "NUMBER")]
    pub per_second: Option<f64>,
    /// Round-trip time where it was measured. Default: none, as on one host.
    #[arg(long, value_parser = parse_duration, value_name = "TIME")]
    pub measured_rtt: Option<Duration>,
    /// --rtt and --measured-rtt are one way, as in qperf's tcp_lat.
    #[arg(long)]
    pub one_way: bool,
    /// Round trips of an operation [default: 1].
    #[arg(long, value_parser = not_negative, value_name = "NUMBER", conflicts_with = "rows")]
    pub trips: Option<f64>,
    /// Payload of an operation, in the direction that carries more.
    #[arg(long, value_parser = ByteCount::parse, value_name = "BYTES", conflicts_with = "rows")]
    pub bytes: Option<ByteCount>,
    /// Concurrent clients, each with one operation after another.
    #[arg(short, long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000_000), value_name = "COUNT")]
    pub clients: u32,
    /// Pause of a client between operations.
    #[arg(long, default_value = "0", value_parser = parse_duration, value_name = "TIME")]
    pub think: Duration,
    /// Rows of an operation, each buffer for one round trip.
    #[arg(long, requires_all = ["row_bytes", "buffer"], value_parser = clap::value_parser!(u64).range(1..), value_name = "COUNT")]
    pub rows: Option<u64>,
    /// Bytes of a row.
    #[arg(long, requires = "rows", value_parser = some_bytes, value_name = "BYTES")]
    pub row_bytes: Option<ByteCount>,
    /// Buffers for rows; one that is smaller than a row holds one row.
    #[arg(long, requires = "rows", value_delimiter = ',', value_parser = ByteCount::parse, value_name = "BYTES,...")]
    pub buffer: Vec<ByteCount>,
    /// Bytes before compression divided by bytes after.
    #[arg(long, value_parser = at_least_one, value_name = "NUMBER")]
    pub ratio: Option<f64>,
    /// Bytes that are compressed and decompressed in a second: 40MB/s. Default: takes no time.
    #[arg(long, requires = "ratio", value_parser = BitRate::parse, value_name = "RATE")]
    pub compress_rate: Option<BitRate>,
    #[command(flatten)]
    pub distances: DistanceArgs,
    #[command(flatten)]
    pub all: AllArgument,
    #[command(flatten)]
    pub records: RecordArgs,
}

/// # Errors
/// When figures are missing or contradict each other.
pub fn run(args: &Args, typed: &CommandLine) -> Result<Status> {
    if args.duration.is_none()
        && args.per_second.is_none()
        && args.trips.is_none()
        && args.bytes.is_none()
        && args.rows.is_none()
    {
        bail!("nothing to estimate: give --duration or --per-second, or at least --trips, --bytes or --rows");
    }
    if args.buffer.len() > 1 && args.measured().is_some() {
        bail!(
            "--duration and --per-second were measured with one buffer: give one --buffer, or leave them out"
        );
    }
    let links = links(args)?;
    let report = args.report(&links)?;
    let Some(format) = args.records.format() else {
        output::print(&report::text::estimate_view(&report, &args.all.style()))?;
        return Ok(Status::Done);
    };
    let conditions = output::conditions(typed, "none", "given figures".to_owned());
    output::print_records(format, &conditions, &[], &Summary::default(), |records| {
        report
            .estimates
            .iter()
            .try_for_each(|estimate| records.estimate(estimate))
    })?;
    Ok(Status::Done)
}

fn links(args: &Args) -> Result<Vec<LinkDescription>> {
    let mut distances = args.distances.clone();
    for rtt in &mut distances.rtt {
        *rtt = args.both_ways(*rtt);
    }
    let links = distances.links(&DEFAULT_RTTS);
    for link in &links {
        let unimpaired = LinkDescription {
            rate: link.rate,
            mtu: link.mtu,
            ..LinkDescription::with_rtt(link.rtt)
        };
        if *link != unimpaired {
            bail!(
                "'{link}': estimate knows a link's rtt, rate and mtu; predict has the rest, from a capture"
            );
        }
    }
    Ok(links)
}

impl Args {
    fn both_ways(&self, time: Duration) -> Duration {
        if self.one_way {
            time.saturating_mul(2)
        } else {
            time
        }
    }

    fn report(&self, links: &[LinkDescription]) -> Result<EstimateReport> {
        let compression = self.ratio.map(|ratio| Compression {
            ratio,
            bytes_per_second: self
                .compress_rate
                .map(|rate| rate.as_bits_per_second() as f64 / 8.0),
        });
        let transfers = self.transfers();
        let mut estimates = Vec::new();
        let mut here = None;
        for rows in transfers {
            let (operation, base) = self.operation(rows)?;
            here = here.or(base);
            for link in links {
                estimates.push(estimate(&operation, rows, None, link));
                if compression.is_some() {
                    estimates.push(estimate(&operation, rows, compression, link));
                }
            }
        }
        Ok(EstimateReport {
            here,
            compression,
            estimates,
        })
    }

    /// For each buffer its rows, or once none.
    fn transfers(&self) -> Vec<Option<RowTransfer>> {
        let Some((rows, row_bytes)) = self.rows.zip(self.row_bytes) else {
            return vec![None];
        };
        let with = |buffer: &ByteCount| {
            Some(RowTransfer {
                rows,
                row_bytes,
                buffer: *buffer,
            })
        };
        self.buffer.iter().map(with).collect()
    }

    fn operation(&self, rows: Option<RowTransfer>) -> Result<(KnownOperation, Option<EstimateBase>)> {
        let round_trips = rows.map_or(self.trips.unwrap_or(1.0), |rows| rows.buffers() as f64);
        let here = self.measured().map(|measured| -> Result<EstimateBase> {
            Ok(EstimateBase {
                time: measured.time,
                rtt: measured.rtt,
                round_trips,
                work: measured.work(round_trips)?,
            })
        });
        let here = here.transpose()?;
        let operation = KnownOperation {
            work: here.map(|here| here.work),
            round_trips,
            payload: rows.map_or(self.bytes.unwrap_or_default(), |rows| rows.payload()),
            clients: self.clients,
            think: self.think,
        };
        Ok((operation, here))
    }

    fn measured(&self) -> Option<MeasuredTime> {
        let rtt = self.both_ways(self.measured_rtt.unwrap_or_default());
        let from_throughput =
            |per_second| MeasuredTime::from_throughput(per_second, self.clients, self.think, rtt);
        let measured = self.duration.map(|time| MeasuredTime { time, rtt });
        measured.or_else(|| self.per_second.map(from_throughput))
    }
}

fn above_zero(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(number) if number > 0.0 && f64::is_finite(number) => Ok(number),
        _ => Err(format!("'{text}' is not a number above 0")),
    }
}

fn not_negative(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(number) if (0.0..=1e9).contains(&number) => Ok(number),
        _ => Err(format!("'{text}' is not a number from 0 to 1e9")),
    }
}

fn at_least_one(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(number) if number >= 1.0 && f64::is_finite(number) => Ok(number),
        _ => Err(format!(
            "'{text}' is not a ratio: bytes before divided by bytes after, at least 1"
        )),
    }
}

fn some_bytes(text: &str) -> Result<ByteCount, String> {
    match ByteCount::parse(text) {
        Ok(bytes) if bytes.as_bytes() > 0 => Ok(bytes),
        Ok(_) => Err("a row has at least 1 byte".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}
