//! A program that was run with several settings, to find the best of them.

use crate::{ByteCount, Distribution};
use std::sync::Arc;
use std::time::Duration;

/// What one run of the program brought.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProgramRun {
    /// From its start to its end: how long its caller waited.
    pub duration: Duration,
    /// From the first byte to the last on its connections: without the start of the program itself. `None` if
    /// it made no connection that carried a byte.
    pub connected: Option<Duration>,
    /// Connections it made.
    pub connections: u64,
    /// Their round trips.
    pub turns: u64,
    /// Their payload bytes, client-to-server and server-to-client.
    pub payload_bytes: [u64; 2],
    /// Their packets, likewise, acknowledgements among them; `None` if they cannot be counted.
    pub packets: Option<[u64; 2]>,
    /// Most memory that one of its processes had; `None` if it cannot be determined.
    pub client_memory: Option<ByteCount>,
}

impl ProgramRun {
    /// What distinguishes two settings on the wire: connections, round trips, and payload bytes each way.
    pub const fn traffic(&self) -> (u64, u64, [u64; 2]) {
        (self.connections, self.turns, self.payload_bytes)
    }

    /// Bytes of a packet, with its headers, on average: payload and [`HEADER_BYTES`] a packet. `None` without
    /// packets.
    pub fn mean_packet(&self) -> Option<ByteCount> {
        let packets: u64 = self.packets?.iter().sum();
        let payload: u64 = self.payload_bytes.iter().sum();
        payload
            .checked_div(packets)
            .map(|payload| ByteCount::from_bytes(payload + HEADER_BYTES))
    }
}

/// Headers of a packet as Linux sends it over Ethernet and IPv4: 14 of Ethernet, 20 of IP, 20 of TCP and 12
/// of its timestamps.
pub const HEADER_BYTES: u64 = 66;

/// One setting at one distance, all runs together.
#[derive(Debug, Clone, PartialEq)]
pub struct ProgramTuned {
    /// The setting: `FET_BUF_SIZE=4096`, several with a space between.
    pub setting: Arc<str>,
    /// The link in its text form; `None` for the existing distance.
    pub link: Option<Arc<str>>,
    /// Spread of the durations of the runs that succeeded.
    pub spread: Distribution,
    /// The same from the first byte to the last.
    pub connected: Distribution,
    /// Runs that ended with another status than 0: they are in no figure.
    pub failed: u32,
    /// The run nearest to the median duration; `None` if none succeeded.
    pub typical: Option<ProgramRun>,
}

/// Which setting is best at one distance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramBest {
    /// The link; `None` for the existing distance.
    pub link: Option<Arc<str>>,
    /// The smallest setting (of words: the first named) whose median is within 5 % of the best.
    pub setting: Arc<str>,
    /// Its median.
    pub duration: Duration,
    /// The lowest median of all.
    pub best: Duration,
    /// The setting with the highest median.
    pub worst_setting: Arc<str>,
    /// That median: what is at stake.
    pub worst: Duration,
    /// Whether every run with the setting was faster than every run with the worst one. Otherwise the
    /// difference may be chance.
    pub told_apart: bool,
}
