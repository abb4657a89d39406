//! What a link is like, and its one text form.

use crate::{LinkError, Pipe};
use model::{BitRate, ByteCount, Direction, parse_duration};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// The path between two endpoints.
///
/// Text form, settings in any order, separated by white space or commas:
/// `rtt=40ms rate=10mbit/2mbit queue=64KiB mtu=1500`. What is left out is not limited (`rtt` 0, no rate, no queue
/// limit; `mtu` 1500). [`fmt::Display`] writes a text that parses to the same link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkDescription {
    /// Round trip of a minimal packet on the idle link, without serialisation; half of it each way. At most one hour.
    pub rtt: Duration,
    /// Rate client-to-server (index 0) and server-to-client (index 1), counted in wire bytes; absent when unlimited.
    pub rate: [Option<BitRate>; 2],
    /// Bytes that may wait for serialisation, each way; what exceeds it is dropped. Absent: nothing is ever dropped.
    pub queue: Option<ByteCount>,
    /// Largest IP packet in bytes, 576 to 65535.
    pub mtu: u16,
}

/// Bytes of headers on each TCP packet, as a link counts them: IPv4 (20, RFC 791), TCP (20, RFC 9293) and its
/// timestamps option (12 with padding, RFC 7323), which every Linux connection carries. Ethernet's 14 bytes are not
/// counted: rates are those of the IP layer. IPv6 would be 20 more.
pub const TCP_HEADER_BYTES: u32 = 52;

/// The mtu of a link that does not name one: Ethernet's (RFC 894).
pub const DEFAULT_MTU: u16 = 1500;

impl LinkDescription {
    /// A link of this round trip, without limit of rate or queue, mtu 1500.
    pub const fn with_rtt(rtt: Duration) -> Self {
        Self {
            rtt,
            rate: [None, None],
            queue: None,
            mtu: DEFAULT_MTU,
        }
    }

    /// The time a minimal packet takes in this direction. The two directions sum to `rtt` to the nanosecond.
    pub fn one_way(&self, direction: Direction) -> Duration {
        let half = self.rtt / 2;
        match direction {
            Direction::ClientToServer => half,
            Direction::ServerToClient => self.rtt.saturating_sub(half),
        }
    }

    /// Payload bytes that one full packet carries.
    pub const fn payload_per_packet(&self) -> u32 {
        (self.mtu as u32).saturating_sub(TCP_HEADER_BYTES)
    }

    /// This direction of the link as a queue, empty.
    pub fn pipe(&self, direction: Direction) -> Pipe {
        Pipe::new(self.one_way(direction), self.rate[direction.index()], self.queue)
    }

    fn check(self) -> Result<Self, LinkError> {
        if self.queue.is_some() && self.rate == [None, None] {
            return Err(LinkError::QueueWithoutRate);
        }
        Ok(self)
    }
}

impl FromStr for LinkDescription {
    type Err = LinkError;

    /// Reads the text form.
    ///
    /// # Errors
    /// When a setting is unknown, repeated, not understood, out of range or without effect.
    fn from_str(text: &str) -> Result<Self, LinkError> {
        let mut settings = Settings::default();
        let words = text
            .split(|c: char| c.is_whitespace() || c == ',')
            .filter(|word| !word.is_empty());
        let mut empty = true;
        for word in words {
            empty = false;
            let Some((key, value)) = word.split_once('=') else {
                return Err(LinkError::NotASetting {
                    word: word.to_owned(),
                });
            };
            settings.set(key, value)?;
        }
        if empty {
            return Err(LinkError::Empty);
        }
        Self {
            rtt: settings.rtt.unwrap_or_default(),
            rate: settings.rate.unwrap_or_default(),
            queue: settings.queue,
            mtu: settings.mtu.unwrap_or(DEFAULT_MTU),
        }
        .check()
    }
}

impl fmt::Display for LinkDescription {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "rtt={}",
            exact(self.rtt.as_nanos() as u64, &DURATION_UNITS)
        )?;
        match self.rate {
            [None, None] => {}
            [up, down] if up == down => write!(formatter, " rate={}", rate_text(up))?,
            [up, down] => write!(formatter, " rate={}/{}", rate_text(up), rate_text(down))?,
        }
        if let Some(queue) = self.queue {
            write!(formatter, " queue={}", exact(queue.as_bytes(), &SIZE_UNITS))?;
        }
        if self.mtu != DEFAULT_MTU {
            write!(formatter, " mtu={}", self.mtu)?;
        }
        Ok(())
    }
}

/// The settings given so far.
#[derive(Default)]
struct Settings {
    rtt: Option<Duration>,
    rate: Option<[Option<BitRate>; 2]>,
    queue: Option<ByteCount>,
    mtu: Option<u16>,
}

impl Settings {
    fn set(&mut self, key: &str, value: &str) -> Result<(), LinkError> {
        match key {
            "rtt" => once("rtt", &mut self.rtt, parse_rtt(value)?),
            "rate" => once("rate", &mut self.rate, parse_rates(value)?),
            "queue" => once("queue", &mut self.queue, parse_queue(value)?),
            "mtu" => once("mtu", &mut self.mtu, parse_mtu(value)?),
            "loss" | "jitter" | "seed" | "burst" | "outage" => {
                Err(LinkError::NotRealised { key: key.to_owned() })
            }
            _ => Err(LinkError::UnknownKey { key: key.to_owned() }),
        }
    }
}

fn once<T>(key: &'static str, place: &mut Option<T>, value: T) -> Result<(), LinkError> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(LinkError::Twice { key }),
    }
}

fn parse_rtt(value: &str) -> Result<Duration, LinkError> {
    let rtt = parse_duration(value).map_err(|source| LinkError::Quantity { key: "rtt", source })?;
    if rtt > MAX_RTT {
        return Err(out_of_range("rtt", value, "a round trip is at most 1h"));
    }
    Ok(rtt)
}

fn parse_rates(value: &str) -> Result<[Option<BitRate>; 2], LinkError> {
    match split_rates(value) {
        Some((up, down)) => Ok([parse_rate(up)?, parse_rate(down)?]),
        None => parse_rate(value).map(|both| [both, both]),
    }
}

/// Cuts `10mbit/2mbit` in two, but not the slash of `10Mbit/s`.
fn split_rates(value: &str) -> Option<(&str, &str)> {
    value
        .match_indices('/')
        .map(|(at, _)| (&value[..at], &value[at + 1..]))
        .find(|(_, after)| {
            after.starts_with(|c: char| c.is_ascii_digit() || c == '.') || after.starts_with(UNLIMITED)
        })
}

fn parse_rate(value: &str) -> Result<Option<BitRate>, LinkError> {
    if value == UNLIMITED {
        return Ok(None);
    }
    let rate = BitRate::parse(value).map_err(|source| LinkError::Quantity { key: "rate", source })?;
    if rate.as_bits_per_second() > MAX_RATE {
        return Err(out_of_range(
            "rate",
            value,
            "a rate is at most 1000Gbit/s; leave rate= out for no limit",
        ));
    }
    Ok(Some(rate))
}

fn parse_queue(value: &str) -> Result<ByteCount, LinkError> {
    let queue = ByteCount::parse(value).map_err(|source| LinkError::Quantity { key: "queue", source })?;
    if !(MIN_QUEUE..=MAX_QUEUE).contains(&queue.as_bytes()) {
        return Err(out_of_range(
            "queue",
            value,
            "a queue holds between 1500B and 1024GiB",
        ));
    }
    Ok(queue)
}

fn parse_mtu(value: &str) -> Result<u16, LinkError> {
    match value.parse::<u16>() {
        Ok(mtu) if mtu >= MIN_MTU => Ok(mtu),
        _ => Err(out_of_range(
            "mtu",
            value,
            "an mtu is between 576 and 65535 bytes, without a unit",
        )),
    }
}

fn out_of_range(key: &'static str, value: &str, range: &'static str) -> LinkError {
    LinkError::OutOfRange {
        key,
        value: value.to_owned(),
        range,
    }
}

fn rate_text(rate: Option<BitRate>) -> String {
    rate.map_or_else(
        || UNLIMITED.to_owned(),
        |rate| exact(rate.as_bits_per_second(), &RATE_UNITS),
    )
}

/// The amount in the largest unit that divides it.
fn exact(amount: u64, units: &[(u64, &str)]) -> String {
    units
        .iter()
        .find(|(size, _)| amount != 0 && amount.is_multiple_of(*size))
        .map_or_else(
            || format!("{amount}{}", units.last().map_or("", |unit| unit.1)),
            |(size, unit)| format!("{}{unit}", amount / size),
        )
}

const UNLIMITED: &str = "unlimited";
const MAX_RTT: Duration = Duration::from_secs(3600);
const MAX_RATE: u64 = 1_000_000_000_000;
const MIN_QUEUE: u64 = 1500;
const MAX_QUEUE: u64 = 1 << 40;
/// The least that every host must be able to receive (RFC 791).
const MIN_MTU: u16 = 576;
const DURATION_UNITS: [(u64, &str); 4] = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us"), (1, "ns")];
const RATE_UNITS: [(u64, &str); 4] = [
    (1_000_000_000, "gbit"),
    (1_000_000, "mbit"),
    (1_000, "kbit"),
    (1, "bit"),
];
const SIZE_UNITS: [(u64, &str); 4] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"), (1, "B")];
