//! How far the two sides of the observation point are, and what follows from it for the server's time.

use super::waits::Waits;
use model::{Margin, Step, Timestamp};
use std::time::Duration;

/// The distance to both sides at one moment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Distance {
    /// Shortest round trip to the client of late; `None` before any was measured.
    pub(super) client_side: Option<Duration>,
    /// The same to the server.
    pub(super) server_side: Option<Duration>,
    /// Shortest and longest round trip to the server to be expected; `None` where nothing shows them, or
    /// there is none.
    pub(super) bounds: Option<[Duration; 2]>,
}

impl Distance {
    /// The first byte of the reply to `step` came: what of the wait was the server's own time.
    ///
    /// 1. The wait less the server-side round trip and less retransmissions.
    /// 2. Behind another reply (pipelining): from the end of that, when it is later. Not of one that was
    ///    still in progress (replies of FastCGI that overlap).
    /// 3. Unknown (zero) before any round trip was measured.
    /// 4. The round trip is the shortest of late, and may have been any within [`Distance::bounds`]: that is
    ///    the margin.
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

    /// The same for an exchange whose request the server acknowledged after `own`, before it replied: both
    /// ways took about as long as they did for its reply. Each way varies by half of what round trips vary
    /// by.
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
