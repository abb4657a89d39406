//! Compares requested with realised values of an emulated link.

use link::LinkDescription;
use link::network::DirectionCounts;
use model::{
    BitRate, Direction, DistributionBuilder, LinkDirectionOutcome, LinkOutcome, Nanos, PerDirection,
    Timestamp,
};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

#[derive(Debug)]
pub(crate) struct Check {
    link: LinkDescription,
    name: String,
    floor: Option<Duration>,
    measured: Mutex<Measured>,
}

#[derive(Debug, Default)]
struct Measured {
    errors: DistributionBuilder,
    counts: PerDirection<DirectionCounts>,
    rates: PerDirection<Realised>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Realised {
    /// Wire bytes arrived and the time, at the start of the current run and at its latest point.
    run: Option<(u64, Timestamp, u64, Timestamp)>,
    bytes: u64,
    time: Nanos,
}

impl Check {
    pub(crate) fn new(link: LinkDescription, name: String, floor: Option<Duration>) -> Self {
        Self {
            link,
            name,
            floor,
            measured: Mutex::default(),
        }
    }

    pub(super) fn late(&self, late: Duration) {
        self.lock().errors.add(late);
    }

    pub(super) fn passed(
        &self,
        counts: PerDirection<DirectionCounts>,
        due: Timestamp,
        now: Timestamp,
        one_way: PerDirection<Duration>,
    ) {
        let mut measured = self.lock();
        measured.counts = counts;
        for direction in Direction::ALL {
            measured.rates[direction].point(&counts[direction], due.before(one_way[direction]), now);
        }
    }

    pub(crate) fn outcome(&self) -> LinkOutcome {
        let mut measured = self.lock();
        let errors = measured.errors.distribution();
        let nanoseconds = |span: Duration| i64::try_from(span.as_nanos()).unwrap_or(i64::MAX);
        LinkOutcome {
            name: self.name.clone(),
            asked: self.link.to_string(),
            rtt: self.link.rtt,
            rtt_error_p50_ns: errors.p50.map(nanoseconds),
            rtt_error_p99_ns: errors.p99.map(nanoseconds),
            directions: PerDirection::from_fn(|direction| {
                outcome_of(
                    &measured.counts[direction],
                    self.link.rate[direction],
                    measured.rates[direction],
                )
            }),
            floor: self.floor,
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Measured> {
        self.measured.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn outcome_of(counts: &DirectionCounts, rate: Option<BitRate>, realised: Realised) -> LinkDirectionOutcome {
    LinkDirectionOutcome {
        packets: counts.packets,
        wire_bytes: counts.wire_bytes,
        dropped_by_queue: counts.dropped_by_queue,
        dropped_by_loss: counts.dropped_by_loss,
        dropped_by_outage: counts.dropped_by_outage,
        dropped_unasked: 0,
        rate,
        realised_rate: rate.and_then(|_| realised.rate()),
    }
}

impl Realised {
    /// `sent_at` is when the last arrived bytes left the queue, `now` when they were forwarded. A
    /// run lasts as long as the queue is not empty.
    fn point(&mut self, counts: &DirectionCounts, sent_at: Timestamp, now: Timestamp) {
        let busy = sent_at > counts.busy_since;
        match &mut self.run {
            Some((.., bytes, until)) if busy => {
                if *bytes != counts.arrived_bytes {
                    (*bytes, *until) = (counts.arrived_bytes, now);
                }
            }
            _ => {
                self.close();
                self.run = busy.then_some((counts.arrived_bytes, now, counts.arrived_bytes, now));
            }
        }
    }

    fn close(&mut self) {
        if let Some((bytes_before, from, bytes, until)) = self.run.take()
            && until.nanos_since(from) >= MIN_RUN
        {
            self.bytes += bytes - bytes_before;
            self.time += until.nanos_since(from);
        }
    }

    fn rate(mut self) -> Option<BitRate> {
        self.close();
        let bits = u128::from(self.bytes) * 8 * 1_000_000_000;
        let rate = bits.checked_div(u128::from(self.time.get()))?;
        u64::try_from(rate).ok().and_then(BitRate::from_bits_per_second)
    }
}

/// A shorter run has no rate.
const MIN_RUN: Nanos = Nanos::from_millis(50);

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(milliseconds: u64) -> Timestamp {
        Timestamp::from_nanos(milliseconds * 1_000_000)
    }

    #[test]
    fn the_rate_is_that_of_runs_in_which_the_queue_was_never_empty() {
        let mut realised = Realised::default();
        let mut counts = DirectionCounts {
            busy_since: Timestamp::from_nanos(1),
            ..DirectionCounts::default()
        };
        // 1250 bytes a millisecond: 10 Mbit/s.
        for millisecond in 1..=200_u64 {
            counts.arrived_bytes += 1250;
            realised.point(&counts, at(millisecond), at(millisecond));
        }
        // A second of silence, then another run.
        counts.busy_since = at(1200);
        for millisecond in 1200..1400_u64 {
            counts.arrived_bytes += 1250;
            realised.point(&counts, at(millisecond), at(millisecond));
        }
        assert_eq!(realised.rate().map(BitRate::as_bits_per_second), Some(10_000_000));
    }

    #[test]
    fn short_runs_tell_no_rate() {
        let mut realised = Realised::default();
        for millisecond in 1..20_u64 {
            let counts = DirectionCounts {
                arrived_bytes: millisecond * 1000,
                busy_since: Timestamp::from_nanos(1),
                ..DirectionCounts::default()
            };
            realised.point(&counts, at(millisecond), at(millisecond));
        }
        assert_eq!(realised.rate(), None);
    }
}
