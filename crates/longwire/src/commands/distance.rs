//! Flags of links, the same for all commands that predict or emulate.

use anyhow::{Result, bail};
use link::LinkDescription;
use model::{LinkRates, parse_duration};
use std::time::Duration;

#[derive(Debug, Clone, Default, clap::Args)]
pub struct DistanceArgs {
    /// Round-trip times of the links, with unit: 10ms,40ms. Default of predict and split:
    /// 10ms,40ms,120ms.
    #[arg(long, value_delimiter = ',', value_parser = parse_duration, value_name = "TIME,...")]
    pub rtt: Vec<Duration>,
    /// Rates of the links, both ways or to the server and back (10mbit/2mbit). Combined with every
    /// round-trip time. Default: unlimited.
    #[arg(long, value_delimiter = ',', value_parser = parse_rates, value_name = "RATE,...")]
    pub rate: Vec<LinkRates>,
    /// A whole link, like "40ms" or "rtt=40ms rate=10mbit queue=64KiB loss=0.1% jitter=2ms". Can be
    /// repeated.
    #[arg(long, alias = "at", value_name = "LINK")]
    pub link: Vec<LinkDescription>,
}

impl DistanceArgs {
    /// Every round-trip time with every rate, then the whole links. Without --rtt, `usual` replaces
    /// it unless only whole links are given.
    pub fn links(&self, usual: &[Duration]) -> Vec<LinkDescription> {
        let rtts = match self.rtt.as_slice() {
            [] if self.rate.is_empty() && !self.link.is_empty() => &[][..],
            [] if !self.rate.is_empty() && usual.is_empty() => &[Duration::ZERO],
            [] => usual,
            rtts => rtts,
        };
        let rates = if self.rate.is_empty() {
            &[LinkRates::default()][..]
        } else {
            self.rate.as_slice()
        };
        let grid = rates.iter().flat_map(|rate| {
            rtts.iter().map(|rtt| LinkDescription {
                rate: *rate,
                ..LinkDescription::with_rtt(*rtt)
            })
        });
        grid.chain(self.link.iter().copied()).collect()
    }
}

/// Parses `10mbit`, or `10mbit/2mbit`: to the server, and back.
pub(super) fn parse_rates(text: &str) -> Result<LinkRates> {
    if text.contains(char::is_whitespace) {
        bail!("'{text}' is no rate: use one like 10mbit, or 10mbit/2mbit");
    }
    let link: LinkDescription = format!("rate={text}").parse()?;
    Ok(link.rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn links(rtt: &[u64], rate: &[&str], link: &[&str], usual: &[u64]) -> Vec<String> {
        let times = |times: &[u64]| times.iter().map(|time| Duration::from_millis(*time)).collect();
        let usual: Vec<Duration> = times(usual);
        let args = DistanceArgs {
            rtt: times(rtt),
            rate: rate.iter().map(|rate| parse_rates(rate).unwrap()).collect(),
            link: link.iter().map(|link| link.parse().unwrap()).collect(),
        };
        let links = args.links(&usual);
        links.iter().map(LinkDescription::to_string).collect()
    }

    #[test]
    fn every_round_trip_has_every_rate() {
        assert_eq!(links(&[1, 40], &[], &[], &[5]), ["rtt=1ms", "rtt=40ms"]);
        assert_eq!(
            links(&[1, 40], &["10mbit", "1mbit/2mbit"], &["7ms"], &[5]),
            [
                "rtt=1ms rate=10mbit",
                "rtt=40ms rate=10mbit",
                "rtt=1ms rate=1mbit/2mbit",
                "rtt=40ms rate=1mbit/2mbit",
                "rtt=7ms"
            ]
        );
    }

    #[test]
    fn without_a_round_trip_it_is_the_usual_ones() {
        assert_eq!(links(&[], &[], &[], &[5]), ["rtt=5ms"]);
        assert_eq!(links(&[], &["1mbit"], &[], &[5]), ["rtt=5ms rate=1mbit"]);
        assert_eq!(links(&[], &["1mbit"], &[], &[]), ["rtt=0ns rate=1mbit"]);
        assert_eq!(links(&[], &[], &["7ms"], &[5]), ["rtt=7ms"]);
        assert!(links(&[], &[], &[], &[]).is_empty());
    }
}
