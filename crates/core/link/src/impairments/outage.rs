//! Times in which a link drops all packets.

use super::drop_cause::DropCause;
use model::{Timestamp, parse_duration};
use std::fmt;
use std::time::Duration;

/// Times of outage, from the link's first packet.
///
/// Text form `2s@10s` (for 2 s, from 10 s on), or `2s@10s/60s` (again every 60 s).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outage {
    /// Duration of an outage.
    pub lasts: Duration,
    /// From the first packet to the first outage.
    pub after: Duration,
    /// From one outage's start to the next; `None` for a single one.
    pub every: Option<Duration>,
}

impl Outage {
    /// Parses the text form; `None` if invalid, of zero length, or overlapping.
    pub fn parse(text: &str) -> Option<Self> {
        let (lasts, begin) = text.split_once('@')?;
        let (after, every) = match begin.split_once('/') {
            Some((after, every)) => (after, Some(parse_duration(every).ok()?)),
            None => (begin, None),
        };
        let (lasts, after) = (parse_duration(lasts).ok()?, parse_duration(after).ok()?);
        let possible = !lasts.is_zero() && every.is_none_or(|every| every > lasts);
        possible.then_some(Self { lasts, after, every })
    }

    fn covers(&self, since_first: Duration) -> bool {
        let Some(into) = since_first.checked_sub(self.after) else {
            return false;
        };
        let into = match self.every {
            Some(every) => into.as_nanos() % every.as_nanos().max(1),
            None => into.as_nanos(),
        };
        into < self.lasts.as_nanos()
    }
}

impl fmt::Display for Outage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        use crate::exact::exact_duration;
        write!(
            formatter,
            "{}@{}",
            exact_duration(self.lasts),
            exact_duration(self.after)
        )?;
        match self.every {
            Some(every) => write!(formatter, "/{}", exact_duration(every)),
            None => Ok(()),
        }
    }
}

/// Drops packets that arrive during an outage.
#[derive(Debug, Clone)]
pub struct Outages {
    outage: Outage,
    first_packet: Option<Timestamp>,
}

impl Outages {
    /// Starts before the first packet.
    pub const fn new(outage: Outage) -> Self {
        Self {
            outage,
            first_packet: None,
        }
    }

    #[inline]
    pub(super) fn pass(&mut self, at: Timestamp) -> Result<Timestamp, DropCause> {
        let first = *self.first_packet.get_or_insert(at);
        if self.outage.covers(at.since(first)) {
            Err(DropCause::Outage)
        } else {
            Ok(at)
        }
    }
}
