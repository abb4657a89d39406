//! A target of predictions.

use crate::run::Computing;
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

/// A client alone must be predicted as without other numbers of clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ComputingByClients {
    pub one: Computing,
    pub several: Computing,
}

impl ComputingByClients {
    pub const fn for_clients(self, clients: u32) -> Computing {
        if clients > 1 { self.several } else { self.one }
    }
}

impl From<Computing> for ComputingByClients {
    fn from(computing: Computing) -> Self {
        Self {
            one: computing,
            several: computing,
        }
    }
}
