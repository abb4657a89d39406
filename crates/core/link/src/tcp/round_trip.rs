//! A sender's round-trip estimate and retransmission timeout.

use super::Unacknowledged;
use super::stream_offset::StreamOffset;
use model::Nanos;

/// As in `tcp_rtt_estimator` (RFC 6298, with a minimum variation).
#[derive(Debug, Clone)]
pub struct RttEstimator {
    smoothed: Nanos,
    /// Four times the mean deviation.
    deviation: Nanos,
    /// Largest `deviation` in this round, at least the floor.
    greatest: Nanos,
    /// Timeout beyond the round trip, which falls slowly.
    margin: Nanos,
    /// Stream offset whose acknowledgement ends the round.
    round_end: StreamOffset,
}

impl RttEstimator {
    /// Of a connection that has long known a round trip of `rtt`.
    pub const fn known(rtt: Nanos) -> Self {
        Self {
            smoothed: rtt,
            deviation: Nanos::ZERO,
            greatest: MIN_RTO_MARGIN,
            margin: MIN_RTO_MARGIN,
            round_end: StreamOffset::START,
        }
    }

    /// From the handshake: the timeout is three round trips.
    pub fn first(rtt: Nanos) -> Self {
        let margin = (rtt * 2).max(MIN_RTO_MARGIN);
        Self {
            smoothed: rtt,
            deviation: rtt * 2,
            greatest: margin,
            margin,
            round_end: StreamOffset::START,
        }
    }

    pub fn sample(&mut self, rtt: Nanos, unacknowledged: Unacknowledged) {
        let error = rtt.saturating_sub(self.smoothed) + self.smoothed.saturating_sub(rtt);
        let below = rtt < self.smoothed;
        self.smoothed = (self.smoothed * 7 + rtt) / 8;
        let old = self.deviation / 4;
        if error < old {
            self.deviation -= old - error;
        } else if below {
            self.deviation += (error - old) / 8;
        } else {
            self.deviation += error - old;
        }
        self.greatest = self.greatest.max(self.deviation);
        self.margin = self.margin.max(self.greatest);
        if unacknowledged.acked > self.round_end {
            self.margin -= (self.margin - self.greatest) / 4;
            self.round_end = unacknowledged.sent;
            self.greatest = MIN_RTO_MARGIN;
        }
    }

    /// Time until a packet counts as lost, or an idle window shrinks.
    pub fn timeout(&self) -> Nanos {
        self.smoothed + self.margin
    }

    pub const fn smoothed(&self) -> Nanos {
        self.smoothed
    }
}

/// As `TCP_RTO_MIN` in Linux (200 ms).
const MIN_RTO_MARGIN: Nanos = Nanos::from_millis(200);

#[cfg(test)]
mod tests {
    use super::*;

    fn acked(bytes: u64) -> Unacknowledged {
        Unacknowledged {
            acked: StreamOffset::after(bytes),
            sent: StreamOffset::after(bytes + 1),
        }
    }

    #[test]
    fn the_timeout_is_three_round_trips_at_first_and_falls_to_the_floor() {
        let rtt = Nanos::from_millis(300);
        let mut round_trip = RttEstimator::first(rtt);
        assert_eq!(round_trip.timeout(), rtt * 3);
        (1..200).for_each(|round| round_trip.sample(rtt, acked(2 * round)));
        let timeout = round_trip.timeout();
        assert!(
            timeout < rtt + MIN_RTO_MARGIN + Nanos::from_millis(1),
            "{timeout:?}"
        );
    }

    #[test]
    fn round_trips_that_vary_make_it_wait_longer() {
        let mut round_trip = RttEstimator::known(Nanos::from_millis(100));
        for round in 0..100 {
            let rtt = if round % 2 == 0 { 50 } else { 450 };
            round_trip.sample(Nanos::from_millis(rtt), acked(round));
        }
        assert!(round_trip.timeout() > Nanos::from_millis(450));
    }
}
