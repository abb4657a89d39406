//! A sender's round-trip estimate and retransmission timeout.

/// Nanoseconds, as in `tcp_rtt_estimator` (RFC 6298, with a minimum variation).
#[derive(Debug, Clone)]
pub struct RttEstimator {
    smoothed: u64,
    /// Four times the mean deviation.
    deviation: u64,
    /// Largest `deviation` in this round, at least the floor.
    greatest: u64,
    /// Timeout beyond the round trip, which falls slowly.
    margin: u64,
    /// Stream offset whose acknowledgement ends the round.
    round_end: u64,
}

impl RttEstimator {
    /// Of a connection that has long known a round trip of `rtt`.
    pub const fn known(rtt: u64) -> Self {
        Self {
            smoothed: rtt,
            deviation: 0,
            greatest: MIN_RTO_MARGIN,
            margin: MIN_RTO_MARGIN,
            round_end: 0,
        }
    }

    /// From the handshake: the timeout is three round trips.
    pub fn first(rtt: u64) -> Self {
        let margin = (2 * rtt).max(MIN_RTO_MARGIN);
        Self {
            smoothed: rtt,
            deviation: 2 * rtt,
            greatest: margin,
            margin,
            round_end: 0,
        }
    }

    pub fn sample(&mut self, rtt: u64, acked: u64, sent: u64) {
        let error = rtt.abs_diff(self.smoothed);
        let below = rtt < self.smoothed;
        self.smoothed = (7 * self.smoothed + rtt) / 8;
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
        if acked > self.round_end {
            self.margin -= (self.margin - self.greatest) / 4;
            self.round_end = sent;
            self.greatest = MIN_RTO_MARGIN;
        }
    }

    /// Time until a packet counts as lost, or an idle window shrinks.
    pub const fn timeout(&self) -> u64 {
        self.smoothed + self.margin
    }

    pub const fn smoothed(&self) -> u64 {
        self.smoothed
    }
}

/// As `TCP_RTO_MIN` in Linux (200 ms).
const MIN_RTO_MARGIN: u64 = 200_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_timeout_is_three_round_trips_at_first_and_falls_to_the_floor() {
        let rtt = 300_000_000;
        let mut round_trip = RttEstimator::first(rtt);
        assert_eq!(round_trip.timeout(), 3 * rtt);
        (1..200).for_each(|round| round_trip.sample(rtt, 2 * round, 2 * round + 1));
        assert!(
            round_trip.timeout() < rtt + MIN_RTO_MARGIN + 1_000_000,
            "{}",
            round_trip.timeout()
        );
    }

    #[test]
    fn round_trips_that_vary_make_it_wait_longer() {
        let mut round_trip = RttEstimator::known(100_000_000);
        for round in 0..100 {
            round_trip.sample(
                if round % 2 == 0 { 50_000_000 } else { 450_000_000 },
                round,
                round,
            );
        }
        assert!(round_trip.timeout() > 450_000_000);
    }
}
