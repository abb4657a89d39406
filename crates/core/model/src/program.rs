//! A program run with several settings to find the best.

use crate::serde_units::ns;
use crate::{ByteCount, Distribution, PerDirection};
use serde::Serialize;
use std::sync::Arc;
use std::time::Duration;

/// Result of one run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProgramRun {
    /// From start to end of the process.
    pub duration: Duration,
    /// From first to last byte on its connections, without program start; `None` without a byte.
    pub connected: Option<Duration>,
    /// Number of opened connections.
    pub connections: u64,
    /// Round trips of these connections.
    pub turns: u64,
    /// Payload bytes of these connections.
    pub payload_bytes: PerDirection<u64>,
    /// Packets likewise, with acknowledgements; `None` if not countable.
    pub packets: Option<PerDirection<u64>>,
    /// Peak memory of a process, if known.
    pub client_memory: Option<ByteCount>,
}

impl ProgramRun {
    /// Connections, round trips and payload bytes.
    pub const fn traffic(&self) -> (u64, u64, PerDirection<u64>) {
        (self.connections, self.turns, self.payload_bytes)
    }

    /// Mean packet size with [`HEADER_BYTES`], if there are packets.
    pub fn mean_packet(&self) -> Option<ByteCount> {
        let packets: u64 = self.packets?.iter().sum();
        let payload: u64 = self.payload_bytes.iter().sum();
        payload
            .checked_div(packets)
            .map(|payload| ByteCount::from_bytes(payload + HEADER_BYTES))
    }
}

/// Linux headers on Ethernet and IPv4: 14 Ethernet, 20 IP, 20 TCP, 12 timestamps.
pub const HEADER_BYTES: u64 = 66;

/// All runs of one setting at one distance.
#[derive(Debug, Clone, PartialEq)]
pub struct ProgramTuned {
    /// The setting, such as `FET_BUF_SIZE=4096`, several separated by a space.
    pub setting: Arc<str>,
    /// The link, unless at the existing distance.
    pub link: Option<Arc<str>>,
    /// Spread of the successful runs' durations.
    pub spread: Distribution,
    /// Spread of their [`ProgramRun::connected`] times.
    pub connected: Distribution,
    /// Runs with a non-zero exit status, not counted elsewhere.
    pub failed: u32,
    /// The run nearest to the median; `None` if none succeeded.
    pub typical: Option<ProgramRun>,
}

/// The best setting at one distance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProgramBest {
    /// The link, unless at the existing distance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<Arc<str>>,
    /// Smallest (or first named) setting within 5 % of the best.
    pub setting: Arc<str>,
    /// Median duration with the setting.
    #[serde(rename = "p50_ns", with = "ns")]
    pub duration: Duration,
    /// Lowest median of all settings.
    #[serde(rename = "best_ns", with = "ns")]
    pub best: Duration,
    /// Setting with the highest median.
    pub worst_setting: Arc<str>,
    /// Highest median of all settings.
    #[serde(rename = "worst_ns", with = "ns")]
    pub worst: Duration,
    /// Whether every run beat every run with the worst setting; otherwise it may be chance.
    pub told_apart: bool,
}
