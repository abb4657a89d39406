//! Rows that came one packet each: what `ping --rows` measures.

use crate::{BitRate, ByteCount, Distribution};
use std::time::Duration;

/// What a train of rows, each a packet of its own, showed about the path from the server to the client.
///
/// How rows become packets: docs/ping.md#rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowTrain {
    /// Rows that came.
    pub rows: u64,
    /// Packets with payload that the kernel counted while they came (`tcpi_data_segs_in`); `None` if it does
    /// not count. Equal to `rows` when every row was a packet; what was sent again is in it too.
    pub packets: Option<u64>,
    /// Payload of each of these packets: the row with its framing and the end mark behind it, as sent in one
    /// piece.
    pub segment: ByteCount,
    /// Of this, the row's value: filler.
    pub filler: ByteCount,
    /// Payload of the largest packet that the server's replies came in while the size was calibrated.
    pub largest_seen: ByteCount,
    /// Payload that a packet to the server may carry (`tcpi_snd_mss`): usually what one from the server may
    /// carry too. Where it is larger than `segment`, the server sends less at a time than fits a packet.
    pub own_segment: Option<ByteCount>,
    /// Headers of IP and TCP that each packet carries.
    pub headers: ByteCount,
    /// How often the size was corrected until rows and packets agreed.
    pub corrections: u64,
    /// Shortest time of a minimal statement on the same connection, before the rows.
    pub round_trip: Option<Duration>,
    /// The kernel's minimum round trip of the connection (`tcpi_min_rtt`), afterwards.
    pub kernel_min_rtt: Option<Duration>,
    /// From sending the request for the rows to the arrival of the first.
    pub first_row: Duration,
    /// From the arrival of the first row to that of the last.
    pub span: Duration,
    /// Between the arrivals of neighbouring rows, by the kernel's receive timestamps. Zero where two rows
    /// share one.
    pub gaps: Distribution,
    /// Gaps of half a round trip or more, and at least twice the median: the server waited for
    /// acknowledgements (TCP's slow start) or had no row ready.
    pub pauses: u64,
    /// Rows whose packet has no timestamp of its own: the kernel had joined it with the next one before it
    /// was read. Their gaps say nothing individually; span and mean gap are not affected.
    pub shared_stamps: u64,
}

impl RowTrain {
    /// Payload and headers of one packet: what a link's rate counts, without the headers of the layer below
    /// IP.
    pub const fn wire_bytes(&self) -> ByteCount {
        ByteCount::from_bytes(self.segment.as_bytes() + self.headers.as_bytes())
    }

    /// Packets' bits divided by the mean gap: the rate at which rows came, pauses included. `None` for a
    /// single row, or when all came at one time.
    pub fn rate(&self) -> Option<BitRate> {
        self.rate_at(self.gaps.mean?)
    }

    /// The same for the median gap: nearer to the link's rate when there were pauses; absent also where most
    /// rows share a timestamp.
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
