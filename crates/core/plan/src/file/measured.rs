//! Links from the output of `longwire echo --json` and `longwire ping --json`.
//!
//! The round-trip time is a median: in `echo` of the smallest messages on one stream, in `ping` of
//! all answered samples of one target, without reported server time. Rates come from `echo --bulk`.
//! Unless echo polled on both sides, the round-trip time includes wake-ups of both ends (tens of
//! us).

use link::LinkDescription;
use model::{BitRate, Direction, DistributionBuilder, LinkRates};
use serde::Deserialize;
use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MeasuredLink {
    rtt: Duration,
    /// Client to server, and back; `None` if not measured.
    rate: LinkRates,
}

impl MeasuredLink {
    /// Parses lines of JSON and ignores other record types.
    ///
    /// # Errors
    /// Fails for a malformed line, a missing round-trip time, or several targets.
    pub(super) fn parse(records: &str) -> Result<Self, String> {
        let mut seen = Seen::default();
        let lines = records.lines().enumerate();
        for (index, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
            let record = serde_json::from_str(line).map_err(|_| {
                let line = index + 1;
                format!("line {line} is not a record of longwire echo --json or longwire ping --json")
            })?;
            seen.add(record)
                .map_err(|fault| format!("line {}: {fault}", index + 1))?;
        }
        let rate = seen.rate;
        seen.rtt().map(|rtt| Self { rtt, rate })
    }

    /// The link, client to server first.
    ///
    /// # Errors
    /// Fails if the records do not make a valid link.
    pub(super) fn link(self) -> Result<LinkDescription, String> {
        let link = LinkDescription {
            rate: self.rate,
            ..LinkDescription::with_rtt(self.rtt)
        };
        // Parsing checks the ranges.
        link.to_string()
            .parse()
            .map_err(|fault: link::Error| fault.to_string())
    }
}

/// The part of a record about links, as in docs/output.md.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum MeasurementRecord<'a> {
    Sample {
        #[serde(borrow)]
        target: std::borrow::Cow<'a, str>,
        round_trip_ns: Option<u64>,
        first: bool,
        #[serde(default)]
        error: Option<serde::de::IgnoredAny>,
    },
    Echo {
        request_bytes: u64,
        reply_bytes: u64,
        streams: u32,
        p50_ns: Option<u64>,
    },
    Bulk {
        #[serde(borrow)]
        direction: std::borrow::Cow<'a, str>,
        rate_bits_per_second: Option<u64>,
        idle_p50_ns: Option<u64>,
    },
    #[serde(other)]
    Other,
}

#[derive(Default)]
struct Seen {
    target: Option<String>,
    pings: DistributionBuilder,
    /// Bytes of request and reply, and the median.
    echo: Option<(u64, Duration)>,
    /// Median before a transfer.
    idle: Option<Duration>,
    rate: LinkRates,
}

impl Seen {
    fn add(&mut self, record: MeasurementRecord<'_>) -> Result<(), String> {
        match record {
            MeasurementRecord::Sample {
                target,
                round_trip_ns,
                first,
                error,
            } => {
                let known = self.target.get_or_insert_with(|| target.to_string());
                if *known != target {
                    return Err(
                        "these are pings of several targets: write those of one into a file".to_owned(),
                    );
                }
                if let (Some(nanoseconds), false, None) = (round_trip_ns, first, error) {
                    self.pings.add(Duration::from_nanos(nanoseconds));
                }
            }
            MeasurementRecord::Echo {
                request_bytes,
                reply_bytes,
                streams: 1,
                p50_ns: Some(median),
            } => {
                let bytes = request_bytes.saturating_add(reply_bytes);
                if self.echo.is_none_or(|(known, _)| bytes < known) {
                    self.echo = Some((bytes, Duration::from_nanos(median)));
                }
            }
            MeasurementRecord::Bulk {
                direction,
                rate_bits_per_second,
                idle_p50_ns,
            } => {
                let rate = rate_bits_per_second.and_then(BitRate::from_bits_per_second);
                let direction = match &*direction {
                    "client_to_server" => Direction::ClientToServer,
                    _ => Direction::ServerToClient,
                };
                self.rate[direction] = rate;
                self.idle = self.idle.or(idle_p50_ns.map(Duration::from_nanos));
            }
            MeasurementRecord::Echo { .. } | MeasurementRecord::Other => {}
        }
        Ok(())
    }

    fn rtt(mut self) -> Result<Duration, String> {
        let of_echo = self.echo.map(|(_, median)| median).or(self.idle);
        match (of_echo, self.pings.distribution().p50) {
            (Some(_), Some(_)) => Err(
                "this has round trips of both echo and ping: write each into a file of its own".to_owned(),
            ),
            (Some(median), None) | (None, Some(median)) => Ok(median),
            (None, None) => Err(
                "this has no round-trip time: it needs answered samples of longwire ping --json, or the record of one stream of longwire echo --json"
                    .to_owned(),
            ),
        }
    }
}

#[cfg(test)]
mod tests;
