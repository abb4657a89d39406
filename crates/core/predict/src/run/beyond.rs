//! Bytes beyond those that are simulated packet by packet.

use crate::plan::nanos;
use link::LinkDescription;
use model::{Direction, Nanos};
use std::time::Duration;

/// Payload per message simulated packet by packet, well beyond slow start. The rest continues at
/// the pace reached.
pub const SIMULATED_BYTES: u64 = 64 << 20;

/// Maximum bytes in flight with grown windows: Linux's default receive buffer less its reserve.
const FULL_WINDOW: u64 = 3 << 20;

/// Time for the unsimulated part of `bytes`: at the link rate or one full window per round trip,
/// the slower of both. At most a year.
pub fn beyond_simulated(link: &LinkDescription, direction: Direction, bytes: u64) -> Nanos {
    let rest = u128::from(bytes.saturating_sub(SIMULATED_BYTES));
    let payload = u128::from(link.payload_per_packet()).max(1);
    let wire_bits = rest * u128::from(link.mtu) * 8 / payload;
    let at_rate = link.rate[direction].map_or(0, |rate| {
        wire_bits * 1_000_000_000 / u128::from(rate.as_bits_per_second())
    });
    let at_window = rest * link.rtt.as_nanos() / u128::from(FULL_WINDOW);
    nanos(Duration::from_nanos(
        u64::try_from(at_rate.max(at_window)).unwrap_or(u64::MAX),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(link: &str, bytes: u64) -> f64 {
        let link = link.parse().expect("a link");
        beyond_simulated(&link, Direction::ServerToClient, bytes).as_f64() / 1e9
    }

    #[test]
    fn what_is_not_simulated_goes_on_at_the_rate_or_a_window_a_round_trip() {
        assert_eq!(seconds("rtt=10ms rate=1mbit", SIMULATED_BYTES), 0.0);
        // 10 MB at 100 Mbit/s, 1500 of 1448 bytes on the wire.
        let rest = seconds("rtt=1ms rate=100mbit", SIMULATED_BYTES + 10_000_000);
        assert!((rest - 0.8 * 1500.0 / 1448.0).abs() < 1e-6, "{rest}");
        // 30 MiB are ten windows.
        let rest = seconds("rtt=200ms", SIMULATED_BYTES + (30 << 20));
        assert!((rest - 2.0).abs() < 1e-6, "{rest}");
        assert_eq!(seconds("rtt=0ms", u64::MAX), 0.0);
        assert!(seconds("rtt=1h rate=1kbit", u64::MAX) <= 366.0 * 86_400.0);
    }
}
