//! Keep-alive probes and replies, which no application delays.

use super::Flow;
use crate::half::{Half, Output, Probe};
use crate::round_trip::Pair;
use crate::tcp::{FIN, Head, RST, SYN};
use model::Direction;

/// A keep-alive probe (RFC 9293 section 3.8.4) has at most one byte, just before the next offset,
/// when all data is acknowledged.
fn is_probe(half: &Half, head: &Head) -> bool {
    head.length <= 1
        && !head.has(SYN | FIN | RST)
        && half.started
        && half.acked >= half.next
        && half.stream_offset(head.sequence) + 1 == half.next
}

impl Flow {
    /// Processes a packet that may be a keep-alive probe or its reply. A host replies at once.
    ///
    /// The reply is a packet without payload that acknowledges all data. With timestamps it repeats
    /// the probe's (RFC 7323 section 4); a packet that crossed the probe does not. Any other packet
    /// from there ends the wait.
    #[inline]
    pub fn keep_alive(&mut self, direction: Direction, head: &Head, out: &mut Output<'_>) {
        if head.length > 1 {
            self.halves[direction.reverse()].probe = None;
            return;
        }
        if is_probe(&self.halves[direction], head) {
            let stamp = head.timestamps.map(|(own, _)| own);
            self.halves[direction].probe = Some(Probe { at: head.at, stamp });
            return;
        }
        let probed = &mut self.halves[direction.reverse()];
        let Some(probe) = probed.probe.take() else { return };
        let repeats = match (probe.stamp, head.timestamps) {
            (Some(stamp), Some((_, echoed))) => stamp == echoed,
            _ => true,
        };
        let all = probed.stream_offset(head.acknowledgement) == probed.next;
        if !(repeats && all && head.length == 0) || head.has(SYN | FIN | RST) || head.at < probe.at {
            return;
        }
        let pair = Pair {
            span: head.at.since(probe.at),
            pure: true,
            covered: 0,
            exact: true,
        };
        let full_size = probed.full_size();
        let side = direction.sender();
        if self.is_sample(&pair, side, full_size) {
            self.sample(side, head.at, pair.span, out);
        }
    }
}
