//! Properties of a link, and their text form.

mod settings;
mod tc;

use crate::exact::{RATE_UNITS, SIZE_UNITS, exact, exact_duration};
use crate::impairments::delay::{Jitter, JitterDistribution};
use crate::impairments::loss::LossShare;
use crate::impairments::outage::Outage;
use crate::{Error, Pipe};
use model::{BitRate, ByteCount, Direction, LinkRates, PerDirection};
use settings::{LinkSettings, UNLIMITED};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// The path between two endpoints.
///
/// Text form, settings in any order, separated by white space or commas: `rtt=40ms
/// rate=10mbit/2mbit queue=64KiB loss=0.1% jitter=2ms seed=7`. Omitted settings have no effect
/// (`mtu` 1500). Also accepts tc's `delay 20ms 2ms loss 0.1%`, with `delay` for each direction, and
/// whole commands of tc with netem and tbf.
/// [`fmt::Display`] writes the text form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkDescription {
    /// Round-trip time of a minimal packet without serialisation, at most one hour.
    pub rtt: Duration,
    /// Rates in wire bytes, if limited.
    pub rate: LinkRates,
    /// Bytes per direction that an idle link passes at once before the rate applies.
    pub burst: Option<ByteCount>,
    /// Maximum bytes per direction waiting for serialisation, if limited; more are dropped.
    pub queue: Option<ByteCount>,
    /// Share of packets lost at random in each direction.
    pub loss: Option<LossShare>,
    /// Variation of the travel time in each direction.
    pub jitter: Option<Jitter>,
    /// Times in which all packets are dropped.
    pub outage: Option<Outage>,
    /// Seed of the random losses and jitter.
    pub seed: u64,
    /// Largest IP packet in bytes, 576 to 65535.
    pub mtu: u16,
}

/// Headers per TCP packet: IPv4 (20, RFC 791), TCP (20, RFC 9293) and Linux's timestamps (12 with
/// padding, RFC 7323). Ethernet's 14 bytes do not count; IPv6 would add 20.
pub const TCP_HEADER_BYTES: u32 = 52;

/// Seed of a link without one, so runs are repeatable by default.
pub const DEFAULT_SEED: u64 = 1;

/// Mtu of a link without one, as on Ethernet (RFC 894).
pub const DEFAULT_MTU: u16 = 1500;

impl LinkDescription {
    /// An unlimited link with this round-trip time and mtu 1500.
    pub const fn with_rtt(rtt: Duration) -> Self {
        Self {
            rtt,
            rate: PerDirection::splat(None),
            burst: None,
            queue: None,
            loss: None,
            jitter: None,
            outage: None,
            seed: DEFAULT_SEED,
            mtu: DEFAULT_MTU,
        }
    }

    /// Travel time of a minimal packet. Both directions sum to `rtt` exactly.
    pub fn one_way(&self, direction: Direction) -> Duration {
        let half = self.rtt / 2;
        match direction {
            Direction::ClientToServer => half,
            Direction::ServerToClient => self.rtt.saturating_sub(half),
        }
    }

    /// Whether packets never wait for others.
    pub fn only_delays(&self) -> bool {
        let others = (self.loss, self.jitter, self.outage);
        self.rate == LinkRates::default() && others == (None, None, None)
    }

    /// Payload bytes of a full packet.
    pub const fn payload_per_packet(&self) -> u32 {
        (self.mtu as u32).saturating_sub(TCP_HEADER_BYTES)
    }

    /// Commands of tc(8) for this link, for the device of the client's host and of the server's.
    ///
    /// netem draws by a generator of its own: with the same seed the same shares, other packets. A
    /// given seed needs iproute2 6.6.
    ///
    /// # Errors
    /// Outages, and an mtu other than 1500.
    pub fn tc_commands(&self, device: &str) -> Result<PerDirection<Vec<String>>, Error> {
        tc::commands(self, device)
    }

    /// An empty queue for one direction.
    pub fn pipe(&self, direction: Direction) -> Pipe {
        Pipe::new(self, direction)
    }

    /// Separate seeds make the directions independent.
    pub(crate) const fn seed_of(&self, direction: Direction) -> u64 {
        self.seed ^ ((direction.index() as u64) << 63)
    }

    fn check(self) -> Result<Self, Error> {
        let unlimited = self.rate == LinkRates::default();
        if let Some(key) = self.queue.map(|_| "queue").or(self.burst.map(|_| "burst"))
            && unlimited
        {
            return Err(Error::WithoutRate { key });
        }
        let most = self.rtt / 2;
        let uniform = |jitter: &Jitter| jitter.distribution == JitterDistribution::Uniform;
        if self
            .jitter
            .is_some_and(|jitter| uniform(&jitter) && jitter.size > most)
        {
            return Err(Error::JitterAboveDelay {
                most: exact_duration(most),
            });
        }
        Ok(self)
    }
}

impl FromStr for LinkDescription {
    type Err = Error;

    /// # Errors
    /// A setting is unknown, repeated, invalid, out of range or without effect.
    fn from_str(text: &str) -> Result<Self, Error> {
        LinkSettings::parse(text)?.link().check()
    }
}

impl fmt::Display for LinkDescription {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "rtt={}", exact_duration(self.rtt))?;
        match self.rate.into_array() {
            [None, None] => {}
            [up, down] if up == down => write!(formatter, " rate={}", rate_text(up))?,
            [up, down] => write!(formatter, " rate={}/{}", rate_text(up), rate_text(down))?,
        }
        if let Some(burst) = self.burst {
            write!(formatter, " burst={}", exact(burst.as_bytes(), &SIZE_UNITS))?;
        }
        if let Some(queue) = self.queue {
            write!(formatter, " queue={}", exact(queue.as_bytes(), &SIZE_UNITS))?;
        }
        if let Some(loss) = self.loss {
            write!(formatter, " loss={loss}")?;
        }
        if let Some(jitter) = self.jitter {
            write!(formatter, " jitter={jitter}")?;
        }
        if let Some(outage) = self.outage {
            write!(formatter, " outage={outage}")?;
        }
        if self.seed != DEFAULT_SEED {
            write!(formatter, " seed={}", self.seed)?;
        }
        if self.mtu != DEFAULT_MTU {
            write!(formatter, " mtu={}", self.mtu)?;
        }
        Ok(())
    }
}

fn rate_text(rate: Option<BitRate>) -> String {
    rate.map_or_else(
        || UNLIMITED.to_owned(),
        |rate| exact(rate.as_bits_per_second(), &RATE_UNITS),
    )
}
