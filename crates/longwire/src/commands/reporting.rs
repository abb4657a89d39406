//! What `read` and `watch` report: the same flags for both.

use super::grouping::Grouping;
use analysis::findings::Distances;
use model::{BitRate, parse_duration};
use pipeline::compression::{CompressionPlan, How};
use std::path::PathBuf;
use std::time::Duration;

/// What is reported.
#[derive(Debug, Clone, clap::Args)]
pub struct Reporting {
    /// How operations are found.
    #[command(flatten)]
    pub grouping: Grouping,
    /// Round trips at which findings are priced, with unit.
    #[arg(long, default_value = "40ms", value_delimiter = ',', value_parser = parse_duration, value_name = "TIME,...")]
    pub rtt: Vec<Duration>,
    /// Rate of the link at which findings are priced: with --levels, what compression would save there.
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
    /// Compress what passes at each level of a tunnel and keep with each exchange how small it would become, in records of
    /// exchanges and in recordings: for `tunnel advise`. Costs processor time and about 200 MB.
    #[arg(long)]
    pub levels: bool,
    /// Keep statement texts as sent; they may hold personal data and secrets.
    #[arg(long)]
    pub keep_literals: bool,
    /// Also write a page: one HTML file with what was measured and what distance would cost; predictions come with it.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

impl Reporting {
    /// The distances at which findings are priced.
    pub fn distances(&self) -> Distances {
        let mut rtts = self.rtt.clone();
        rtts.sort_unstable();
        rtts.dedup();
        Distances {
            rtts,
            rate: self.rate,
        }
    }

    /// What is to be determined about a tunnel, if anything.
    pub fn compressing(&self) -> Option<CompressionPlan> {
        self.levels.then(|| CompressionPlan {
            levels: tunnel::CompressionLevel::ALL.to_vec(),
            moved: Vec::new(),
            how: How::Stream,
        })
    }
}
