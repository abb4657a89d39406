use model::Direction;

#[derive(Debug, Clone, PartialEq)]
pub struct Toxic {
    /// Unique within the proxy.
    pub name: String,
    /// To the server (`upstream`) or to the client (`downstream`).
    pub direction: Direction,
    /// Share of affected connections, 0 to 1; drawn per connection, and again on changes of the
    /// toxic.
    pub toxicity: f64,
    pub kind: ToxicKind,
    /// In the order and units of [`ToxicKind::attributes`]; the rest is 0.
    pub values: [u64; 3],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToxicKind {
    Noop,
    /// Bytes and the end arrive later: `latency` ms, uniformly varied by up to `jitter` ms, in
    /// order.
    Latency,
    /// At most `rate` times 1000 bytes per second, and with 0 none.
    Bandwidth,
    /// The end arrives `delay` ms later.
    SlowClose,
    /// Drops all bytes and closes the connection after `timeout` ms; with 0, when the toxic is
    /// removed.
    Timeout,
    /// Drops everything from the first byte or end on, and resets the connection `timeout` ms
    /// later.
    ResetPeer,
    /// Slices of `average_size` +/- `size_variation` bytes, `delay` microseconds apart.
    Slicer,
    /// Closes the connection after `bytes` bytes.
    LimitData,
}

impl ToxicKind {
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

    /// Name in toxiproxy's API.
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

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Names in the order of [`Toxic::values`].
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
