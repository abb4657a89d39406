//! Flags of reports, the same for `read` and `watch`.

use super::grouping::Grouping;
use super::moved_flag::MovedArgument;
use crate::commands::all_flag::AllArgument;
use crate::commands::record_args::RecordArgs;
use analysis::findings::Distances;
use anyhow::Result;
use model::{BitRate, DEFAULT_PRICE_RTT, DEFAULT_RTTS, parse_duration};
use pipeline::aggregator::{Aggregator, TablesInput};
use pipeline::compression::{CompressionPlan, How};
use pipeline::page::PRICES;
use predict::PredictionTarget;
use report::RecordFormat;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Clone, clap::Args)]
pub struct Reporting {
    #[command(flatten)]
    pub grouping: Grouping,
    /// Round-trip times at which operations are predicted and findings priced, with unit. Default:
    /// predictions at 10, 40 and 120 ms, prices at 40 ms. "none" predicts nothing and is faster.
    #[arg(long, value_delimiter = ',', value_parser = RttChoice::parse, value_name = "TIME,...")]
    pub rtt: Vec<RttChoice>,
    /// Rate of the link at which findings are priced. With --compressed-sizes it prices the savings
    /// of compression.
    #[arg(long, value_parser = BitRate::parse, value_name = "RATE")]
    pub rate: Option<BitRate>,
    #[command(flatten)]
    pub moved: MovedArgument,
    #[command(flatten)]
    pub all: AllArgument,
    #[command(flatten)]
    pub records: RecordArgs,
    /// Also write one record for each exchange.
    #[arg(long, requires = "records")]
    pub exchanges: bool,
    /// Also compress all data at each level of a tunnel, and record the sizes with each exchange,
    /// for `tunnel advise`. Costs processor time and about 200 MB.
    #[arg(long, alias = "levels")]
    pub compressed_sizes: bool,
    /// Keep statement texts as sent. They may hold personal data and secrets.
    #[arg(long)]
    pub keep_literals: bool,
    /// Also write a page: one HTML file with the measurement and the cost of distance. Includes
    /// predictions.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Also write tables to this folder, as Parquet files by date, host and protocol: for DuckDB,
    /// ClickHouse, Spark. The folder is accepted as a file by read, predict and check.
    #[arg(long, value_name = "FOLDER", conflicts_with = "keep_literals")]
    pub parquet: Option<PathBuf>,
    /// Name of the observing host for --parquet [default: name of this machine].
    #[arg(long, value_name = "NAME", requires = "parquet")]
    pub parquet_host: Option<String>,
}

impl Reporting {
    /// Distances at which findings are priced.
    pub fn distances(&self) -> Distances {
        let mut asked = self.asked();
        if asked.is_empty() {
            asked.push(DEFAULT_PRICE_RTT);
        }
        Distances::ascending(asked, self.rate)
    }

    /// Links for predictions, including those of a page if one is written.
    pub fn targets(&self, has_page: bool) -> Vec<PredictionTarget> {
        let of_page = if has_page { &PRICES[..] } else { &[] };
        let asked = self.asked();
        let asked = match asked.as_slice() {
            _ if self.rtt.contains(&RttChoice::None) => &[],
            [] if has_page => &[],
            [] => &DEFAULT_RTTS[..],
            asked => asked,
        };
        PredictionTarget::at_rtts(&ascending(asked, of_page))
    }

    fn asked(&self) -> Vec<Duration> {
        let named = self.rtt.iter().filter_map(|choice| match choice {
            RttChoice::Of(rtt) => Some(*rtt),
            RttChoice::None => None,
        });
        named.collect()
    }

    /// Whether records of exchanges are written.
    pub fn has_exchanges(&self) -> bool {
        let is_table = |format: RecordFormat| match format {
            RecordFormat::JsonLines => false,
            RecordFormat::Csv(_) | RecordFormat::Markdown(_) => {
                format.has("exchange") || format.has("opened")
            }
        };
        self.exchanges || self.records.format().is_some_and(is_table)
    }

    /// # Errors
    /// When their folder cannot be made.
    pub fn write_tables(&self, aggregator: &mut Aggregator, input: TablesInput<'_>) -> Result<()> {
        let Some(folder) = &self.parquet else {
            return Ok(());
        };
        aggregator.tables(folder, self.parquet_host.as_deref(), input)
    }

    pub fn compressing(&self) -> Option<CompressionPlan> {
        self.compressed_sizes.then(|| CompressionPlan {
            levels: tunnel::CompressionLevel::ALL.to_vec(),
            moved: Vec::new(),
            how: How::Stream,
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RttChoice {
    Of(Duration),
    None,
}

impl RttChoice {
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
