//! Detects senders that start with more than the initial window of a new connection.
//!
//! Slow start needs a round trip per doubling. A large reply in fewer round trips used a window
//! that was already open, from unseen transfers or a system setting. Small replies cannot show it.

use model::Step;
use std::time::Duration;

/// Packets in the first round of this reply, with at most `limit` bytes in flight; `None` if slow
/// start from [`link::tcp::INITIAL_WINDOW`] is as fast.
pub fn first_window(step: &Step, limit: Option<u64>) -> Option<u32> {
    let rtt = step.client_side_rtt.unwrap_or_default() + step.server_side_rtt.unwrap_or_default();
    let span = step.reply_ended?.since(step.reply_started?);
    if rtt < MIN_ROUND_TRIP {
        return None;
    }
    let rounds = (span.as_secs_f64() / rtt.as_secs_f64()).round() as u64 + 1;
    let limit = limit.map_or(MAX_PACKETS, |bytes| (bytes / PACKET_BYTES).min(MAX_PACKETS));
    let needed = (step.reply_bytes as f64 / (1.0 + MARGIN)) as u64;
    if slow_start(INITIAL, rounds, limit) >= needed {
        return None;
    }
    let mut first = INITIAL;
    while first < limit && slow_start(first, rounds, limit) < step.reply_bytes {
        first *= 2;
    }
    u32::try_from(first.min(limit)).ok()
}

/// Bytes sent in `rounds` rounds that start with `first` packets, each with at most `limit`.
fn slow_start(first: u64, rounds: u64, limit: u64) -> u64 {
    let (mut sent, mut window, mut left) = (0_u64, first, rounds);
    while left > 0 && window < limit {
        sent += window;
        window *= 2;
        left -= 1;
    }
    sent.saturating_add(left.saturating_mul(limit))
        .saturating_mul(PACKET_BYTES)
}

const INITIAL: u64 = link::tcp::INITIAL_WINDOW as u64;
/// Payload of a packet on Ethernet.
const PACKET_BYTES: u64 = 1448;
/// Maximum receive buffer, see docs/prediction.md.
const MAX_PACKETS: u64 = 3_900_000 / PACKET_BYTES;
/// Excess over slow start that shows a larger window.
const MARGIN: f64 = 0.05;
/// Below this, hosts delay bytes as much as the distance does.
const MIN_ROUND_TRIP: Duration = Duration::from_millis(2);

#[cfg(test)]
mod tests {
    use super::*;
    use model::Timestamp;

    const RTT: Duration = Duration::from_millis(40);

    fn reply(bytes: u64, rounds: u32) -> Step {
        let at = Timestamp::from_nanos(1_000_000_000);
        let replied = at.after(RTT);
        Step {
            request_started: at,
            request_ended: at,
            reply_started: Some(replied),
            reply_ended: Some(replied.after((rounds - 1) * RTT)),
            request_bytes: 16,
            reply_bytes: bytes,
            turn: true,
            client_inside_request: Duration::ZERO,
            server: Duration::ZERO,
            server_margin: model::Margin::default(),
            server_inside_reply: Duration::ZERO,
            client_side_rtt: Some(Duration::ZERO),
            server_side_rtt: Some(RTT),
            recovery: Duration::ZERO,
        }
    }

    #[test]
    fn slow_start_is_no_larger_window() {
        // 10 + 20 + 40 packets.
        assert_eq!(first_window(&reply(70 * PACKET_BYTES, 3), None), None);
        assert_eq!(first_window(&reply(14_000, 1), None), None);
        // 10 + 20 + 40 + 45 + 45 packets.
        assert_eq!(first_window(&reply(160 * PACKET_BYTES, 5), Some(65_535)), None);
        // Slower than slow start: a slow link or server.
        assert_eq!(first_window(&reply(160 * PACKET_BYTES, 20), None), None);
    }

    #[test]
    fn a_burst_larger_than_ten_packets_shows_a_larger_window() {
        assert_eq!(first_window(&reply(40 * PACKET_BYTES, 1), None), Some(40));
        assert_eq!(first_window(&reply(200 * PACKET_BYTES, 3), None), Some(40));
    }

    #[test]
    fn sixteen_full_windows_without_smaller_ones_before_show_it_too() {
        let full = 16 * 45 * PACKET_BYTES - 30_000;
        assert_eq!(first_window(&reply(full, 16), Some(65_535)), Some(40));
        assert_eq!(first_window(&reply(full, 18), Some(65_535)), None);
    }

    #[test]
    fn short_round_trips_show_nothing() {
        let near = Step {
            server_side_rtt: Some(Duration::from_millis(1)),
            ..reply(400 * PACKET_BYTES, 1)
        };
        assert_eq!(first_window(&near, None), None);
    }
}
