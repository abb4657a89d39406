//! A sender's estimate of the round trip, and how long it waits for an acknowledgement.

/// Smoothed round trip and its variation, as `tcp_rtt_estimator` keeps them (RFC 6298, with a floor under the
/// variation). Nanoseconds.
#[derive(Debug, Clone)]
pub struct RttEstimator {
    smoothed: u64,
    /// Four times the mean deviation.
    deviation: u64,
    /// Largest `deviation` in this round, at least the floor.
    greatest: u64,
    /// What is added to the round trip for the timeout; falls slowly.
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

    /// After the handshake, the first sample: the timeout is three round trips.
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

    /// A packet took `rtt`; `acked` and `sent` are the stream offsets now.
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

    /// How long the sender waits before it gives a packet up, and is idle before it starts slowly again.
    pub const fn timeout(&self) -> u64 {
        self.smoothed + self.margin
    }

    /// The smoothed round trip.
    pub const fn smoothed(&self) -> u64 {
        self.smoothed
    }
}

/// `TCP_RTO_MIN`, 200 ms.
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
