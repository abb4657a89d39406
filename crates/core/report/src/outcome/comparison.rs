//! Two runs next to each other.

use super::ReadOutcome;
use model::{ComparedOperation, Summary, Warning};
use std::time::Duration;

/// The earlier run first.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ComparisonReport {
    /// Names of the files.
    pub titles: [String; 2],
    pub summaries: [Summary; 2],
    /// Round-trip time of the connection with most round trips.
    pub rtts: [Option<Duration>; 2],
    /// The largest change first.
    pub operations: Vec<ComparedOperation>,
    pub warnings: Vec<Warning>,
}

impl ComparisonReport {
    pub fn new(titles: [String; 2], runs: [ReadOutcome; 2]) -> Self {
        let [before, now] = runs;
        let (of_both, of_now): (Vec<_>, Vec<_>) = now
            .warnings
            .into_iter()
            .partition(|warning| before.warnings.contains(warning));
        let of_baseline = before.warnings.into_iter();
        let of_baseline = of_baseline.filter(|warning| !of_both.contains(warning));
        let warnings = of_now
            .into_iter()
            .chain(of_baseline.map(|warning| warning.with_name("baseline")))
            .chain(
                of_both
                    .iter()
                    .map(|warning| warning.clone().with_name("both runs")),
            )
            .collect();
        let rtt = |connections: &[model::ConnectionOutcome]| {
            let busiest = connections.iter().max_by_key(|connection| connection.turns);
            busiest.and_then(|connection| connection.rtt)
        };
        Self {
            titles,
            rtts: [rtt(&before.connections), rtt(&now.connections)],
            summaries: [before.summary, now.summary],
            operations: ComparedOperation::pairs(before.operations, now.operations),
            warnings,
        }
    }
}
