//! Settings of a link's text form.

use super::tc;
use super::{DEFAULT_MTU, DEFAULT_SEED, LinkDescription};
use crate::Error;
use crate::impairments::delay::Jitter;
use crate::impairments::loss::LossShare;
use crate::impairments::outage::Outage;
use model::{BitRate, ByteCount, LinkRates, PerDirection, parse_duration};
use std::time::Duration;

#[derive(Default)]
pub struct LinkSettings {
    rtt: Option<Duration>,
    rate: Option<LinkRates>,
    burst: Option<ByteCount>,
    queue: Option<ByteCount>,
    loss: Option<LossShare>,
    jitter: Option<Jitter>,
    outage: Option<Outage>,
    seed: Option<u64>,
    mtu: Option<u16>,
}

type Set = fn(&mut LinkSettings, &str) -> Result<(), Error>;

const KEYS: [(&str, Set); 10] = [
    ("rtt", |settings, value| {
        once("rtt", &mut settings.rtt, parse_rtt(value)?)
    }),
    ("rate", |settings, value| {
        once("rate", &mut settings.rate, parse_rates(value)?)
    }),
    ("burst", |settings, value| {
        once("burst", &mut settings.burst, parse_burst(value)?)
    }),
    ("queue", |settings, value| {
        once("queue", &mut settings.queue, parse_queue(value)?)
    }),
    ("loss", |settings, value| {
        once("loss", &mut settings.loss, parse_loss(value)?)
    }),
    ("jitter", |settings, value| {
        once("jitter", &mut settings.jitter, parse_jitter(value)?)
    }),
    ("outage", |settings, value| {
        once("outage", &mut settings.outage, parse_outage(value)?)
    }),
    ("seed", |settings, value| {
        once("seed", &mut settings.seed, parse_seed(value)?)
    }),
    ("mtu", |settings, value| {
        once("mtu", &mut settings.mtu, parse_mtu(value)?)
    }),
    ("delay", |settings, value| {
        once("rtt", &mut settings.rtt, parse_delay(value)?)
    }),
];

impl LinkSettings {
    /// Parses `40ms` (a round-trip time), `key=value` words, tc's `key value`, with jitter as a
    /// second value of `delay`, or whole commands of tc.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let mut settings = Self::default();
        if tc::is_tc(text) {
            for (key, value) in tc::settings(text)? {
                settings.set(key, &value)?;
            }
            return Ok(settings);
        }
        let mut words = text
            .split(|c: char| c.is_whitespace() || c == ',')
            .filter(|word| !word.is_empty())
            .peekable();
        if words.peek().is_none() {
            return Err(Error::Empty);
        }
        if parse_duration(text.trim()).is_ok() {
            settings.set("rtt", text.trim())?;
            return Ok(settings);
        }
        while let Some(word) = words.next() {
            if let Some((key, value)) = word.split_once('=') {
                settings.set(key, value)?;
                continue;
            }
            let not_a_setting = || Error::NotASetting {
                word: word.to_owned(),
            };
            if !KEYS.iter().any(|(key, _)| *key == word) {
                return Err(not_a_setting());
            }
            settings.set(word, words.next().ok_or_else(not_a_setting)?)?;
            if word == "delay"
                && let Some(jitter) = words.next_if(|next| parse_duration(next).is_ok())
            {
                settings.set("jitter", jitter)?;
            }
        }
        Ok(settings)
    }

    pub fn link(self) -> LinkDescription {
        LinkDescription {
            rtt: self.rtt.unwrap_or_default(),
            rate: self.rate.unwrap_or_default(),
            burst: self.burst,
            queue: self.queue,
            loss: self.loss,
            jitter: self.jitter,
            outage: self.outage,
            seed: self.seed.unwrap_or(DEFAULT_SEED),
            mtu: self.mtu.unwrap_or(DEFAULT_MTU),
        }
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), Error> {
        match KEYS.iter().find(|(known, _)| *known == key) {
            Some((_, set)) => set(self, value),
            None => Err(Error::UnknownKey { key: key.to_owned() }),
        }
    }
}

fn once<T>(key: &'static str, place: &mut Option<T>, value: T) -> Result<(), Error> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(Error::Twice { key }),
    }
}

fn parse_rtt(value: &str) -> Result<Duration, Error> {
    let rtt = parse_duration(value).map_err(|source| Error::Quantity { key: "rtt", source })?;
    if rtt > MAX_RTT {
        return Err(out_of_range("rtt", value, "a round-trip time is at most 1h"));
    }
    Ok(rtt)
}

/// tc's one-way delay is half a round trip.
fn parse_delay(value: &str) -> Result<Duration, Error> {
    let delay = parse_duration(value).map_err(|source| Error::Quantity { key: "delay", source })?;
    if delay > MAX_RTT / 2 {
        return Err(out_of_range("delay", value, "one way takes at most 30min"));
    }
    Ok(delay * 2)
}

fn parse_rates(value: &str) -> Result<LinkRates, Error> {
    match split_rates(value) {
        Some((up, down)) => Ok(PerDirection::new(parse_rate(up)?, parse_rate(down)?)),
        None => parse_rate(value).map(PerDirection::splat),
    }
}

/// Splits `10mbit/2mbit`, but not `10Mbit/s`.
fn split_rates(value: &str) -> Option<(&str, &str)> {
    value
        .match_indices('/')
        .map(|(at, _)| (&value[..at], &value[at + 1..]))
        .find(|(_, after)| {
            after.starts_with(|c: char| c.is_ascii_digit() || c == '.') || after.starts_with(UNLIMITED)
        })
}

fn parse_rate(value: &str) -> Result<Option<BitRate>, Error> {
    if value == UNLIMITED {
        return Ok(None);
    }
    let rate = BitRate::parse(value).map_err(|source| Error::Quantity { key: "rate", source })?;
    if rate.as_bits_per_second() > MAX_RATE {
        return Err(out_of_range(
            "rate",
            value,
            "a rate is at most 1000Gbit/s; leave rate= out for no limit",
        ));
    }
    Ok(Some(rate))
}

fn parse_burst(value: &str) -> Result<ByteCount, Error> {
    let burst = ByteCount::parse(value).map_err(|source| Error::Quantity { key: "burst", source })?;
    if !(1..=MAX_QUEUE).contains(&burst.as_bytes()) {
        return Err(out_of_range("burst", value, "a burst is between 1B and 1024GiB"));
    }
    Ok(burst)
}

fn parse_queue(value: &str) -> Result<ByteCount, Error> {
    let queue = ByteCount::parse(value).map_err(|source| Error::Quantity { key: "queue", source })?;
    if !(MIN_QUEUE..=MAX_QUEUE).contains(&queue.as_bytes()) {
        return Err(out_of_range(
            "queue",
            value,
            "a queue holds between 1500B and 1024GiB",
        ));
    }
    Ok(queue)
}

fn parse_loss(value: &str) -> Result<LossShare, Error> {
    LossShare::parse(value)
        .ok_or_else(|| out_of_range("loss", value, "a loss is above 0% and below 100%, such as 0.1%"))
}

fn parse_jitter(value: &str) -> Result<Jitter, Error> {
    Jitter::parse(value).ok_or_else(|| {
        out_of_range(
            "jitter",
            value,
            "write a duration, uniform unless said otherwise, such as 2ms or 2ms:normal",
        )
    })
}

fn parse_outage(value: &str) -> Result<Outage, Error> {
    Outage::parse(value).ok_or_else(|| {
        out_of_range(
            "outage",
            value,
            "write how long, from when, and how often, such as 2s@10s or 2s@10s/60s",
        )
    })
}

fn parse_seed(value: &str) -> Result<u64, Error> {
    value
        .parse()
        .map_err(|_| out_of_range("seed", value, "a seed is a whole number from 0 on"))
}

fn parse_mtu(value: &str) -> Result<u16, Error> {
    match value.parse::<u16>() {
        Ok(mtu) if mtu >= MIN_MTU => Ok(mtu),
        _ => Err(out_of_range(
            "mtu",
            value,
            "an mtu is between 576 and 65535 bytes, without a unit",
        )),
    }
}

fn out_of_range(key: &'static str, value: &str, range: &'static str) -> Error {
    Error::OutOfRange {
        key,
        value: value.to_owned(),
        range,
    }
}

pub const UNLIMITED: &str = "unlimited";
const MAX_RTT: Duration = Duration::from_secs(3600);
const MAX_RATE: u64 = 1_000_000_000_000;
const MIN_QUEUE: u64 = 1500;
const MAX_QUEUE: u64 = 1 << 40;
/// The minimum that every host must be able to receive (RFC 791).
const MIN_MTU: u16 = 576;
