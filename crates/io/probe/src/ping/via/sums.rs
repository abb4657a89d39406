//! Samples of a link and their summary.

use super::{Established, OpenLink, Source, Spans, ViaError, ViaOptions, microseconds};
use model::{DatabaseLinkOutcome, DistributionBuilder, LinkRows, Sample};
use std::sync::Arc;
use std::time::{Duration, Instant};

#[derive(Default)]
pub(super) struct SampleSums {
    first_call: Option<Duration>,
    calls: DistributionBuilder,
    round_trips: DistributionBuilder,
    /// Calls with fewer round trips. Longer calls are compared with their median, so that one
    /// delayed call does not make a round trip look short.
    fewer: DistributionBuilder,
    least_turns: Option<Duration>,
    rows: Option<(u64, DistributionBuilder)>,
    failed: u64,
}

impl SampleSums {
    /// Warms plans, caches, and the connection where the source opens it.
    pub(super) fn first(&mut self, source: &mut Source<'_, '_>, link: &OpenLink) -> Result<(), ViaError> {
        let cold = source.spans(link)?;
        self.first_call = Some(cold.call);
        self.turns(&cold);
        Ok(())
    }

    /// Calls for many rows, if requested. The first warms up plans and the congestion window.
    pub(super) fn many_rows(
        &mut self,
        source: &mut Source<'_, '_>,
        link: &OpenLink,
        options: &ViaOptions<'_>,
    ) -> Result<(), ViaError> {
        let Some((rows, sql)) = options.rows.zip(link.rows.as_ref()) else {
            return Ok(());
        };
        let mut calls = DistributionBuilder::new();
        for number in 0..=CALLS_FOR_ROWS {
            source.run(sql)?;
            let text = source.value(link.read)?.unwrap_or_default();
            let (span, there) = text.split_once(' ').ok_or(ViaError::NoSpans)?;
            let span = span
                .parse()
                .ok()
                .and_then(microseconds)
                .ok_or(ViaError::NoSpans)?;
            let there = there.parse().map_err(|_| ViaError::NoSpans)?;
            if there < rows {
                return Err(ViaError::FewRows { rows, there });
            }
            if number > 0 {
                calls.add(span);
            }
        }
        self.rows = Some((rows, calls));
        Ok(())
    }

    pub(super) fn measure(
        &mut self,
        source: &mut Source<'_, '_>,
        link: &OpenLink,
        options: &ViaOptions<'_>,
        each: &mut dyn FnMut(&Sample),
    ) -> Result<(), ViaError> {
        let mut due = Instant::now();
        for number in 1..=options.count.unwrap_or(u64::MAX) {
            if number > 1 {
                due = (due + options.interval).max(Instant::now());
                options.stop.wait_until(due);
            }
            if options.stop.is_stopped() {
                break;
            }
            let sample = self.sample(number, source, link, options)?;
            each(&sample);
        }
        Ok(())
    }

    /// A failed statement is a failed sample; a broken connection ends the run.
    fn sample(
        &mut self,
        number: u64,
        source: &mut Source<'_, '_>,
        link: &OpenLink,
        options: &ViaOptions<'_>,
    ) -> Result<Sample, ViaError> {
        let at = options.clock.now();
        let taken = source.spans(link);
        let (spans, turns, failure) = match taken {
            Ok(spans) => {
                let turns = self.turns(&spans);
                let failure = turns.is_none().then(|| LOST_IN_NOISE.to_owned());
                (Some(spans), turns, failure)
            }
            Err(error @ ViaError::Statement { .. }) => {
                if let Some(reopen) = &link.reopen {
                    // The next call reports a failure.
                    source.run(reopen).ok();
                }
                (None, None, Some(error.to_string()))
            }
            Err(error) => return Err(error),
        };
        let sample = Sample {
            number,
            target: Arc::clone(&options.target),
            at,
            intended_at: None,
            duration: turns,
            server: spans.and_then(|spans| spans.far),
            first: false,
            turns: Some(link.turns.into()),
            kernel_rtt: None,
            error: failure.map(Arc::from),
        };
        self.add_sample(spans, &sample);
        Ok(sample)
    }

    /// Time of the sample's round trips without the fixed part of a call; `None` if not positive.
    fn turns(&mut self, spans: &Spans) -> Option<Duration> {
        self.least_turns = Some(
            self.least_turns
                .map_or(spans.turns, |least| least.min(spans.turns)),
        );
        let Some(fewer) = spans.fewer else {
            return Some(spans.turns);
        };
        self.fewer.add(fewer);
        let usual = self.fewer.percentile(50)?;
        spans.turns.checked_sub(usual).filter(|turns| !turns.is_zero())
    }

    /// From minimum calls, not from the minimum difference of two.
    fn least_turn(&mut self, turns: u32) -> Option<Duration> {
        let besides = self.fewer.distribution().min.unwrap_or_default();
        self.least_turns?.checked_sub(besides)?.checked_div(turns)
    }

    fn add_sample(&mut self, spans: Option<Spans>, sample: &Sample) {
        if let Some(spans) = spans {
            self.calls.add(spans.call);
        }
        match sample.round_trip() {
            Some(round_trip) if sample.error.is_none() => self.round_trips.add(round_trip),
            _ => self.failed += 1,
        }
    }

    pub(super) fn outcome(
        mut self,
        link: OpenLink,
        options: &ViaOptions<'_>,
        client_rtt: Option<Duration>,
    ) -> DatabaseLinkOutcome {
        let (calls, round_trips) = (self.calls.distribution(), self.round_trips.distribution());
        // Minimums: the rest is not distance, and the two calls differ in it.
        let turn = self.least_turn(link.turns);
        let least = calls.min.zip(turn.filter(|turn| !turn.is_zero()));
        let ratio = least.map(|(call, turn)| call.as_secs_f64() / turn.as_secs_f64());
        let (turns_per_call, calls_in_round_trips, evidence) = match link.established {
            Established::ByFarServer { statements, how } => (statements, None, how),
            Established::ByDivision { words } => {
                let (turns, how) = divide(ratio, turn, words);
                (turns, ratio, how)
            }
        };
        DatabaseLinkOutcome {
            link: options.link.into(),
            through: link.through.into(),
            connect: link.connect,
            first_call: self.first_call,
            calls,
            round_trips,
            turns_per_call,
            calls_in_round_trips,
            evidence,
            rows: self.rows.map(|(rows, mut calls)| LinkRows {
                rows,
                calls: calls.distribution(),
                turns: None,
            }),
            client_rtt,
            failed: self.failed,
        }
    }
}

/// Returns `None` unless call time is near a whole number of round trips and consists mainly of
/// distance.
fn divide(ratio: Option<f64>, round_trip: Option<Duration>, words: &str) -> (Option<u64>, String) {
    let Some((ratio, round_trip)) = ratio.zip(round_trip) else {
        return (None, "nothing was measured".to_owned());
    };
    let whole = ratio.round();
    if round_trip < MIN_DIVISIBLE {
        let how =
            "not established: the two are so near that the servers' own time is most of a call".to_owned();
        return (None, how);
    }
    if (ratio - whole).abs() > MAX_DEVIATION || whole < 1.0 {
        let how = format!(
            "not established: a call takes {ratio:.2} times as long as a round trip, which is no whole number"
        );
        return (None, how);
    }
    let how = format!("a call takes {ratio:.2} times as long as a round trip: {words}");
    (Some(whole as u64), how)
}

const CALLS_FOR_ROWS: usize = 5;
/// Shorter calls are mostly server time, so the division means little.
const MIN_DIVISIBLE: Duration = Duration::from_millis(2);
/// Maximum deviation from a whole number of round trips.
const MAX_DEVIATION: f64 = 0.3;
const LOST_IN_NOISE: &str = "the call with more round trips was not slower than the one with fewer";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_call_that_was_held_up_does_not_make_a_turn_look_short() {
        let mut sums = SampleSums::default();
        let mut turns = |turns: u64, fewer: u64| {
            sums.turns(&Spans {
                call: Duration::ZERO,
                turns: Duration::from_millis(turns),
                fewer: Some(Duration::from_millis(fewer)),
                far: None,
            })
        };
        assert_eq!(turns(30, 10), Some(Duration::from_millis(20)));
        assert_eq!(turns(30, 10), Some(Duration::from_millis(20)));
        assert_eq!(turns(30, 29), Some(Duration::from_millis(20)));
        assert_eq!(sums.least_turn(4), Some(Duration::from_millis(5)));
    }

    #[test]
    fn turns_are_established_only_where_the_distance_is_most_of_a_call() {
        let millisecond = Duration::from_millis(1);
        assert_eq!(divide(Some(4.07), Some(5 * millisecond), "").0, Some(4));
        assert_eq!(divide(Some(4.5), Some(5 * millisecond), "").0, None);
        // Server time inflates 4 to this value.
        assert_eq!(divide(Some(4.78), Some(millisecond), "").0, None);
        assert_eq!(divide(None, None, "").0, None);
    }
}
