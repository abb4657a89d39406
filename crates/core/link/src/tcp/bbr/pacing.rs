//! Spacing of packets by TCP itself (`tcp_pacing_check`, `tcp_update_skb_after_send`).

use crate::tcp::shift;
use model::{Nanos, Timestamp};

#[derive(Debug, Clone, Default)]
pub(super) struct Pacing {
    /// Bytes per second.
    pub(super) rate: u64,
    /// Before this no packet leaves.
    until: Timestamp,
    burst: Option<Burst>,
    packets: u64,
}

/// Packets that leave as one.
#[derive(Debug, Clone)]
struct Burst {
    packets: u32,
    bytes: u64,
    began: Timestamp,
    /// Between the end of the last pause and this burst.
    late: Nanos,
}

impl Pacing {
    pub(super) fn established(rate: u64) -> Self {
        Self {
            rate,
            packets: UNPACED,
            ..Self::default()
        }
    }

    pub(super) fn opened(&mut self) {
        self.packets = 0;
    }

    pub(super) const fn until(&self) -> Timestamp {
        self.until
    }

    pub(super) fn allows(&self, at: Timestamp, in_burst: u32) -> bool {
        self.burst.as_ref().map_or(self.until <= at, |burst| {
            burst.packets < in_burst || self.until <= at
        })
    }

    pub(super) fn sent(&mut self, at: Timestamp, bytes: u32, in_burst: u32) {
        let burst = self.burst.take().filter(|burst| burst.packets < in_burst);
        let mut burst = burst.unwrap_or(Burst {
            packets: 0,
            bytes: 0,
            began: at,
            late: at.nanos_since(self.until),
        });
        self.packets += 1;
        burst.packets += 1;
        burst.bytes += u64::from(bytes);
        if self.packets >= UNPACED {
            let pause = pause(burst.bytes, self.rate);
            self.until = burst.began.plus(pause - burst.late.min(pause / 2));
        } else {
            self.until = burst.began;
        }
        self.burst = Some(burst);
    }

    pub(super) fn sent_all_it_can(&mut self) {
        self.burst = None;
    }

    /// Packets sent as one (`bbr_tso_segs_goal`).
    pub(super) fn packets_at_once(&self, packet_bytes: u32) -> u32 {
        let at_least = if self.rate < ONE_AT_ONCE_BELOW { 1 } else { 2 };
        let bytes = (self.rate >> 10).min(MAX_AT_ONCE);
        ((bytes / u64::from(packet_bytes)) as u32).max(at_least)
    }

    /// The same, where the distance is short (`tcp_tso_autosize`).
    pub(super) fn packets_in_burst(&self, packet_bytes: u32, min_rtt: Nanos) -> u32 {
        let halvings = u32::try_from(min_rtt.get() / 512_000).unwrap_or(u32::MAX);
        let more = MAX_AT_ONCE.checked_shr(halvings).unwrap_or(0);
        let bytes = ((self.rate >> 10) + more).min(MAX_AT_ONCE);
        ((bytes / u64::from(packet_bytes)) as u32).max(self.packets_at_once(packet_bytes))
    }

    pub(super) fn shift(&mut self, by: i64) {
        self.until = shift(self.until, by);
    }
}

/// Until `bytes` have left at `rate` bytes per second.
pub(super) fn pause(bytes: u64, rate: u64) -> Nanos {
    let nanos = u128::from(bytes) * 1_000_000_000 / u128::from(rate.max(1));
    Nanos::new(u64::try_from(nanos).unwrap_or(u64::MAX))
}

/// A connection's first packets leave at once.
const UNPACED: u64 = 10;
/// Bytes per second (`bbr_min_tso_rate`).
const ONE_AT_ONCE_BELOW: u64 = 150_000;
/// `GSO_LEGACY_MAX_SIZE` without headers.
const MAX_AT_ONCE: u64 = 65_215;
