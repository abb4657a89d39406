//! Settings of tc(8): qdiscs netem and tbf.

use super::{DEFAULT_MTU, DEFAULT_SEED, LinkDescription};
use crate::Error;
use crate::exact::{RATE_UNITS, exact, exact_duration};
use crate::impairments::delay::JitterDistribution;
use model::{BitRate, ByteCount, Direction, PerDirection, parse_duration};
use std::time::Duration;

/// Commands for the device of each host: of the client (to the server) and of the server.
///
/// # Errors
/// A setting that tc does not have.
pub fn commands(link: &LinkDescription, device: &str) -> Result<PerDirection<Vec<String>>, Error> {
    if link.outage.is_some() {
        return Err(Error::NotInTc { setting: "outage" });
    }
    if link.mtu != DEFAULT_MTU {
        return Err(Error::NotInTc { setting: "mtu" });
    }
    Ok(PerDirection::from_fn(|direction| {
        one_way(link, direction, device)
    }))
}

fn one_way(link: &LinkDescription, direction: Direction, device: &str) -> Vec<String> {
    let mut netem = format!(
        "tc qdisc add dev {device} root handle 1: netem limit {UNLIMITED_PACKETS} delay {}",
        exact_duration(link.one_way(direction))
    );
    if let Some(jitter) = link.jitter {
        netem += &format!(" {}", exact_duration(jitter.size));
        if jitter.distribution == JitterDistribution::Normal {
            netem += " distribution normal";
        }
    }
    if let Some(loss) = link.loss {
        netem += &format!(" loss random {loss}");
    }
    if link.seed != DEFAULT_SEED {
        netem += &format!(" seed {}", link.seed);
    }
    let Some(rate) = link.rate[direction] else {
        return vec![netem];
    };
    let rate = exact(rate.as_bits_per_second(), &RATE_UNITS);
    if link.queue.is_none() && link.burst.is_none() {
        // A link counts IP packets, netem the Ethernet header too.
        return vec![format!("{netem} rate {rate} -14")];
    }
    let burst = link.burst.map_or(ONE_PACKET, ByteCount::as_bytes).max(ONE_PACKET);
    let queue = link.queue.map_or(UNLIMITED_BYTES, ByteCount::as_bytes);
    let tbf = format!(
        "tc qdisc add dev {device} parent 1: handle 2: tbf rate {rate} burst {burst} limit {}",
        queue.saturating_add(burst)
    );
    vec![netem, tbf]
}

/// netem's own limit, 1000 packets, would drop packets in transit.
const UNLIMITED_PACKETS: u32 = 1_000_000;
/// tbf needs a limit.
const UNLIMITED_BYTES: u64 = 1 << 30;
/// tbf sends nothing larger than its burst: an IP packet and its Ethernet header.
const ONE_PACKET: u64 = DEFAULT_MTU as u64 + 14;

/// Whether `text` names a qdisc. Its words are then tc's.
pub fn is_tc(text: &str) -> bool {
    words(text).any(|word| word == "netem" || word == "tbf")
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c.is_whitespace() || c == ';')
        .filter(|word| !word.is_empty())
}

/// Settings of a link with the effect of commands of tc, at both ends of a link.
///
/// # Errors
/// A word is unknown, incomplete, or has no counterpart.
pub fn settings(text: &str) -> Result<Vec<(&'static str, String)>, Error> {
    let mut words = Words(words(text).peekable());
    let mut settings = Settings::default();
    while let Some(word) = words.0.next() {
        match word {
            "netem" => settings.netem(&mut words)?,
            "tbf" => settings.tbf(&mut words)?,
            // Where the qdisc is: `tc qdisc add dev eth0 parent 1: handle 2:`.
            "tc" | "qdisc" | "add" | "change" | "replace" | "root" => {}
            "dev" | "parent" | "handle" => {
                words.value(word)?;
            }
            word => return Err(not_in_link(word)),
        }
    }
    settings.finish()
}

struct Words<'a, I: Iterator<Item = &'a str>>(std::iter::Peekable<I>);

impl<'a, I: Iterator<Item = &'a str>> Words<'a, I> {
    fn value(&mut self, key: &str) -> Result<&'a str, Error> {
        self.0
            .next()
            .ok_or_else(|| Error::NotASetting { word: key.to_owned() })
    }

    /// The next word, unless another command begins.
    fn next_of_qdisc(&mut self) -> Option<&'a str> {
        self.0.next_if(|word| !matches!(*word, "tc" | "netem" | "tbf"))
    }
}

#[derive(Default)]
struct Settings {
    found: Vec<(&'static str, String)>,
    rate: Option<BitRate>,
    burst: ByteCount,
    latency: Option<Duration>,
}

impl Settings {
    fn netem<'a>(&mut self, words: &mut Words<'a, impl Iterator<Item = &'a str>>) -> Result<(), Error> {
        let mut jitter = None;
        let mut distribution = JitterDistribution::Uniform;
        while let Some(word) = words.next_of_qdisc() {
            match word {
                "delay" => {
                    self.found.push(("delay", words.value(word)?.to_owned()));
                    jitter = words.0.next_if(|next| parse_duration(next).is_ok());
                }
                "distribution" => {
                    distribution = match words.value(word)? {
                        "normal" => JitterDistribution::Normal,
                        "uniform" => JitterDistribution::Uniform,
                        other => return Err(not_in_link(other)),
                    };
                }
                "loss" => {
                    words.0.next_if_eq(&"random");
                    self.found.push(("loss", words.value(word)?.to_owned()));
                }
                "rate" => {
                    self.found.push(("rate", words.value(word)?.to_owned()));
                    words.0.next_if(|next| next.parse::<i32>().is_ok());
                }
                "seed" => self.found.push(("seed", words.value(word)?.to_owned())),
                "limit" => at_least(words.value(word)?, UNLIMITED_PACKETS)?,
                word => return Err(not_in_link(word)),
            }
        }
        if let Some(size) = jitter {
            let jitter = format!("{size}:{}", distribution.name());
            self.found.push(("jitter", jitter));
        }
        Ok(())
    }

    fn tbf<'a>(&mut self, words: &mut Words<'a, impl Iterator<Item = &'a str>>) -> Result<(), Error> {
        let mut limit = None;
        while let Some(word) = words.next_of_qdisc() {
            let value = words.value(word)?;
            match word {
                "rate" => {
                    self.rate = BitRate::parse(value).ok();
                    self.found.push(("rate", value.to_owned()));
                }
                "burst" | "buffer" | "maxburst" => self.burst = size("burst", value)?,
                "limit" => limit = Some(size("limit", value)?),
                "latency" | "lat" => {
                    let source = |source| Error::Quantity {
                        key: "latency",
                        source,
                    };
                    self.latency = Some(parse_duration(value).map_err(source)?);
                }
                word => return Err(not_in_link(word)),
            }
        }
        self.found.push(("burst", bytes(self.burst.as_bytes())));
        // tbf's limit holds the burst too.
        if let Some(limit) = limit {
            let queue = limit.as_bytes().saturating_sub(self.burst.as_bytes());
            self.found.push(("queue", bytes(queue)));
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Vec<(&'static str, String)>, Error> {
        if let Some((latency, rate)) = self.latency.zip(self.rate) {
            let queue = latency.as_secs_f64() * rate.as_bits_per_second() as f64 / 8.0;
            self.found.push(("queue", bytes(queue.round() as u64)));
        }
        Ok(self.found)
    }
}

fn bytes(count: u64) -> String {
    format!("{count}B")
}

/// netem counts packets, wherever they are; a link counts the bytes that wait.
fn at_least(limit: &str, packets: u32) -> Result<(), Error> {
    match limit.parse::<u32>() {
        Ok(limit) if limit >= packets => Ok(()),
        _ => Err(not_in_link("limit")),
    }
}

fn not_in_link(word: &str) -> Error {
    Error::NotALink {
        word: word.to_owned(),
    }
}

/// tc's units: `kb` and `k` are 1024 bytes, `kbit` is 1024 bits, a number is bytes.
fn size(key: &'static str, text: &str) -> Result<ByteCount, Error> {
    let lower = text.to_ascii_lowercase();
    let split = lower
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(lower.len());
    let (number, unit) = lower.split_at(split);
    let scale = match unit {
        "" | "b" => Some(1.0),
        "k" | "kb" => Some(1024.0),
        "m" | "mb" => Some(1024.0 * 1024.0),
        "g" | "gb" => Some(1024.0 * 1024.0 * 1024.0),
        "kbit" => Some(1024.0 / 8.0),
        "mbit" => Some(1024.0 * 1024.0 / 8.0),
        "gbit" => Some(1024.0 * 1024.0 * 1024.0 / 8.0),
        _ => None,
    };
    let bytes = scale
        .zip(number.parse::<f64>().ok())
        .map(|(scale, number)| number * scale);
    match bytes {
        Some(bytes) if bytes < MAX_BYTES => Ok(ByteCount::from_bytes(bytes.round() as u64)),
        _ => Err(Error::OutOfRange {
            key,
            value: text.to_owned(),
            range: "a size of tc is bytes, or a number with kb, mb, gb, kbit, mbit or gbit",
        }),
    }
}

const MAX_BYTES: f64 = (1_u64 << 50) as f64;
