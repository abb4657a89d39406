//! What `read` and `watch` report: the same flags for both.

use super::grouping::Grouping;
use analysis::findings::Distances;
use anyhow::Result;
use model::{BitRate, DEFAULT_PRICE_RTT, DEFAULT_RTTS, parse_duration};
use pipeline::aggregator::{Aggregator, TablesInput};
use pipeline::compression::{CompressionPlan, How};
use pipeline::page::PRICES;
use predict::PredictionTarget;
use std::path::PathBuf;
use std::time::Duration;

/// What is reported.
#[derive(Debug, Clone, clap::Args)]
pub struct Reporting {
    /// How operations are found.
    #[command(flatten)]
    pub grouping: Grouping,
    /// Round trips that operations are predicted for, and at which findings are priced, with unit. Without
    /// it: predicted for 10, 40 and 120 ms, priced at 40 ms; "none" predicts nothing, which is faster.
    #[arg(long, value_delimiter = ',', value_parser = RttChoice::parse, value_name = "TIME,...")]
    pub rtt: Vec<RttChoice>,
    /// Rate of the link at which findings are priced: with --compressed-sizes, what compression would save
    /// there.
    #[arg(long, value_parser = BitRate::parse, value_name = "RATE")]
    pub rate: Option<BitRate>,
    /// All rows and columns of all tables, in lines as long as they need to be.
    #[arg(long, conflicts_with = "json")]
    pub all: bool,
    /// Write records (JSON Lines) instead of the view.
    #[arg(long)]
    pub json: bool,
    /// With --json: also write one record for each exchange.
    #[arg(long, requires = "json")]
    pub exchanges: bool,
    /// Compress what passes at each level of a tunnel and keep with each exchange how small it would become,
    /// in records of exchanges and in recordings: for `tunnel advise`. Costs processor time and about 200 MB.
    #[arg(long, alias = "levels")]
    pub compressed_sizes: bool,
    /// Keep statement texts as sent; they may hold personal data and secrets.
    #[arg(long)]
    pub keep_literals: bool,
    /// Also write a page: one HTML file with what was measured and what distance would cost; predictions come
    /// with it.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Also write tables to this folder, as Parquet files by date, host and protocol: for DuckDB, ClickHouse,
    /// Spark; read, predict and check take the folder as a file.
    #[arg(long, value_name = "FOLDER", conflicts_with = "keep_literals")]
    pub parquet: Option<PathBuf>,
    /// Name of the host that observed, for --parquet. Without it: this machine's.
    #[arg(long, value_name = "NAME", requires = "parquet")]
    pub parquet_host: Option<String>,
}

impl Reporting {
    /// The distances at which findings are priced.
    pub fn distances(&self) -> Distances {
        let asked = self.asked();
        Distances {
            rtts: ascending(if asked.is_empty() { &[DEFAULT_PRICE_RTT] } else { &asked }, &[]),
            rate: self.rate,
        }
    }

    /// The links that operations are predicted for: those of a page too where one is written.
    pub fn targets(&self, has_page: bool) -> Vec<PredictionTarget> {
        let of_page = if has_page { &PRICES[..] } else { &[] };
        let asked = self.asked();
        let asked = match asked.as_slice() {
            _ if self.rtt.contains(&RttChoice::None) => &[],
            [] if has_page => &[],
            [] => &DEFAULT_RTTS[..],
            asked => asked,
        };
        super::predict::distances(&ascending(asked, of_page))
    }

    /// The round trips that were named.
    fn asked(&self) -> Vec<Duration> {
        let named = self.rtt.iter().filter_map(|choice| match choice {
            RttChoice::Of(rtt) => Some(*rtt),
            RttChoice::None => None,
        });
        named.collect()
    }

    /// Has tables written where they are wanted.
    ///
    /// # Errors
    /// When their folder cannot be made.
    pub fn write_tables(&self, aggregator: &mut Aggregator, input: TablesInput<'_>) -> Result<()> {
        let Some(folder) = &self.parquet else {
            return Ok(());
        };
        aggregator.tables(folder, self.parquet_host.as_deref(), input)
    }

    /// What is to be determined about a tunnel, if anything.
    pub fn compressing(&self) -> Option<CompressionPlan> {
        self.compressed_sizes.then(|| CompressionPlan {
            levels: tunnel::CompressionLevel::ALL.to_vec(),
            moved: Vec::new(),
            how: How::Stream,
        })
    }
}

/// A value of `--rtt`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RttChoice {
    /// This round trip.
    Of(Duration),
    /// Nothing is predicted.
    None,
}

impl RttChoice {
    /// Parses a value.
    ///
    /// # Errors
    /// When it is neither "none" nor a time with its unit.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text {
            "none" => Ok(Self::None),
            text => parse_duration(text)
                .map(Self::Of)
                .map_err(|fault| fault.to_string()),
        }
    }
}

fn ascending(some: &[Duration], others: &[Duration]) -> Vec<Duration> {
    let mut all = [some, others].concat();
    all.sort_unstable();
    all.dedup();
    all
}
