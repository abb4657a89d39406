//! Toxics as they are described: a name, a kind with its attributes, a direction and how many connections
//! they concern.

use model::Direction;

/// One toxic of a proxy.
#[derive(Debug, Clone, PartialEq)]
pub struct Toxic {
    /// What it is called: unique among the toxics of its proxy.
    pub name: String,
    /// The bytes that it concerns: those to the server (`upstream`) or those to the client (`downstream`).
    pub direction: Direction,
    /// Share of the connections that it concerns, 0 to 1. It is drawn for each connection, and again when the
    /// toxic changes.
    pub toxicity: f64,
    /// What it does.
    pub kind: ToxicKind,
    /// The attributes of its kind, in the order of [`ToxicKind::attributes`] and in its units; the rest is 0.
    pub values: [u64; 3],
}

/// What a toxic does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToxicKind {
    /// Nothing.
    Noop,
    /// Bytes and the end arrive later: `latency` ms, uniformly varied by up to `jitter` ms, never out of
    /// order.
    Latency,
    /// At most `rate` times 1000 bytes a second pass; with 0, none.
    Bandwidth,
    /// The end arrives `delay` ms later.
    SlowClose,
    /// No byte passes, and after `timeout` ms the connection is closed; with 0, when the toxic is removed.
    Timeout,
    /// From the first byte or end on nothing passes, and `timeout` ms later the connection is reset.
    ResetPeer,
    /// Bytes pass in slices of `average_size` give or take `size_variation` bytes, `delay` microseconds
    /// apart.
    Slicer,
    /// After `bytes` bytes the connection is closed.
    LimitData,
}

impl ToxicKind {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Noop,
        Self::Latency,
        Self::Bandwidth,
        Self::SlowClose,
        Self::Timeout,
        Self::ResetPeer,
        Self::Slicer,
        Self::LimitData,
    ];

    /// What toxiproxy's API calls it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Noop => "noop",
            Self::Latency => "latency",
            Self::Bandwidth => "bandwidth",
            Self::SlowClose => "slow_close",
            Self::Timeout => "timeout",
            Self::ResetPeer => "reset_peer",
            Self::Slicer => "slicer",
            Self::LimitData => "limit_data",
        }
    }

    /// The kind of this name; `None` if there is none.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// What its attributes are called, in the order of [`Toxic::values`].
    pub const fn attributes(self) -> &'static [&'static str] {
        match self {
            Self::Noop => &[],
            Self::Latency => &["latency", "jitter"],
            Self::Bandwidth => &["rate"],
            Self::SlowClose => &["delay"],
            Self::Timeout | Self::ResetPeer => &["timeout"],
            Self::Slicer => &["average_size", "size_variation", "delay"],
            Self::LimitData => &["bytes"],
        }
    }
}
