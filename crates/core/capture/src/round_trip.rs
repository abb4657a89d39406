//! Selects pairs of payload and acknowledgement that show the round trip, not the receiver's delay.

use std::time::Duration;

pub(crate) struct Pair {
    pub span: Duration,
    pub pure: bool,
    pub covered: u64,
    /// Whether it acknowledges exactly the payload's end.
    pub exact: bool,
}

/// Whether a pair is a sample of the round trip, given the minimum and the payload of a full
/// packet.
///
/// Each span is the round trip plus the receiver's delay, so none is too short but some may be far
/// too long. Pairs with retransmitted bytes are excluded before (Karn's rule, RFC 6298 section 3).
/// A pair is a sample if
///
/// 1. the acknowledgement is pure and covers, to the byte, at least two full packets: a receiver acknowledges
///    those at once (RFC 9293 section 3.8.6.3); or
/// 2. it is pure and near the minimum: at most half as long again and 50 us, which a host takes to wake
///    up, and at most 20 ms longer, half of the shortest delayed-acknowledgement timer in use (Linux 40 ms,
///    Windows 40 or 200 ms, BSD 100 ms). Acknowledgements that waited for the application to read lie beyond;
///    or
/// 3. it is pure, there is no minimum, and it is below that timer; or
/// 4. it is below the minimum: a reply with payload waited for the application, so it can lower the
///    minimum but not establish it.
pub(crate) fn is_sample(pair: &Pair, least: Option<Duration>, full_size: u32) -> bool {
    let Some(least) = least else {
        return pair.pure && (pair.span < DELAYED || covers_two(pair, full_size));
    };
    let near = pair.span <= least + (least / 2 + WAKE_UP).min(DELAYED / 2);
    pair.span < least || (pair.pure && (near || covers_two(pair, full_size)))
}

fn covers_two(pair: &Pair, full_size: u32) -> bool {
    pair.exact && pair.covered >= 2 * u64::from(full_size)
}

const WAKE_UP: Duration = Duration::from_micros(50);
/// The shortest delayed-acknowledgement timer in use: Linux's TCP_DELACK_MIN.
const DELAYED: Duration = Duration::from_millis(40);

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(span_us: u64, pure: bool, covered: u64) -> Pair {
        Pair {
            span: Duration::from_micros(span_us),
            pure,
            covered,
            exact: true,
        }
    }

    #[test]
    fn delayed_acknowledgements_are_no_samples() {
        let least = Some(Duration::from_micros(100));
        assert!(is_sample(&pair(120, true, 50), least, 1448));
        assert!(!is_sample(&pair(900, true, 50), least, 1448));
        assert!(!is_sample(&pair(40_100, true, 50), least, 1448));
        assert!(!is_sample(&pair(40_100, true, 50), None, 1448));
        assert!(!is_sample(
            &pair(81_000, true, 50),
            Some(Duration::from_millis(40)),
            1448
        ));
    }

    #[test]
    fn answers_with_payload_only_tighten() {
        assert!(!is_sample(
            &pair(120, false, 50),
            Some(Duration::from_micros(100)),
            1448
        ));
        assert!(is_sample(
            &pair(90, false, 50),
            Some(Duration::from_micros(100)),
            1448
        ));
        assert!(!is_sample(&pair(90, false, 50), None, 1448));
    }

    #[test]
    fn two_full_packets_are_acknowledged_at_once_however_far_it_is() {
        assert!(is_sample(
            &pair(120_000, true, 2896),
            Some(Duration::from_millis(1)),
            1448
        ));
        assert!(!is_sample(
            &pair(120_000, true, 1500),
            Some(Duration::from_millis(1)),
            1448
        ));
    }
}
