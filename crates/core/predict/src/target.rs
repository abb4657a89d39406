//! A target of predictions.

use link::LinkDescription;
use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PredictionTarget {
    pub link: LinkDescription,
    /// Concurrent clients, at least one, each running operations without think time.
    pub clients: u32,
}

impl PredictionTarget {
    /// Every link with every number of clients.
    pub fn grid(links: &[LinkDescription], clients: &[u32]) -> Vec<Self> {
        let grid = links
            .iter()
            .flat_map(|&link| clients.iter().map(move |&clients| Self { link, clients }));
        grid.collect()
    }

    /// Links with these round-trip times, without limit of rate, for one client.
    pub fn at_rtts(rtts: &[Duration]) -> Vec<Self> {
        let links: Vec<_> = rtts.iter().map(|rtt| LinkDescription::with_rtt(*rtt)).collect();
        Self::grid(&links, &[1])
    }
}
