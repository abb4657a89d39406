//! Detects an intermediary that answers TCP in the target's place.
//!
//! The kernel measures the round trip of the TCP connection, an answer that to the server. If the
//! second is far longer, there is an intermediary or the server is slow. An intermediary is
//! reported only if:
//! - Server time is not in the round trip: the server reports it, or the request needs no work.
//! - The minimum of [`MIN_SAMPLES`] or more round trips is [`FAR`] times that of the connection, and
//!   [`MIN_DISTANCE`] longer.
//! - The median is at most 1.5 times the minimum: distance is constant, the load of a busy server is not.

use super::AnswerTime;
use model::{Intermediary, SampleOutcome};
use std::sync::Arc;
use std::time::Duration;

/// `handshake` is the time of the TCP handshake. `None` if the samples show no intermediary.
pub fn find_intermediary(
    target: &Arc<str>,
    samples: &SampleOutcome,
    handshake: Option<Duration>,
    answer_time: AnswerTime,
) -> Option<Intermediary> {
    let server_reported = match answer_time {
        AnswerTime::Unknown => return None,
        AnswerTime::Reported => true,
        AnswerTime::Negligible => false,
    };
    let round_trips = &samples.round_trip;
    if round_trips.count < MIN_SAMPLES || (server_reported && samples.server.count < round_trips.count) {
        return None;
    }
    let near = [samples.min_kernel_rtt, handshake].into_iter().flatten().min()?;
    let (smallest, median) = (round_trips.min?, round_trips.p50?);
    let is_far = smallest >= near * FAR && smallest.saturating_sub(near) >= MIN_DISTANCE;
    let is_constant = median.saturating_sub(smallest) <= smallest / 2;
    (is_far && is_constant).then(|| Intermediary {
        target: Arc::clone(target),
        near_round_trip: near,
        round_trip: smallest,
        server_reported,
    })
}

const MIN_SAMPLES: u64 = 5;
const FAR: u32 = 10;
/// More than wake-up, parsing and scheduling add on an idle server.
const MIN_DISTANCE: Duration = Duration::from_millis(2);

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Sample, SampleTally, Timestamp};

    /// `times` are samples in microseconds; the kernel's round trip is 45 us, and `server` the
    /// reported server time.
    fn found(
        times: &[u64],
        server: Option<u64>,
        kernel: u64,
        answer_time: AnswerTime,
    ) -> Option<Intermediary> {
        let mut tally = SampleTally::default();
        for &time in times {
            tally.add(&Sample {
                number: 1,
                target: "postgres://db1".into(),
                at: Timestamp::from_nanos(0),
                intended_at: None,
                duration: Some(Duration::from_micros(time)),
                server: server.map(Duration::from_micros),
                first: false,
                turns: Some(1),
                kernel_rtt: Some(Duration::from_micros(kernel)),
                error: None,
            });
        }
        let samples = tally.outcome(Duration::from_secs(1));
        find_intermediary(&"postgres://db1".into(), &samples, None, answer_time)
    }

    const TUNNEL: [u64; 6] = [41_200, 41_100, 41_900, 41_300, 44_000, 41_150];

    #[test]
    fn a_constant_distance_behind_a_near_end_is_an_intermediary() {
        let found = found(&TUNNEL, Some(150), 45, AnswerTime::Reported).expect("it is a tunnel");
        assert_eq!(found.near_round_trip, Duration::from_micros(45));
        assert_eq!(found.round_trip, Duration::from_micros(40_950));
        assert!(found.server_reported);
    }

    #[test]
    fn a_near_handshake_counts_where_the_smoothed_round_trip_holds_delayed_acknowledgements() {
        let mut tally = SampleTally::default();
        for time in TUNNEL {
            tally.add(&Sample {
                number: 1,
                target: "redis://db1".into(),
                at: Timestamp::from_nanos(0),
                intended_at: None,
                duration: Some(Duration::from_micros(time)),
                server: None,
                first: false,
                turns: Some(1),
                kernel_rtt: Some(Duration::from_millis(20)),
                error: None,
            });
        }
        let samples = tally.outcome(Duration::from_secs(1));
        let found =
            |handshake| find_intermediary(&"redis://db1".into(), &samples, handshake, AnswerTime::Negligible);
        assert!(found(Some(Duration::from_micros(90))).is_some());
        assert!(found(None).is_none());
    }

    #[test]
    fn distance_a_slow_statement_and_a_busy_server_are_none() {
        assert_eq!(
            found(&TUNNEL, Some(150), 40_900, AnswerTime::Reported),
            None,
            "distance"
        );
        assert_eq!(
            found(&TUNNEL, None, 45, AnswerTime::Unknown),
            None,
            "any statement"
        );
        assert_eq!(
            found(&TUNNEL, Some(41_000), 45, AnswerTime::Reported),
            None,
            "its own time"
        );
        assert_eq!(
            found(&TUNNEL, None, 45, AnswerTime::Reported),
            None,
            "not reported"
        );
        let busy = [2_100, 9_000, 4_800, 15_000, 7_700, 3_900];
        assert_eq!(found(&busy, Some(150), 45, AnswerTime::Reported), None, "busy");
        let near = [300, 310, 290, 305, 320, 299];
        assert_eq!(found(&near, Some(50), 20, AnswerTime::Reported), None, "near");
        assert_eq!(
            found(&TUNNEL[..4], Some(150), 45, AnswerTime::Reported),
            None,
            "few"
        );
    }
}
