//! Distance of both sides from the observation point, and the server time that follows.

use super::waits::Waits;
use model::{Margin, Step, Timestamp};
use std::time::Duration;

#[derive(Debug, Clone, Copy)]
pub(super) struct Distance {
    /// Recent minimum, `None` before any measurement.
    pub(super) client_side: Option<Duration>,
    /// Recent minimum, `None` before any measurement.
    pub(super) server_side: Option<Duration>,
    /// Expected minimum and maximum to the server, `None` if unknown.
    pub(super) bounds: Option<[Duration; 2]>,
}

impl Distance {
    /// Computes the server time of a reply at its first byte.
    ///
    /// 1. The wait minus the server-side round trip and retransmissions.
    /// 2. After another reply (pipelining): from that reply's end, if later. Replies of FastCGI
    ///    that overlap do not count.
    /// 3. Unknown (zero) before any round trip was measured.
    /// 4. The round trip is a recent minimum, but may be any within [`Distance::bounds`]: that is the margin.
    pub(super) fn begin_reply(
        &self,
        step: &mut Step,
        started: Timestamp,
        previous_reply_ended: Timestamp,
        waits: &Waits,
    ) {
        step.reply_started = Some(started);
        step.server_side_rtt = self.server_side;
        step.client_side_rtt = self.client_side;
        let Some(rtt) = self.server_side else { return };
        let base = match previous_reply_ended <= started {
            true => previous_reply_ended,
            false => step.request_ended,
        };
        let recovery = waits.recovery_between(step.request_ended, started);
        let server = |rtt: Duration| {
            let arrived = step.request_ended.after(rtt).max(base);
            started.since(arrived).saturating_sub(recovery)
        };
        let [nearest, farthest] = self.bounds.unwrap_or([rtt; 2]);
        let (shortest, longest) = (server(farthest), server(nearest));
        let server = server(rtt).clamp(shortest, longest.max(shortest));
        step.server = server;
        step.server_margin = Margin::between(server, [shortest, longest]);
    }

    /// Narrows the bounds for a request acknowledged after `own`, before the reply: its travel took
    /// about as long, and each way varies by half of the round trip's variation.
    #[must_use]
    pub(super) fn seen_by(self, own: Option<Duration>) -> Self {
        let Some((own, [nearest, farthest])) = own.zip(self.bounds) else {
            return self;
        };
        let one_way = farthest.saturating_sub(nearest) / 2;
        let bounds = [
            own.saturating_sub(one_way).clamp(nearest, farthest),
            own.saturating_add(one_way).clamp(nearest, farthest),
        ];
        Self {
            bounds: Some(bounds),
            ..self
        }
    }
}
