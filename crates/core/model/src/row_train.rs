//! Rows in one packet each, measured by `ping --rows`.

use crate::{BitRate, ByteCount, Distribution};
use std::time::Duration;

/// A train of rows in one packet each (docs/ping.md#rows).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowTrain {
    /// Number of received rows.
    pub rows: u64,
    /// Payload packets counted by the kernel (`tcpi_data_segs_in`), with retransmissions. Equals
    /// `rows` if every row was a packet.
    pub packets: Option<u64>,
    /// Payload of each packet: the row with framing and end mark.
    pub segment: ByteCount,
    /// The row's value within it, filler.
    pub filler: ByteCount,
    /// Payload of the largest reply packet during calibration.
    pub largest_seen: ByteCount,
    /// Maximum payload to the server (`tcpi_snd_mss`), usually the same in both directions. If
    /// above `segment`, the server sends less than fits a packet.
    pub own_segment: Option<ByteCount>,
    /// IP and TCP headers per packet.
    pub headers: ByteCount,
    /// Size corrections until rows and packets agreed.
    pub corrections: u64,
    /// Shortest time of a minimal statement before the rows.
    pub round_trip: Option<Duration>,
    /// The kernel's minimum round-trip time (`tcpi_min_rtt`), afterwards.
    pub kernel_min_rtt: Option<Duration>,
    /// From the request for the rows to the first row.
    pub first_row: Duration,
    /// From the first row to the last.
    pub span: Duration,
    /// Gaps between rows by kernel receive timestamps.
    pub gaps: Distribution,
    /// Gaps of at least half a round trip and twice the median: the server waited for
    /// acknowledgements or rows.
    pub pauses: u64,
    /// Rows joined with the next by the kernel. Only their single gaps are affected.
    pub shared_stamps: u64,
}

impl RowTrain {
    /// Bytes of one packet from IP up.
    pub const fn wire_bytes(&self) -> ByteCount {
        ByteCount::from_bytes(self.segment.as_bytes() + self.headers.as_bytes())
    }

    /// Row rate from the mean gap, pauses included, unless the span is zero.
    pub fn rate(&self) -> Option<BitRate> {
        self.rate_at(self.gaps.mean?)
    }

    /// Row rate from the median gap, nearer to the link's with pauses; `None` also if most rows
    /// share a timestamp.
    pub fn rate_between_pauses(&self) -> Option<BitRate> {
        self.rate_at(self.gaps.p50?)
    }

    /// Whether every row was exactly one packet.
    pub fn is_exact(&self) -> bool {
        self.packets == Some(self.rows)
    }

    fn rate_at(&self, gap: Duration) -> Option<BitRate> {
        let bits = u128::from(self.wire_bytes().as_bytes()) * 8 * 1_000_000_000;
        let rate = bits.checked_div(gap.as_nanos())?;
        BitRate::from_bits_per_second(u64::try_from(rate).ok()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn train(mean: Duration) -> RowTrain {
        RowTrain {
            rows: 50,
            packets: Some(50),
            segment: ByteCount::from_bytes(1448),
            filler: ByteCount::from_bytes(1432),
            largest_seen: ByteCount::from_bytes(1448),
            own_segment: None,
            headers: ByteCount::from_bytes(52),
            corrections: 0,
            round_trip: None,
            kernel_min_rtt: None,
            first_row: Duration::ZERO,
            span: mean * 49,
            gaps: Distribution {
                count: 49,
                mean: Some(mean),
                ..Distribution::default()
            },
            pauses: 0,
            shared_stamps: 0,
        }
    }

    #[test]
    fn a_full_packet_every_twelve_milliseconds_is_a_megabit() {
        let rate = train(Duration::from_millis(12)).rate();
        assert_eq!(rate.map(BitRate::as_bits_per_second), Some(1_000_000));
    }

    #[test]
    fn rows_that_came_at_one_time_have_no_rate() {
        assert_eq!(train(Duration::ZERO).rate(), None);
    }
}
