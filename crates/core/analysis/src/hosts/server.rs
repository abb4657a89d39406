//! Busy times and distance of a request server.

use super::closeness::{self, Span, Spans};
use model::{ConnectionId, ConnectionMap, Exchange, RequestId, Timestamp};
use std::time::Duration;

#[derive(Debug, Default)]
pub(super) struct Server {
    pub open: ConnectionMap<OpenRequest>,
    pub since: Timestamp,
    pub busy_since: Timestamp,
    pub busy: Duration,
    /// Periods from idle to idle.
    pub busy_times: u64,
    pub near: Near,
    pub responses: Spans,
}

#[derive(Debug)]
pub(super) struct OpenRequest {
    pub started: Timestamp,
    pub identifier: Option<RequestId>,
}

/// Minimum round trip towards each side of the observation point.
#[derive(Debug, Default)]
pub(super) struct Near {
    here: Option<Duration>,
    there: Option<Duration>,
    samples: u64,
}

impl Near {
    pub fn add(&mut self, here: Option<Duration>, there: Option<Duration>) {
        let (Some(here), Some(there)) = (here, there) else {
            return;
        };
        self.here = Some(self.here.map_or(here, |before| before.min(here)));
        self.there = Some(self.there.map_or(there, |before| before.min(there)));
        self.samples += 1;
    }

    /// Whether it is at the observation point: no distance to it, but to the others.
    pub fn is_here(&self) -> bool {
        match (self.here, self.there) {
            (Some(here), Some(there)) => {
                self.samples >= MIN_SAMPLES && there >= MIN_DISTANCE && here * NO_DISTANCE <= there
            }
            _ => false,
        }
    }
}

impl Server {
    pub fn started(&mut self, connection: ConnectionId, at: Timestamp, identifier: Option<RequestId>) {
        if self.since == Timestamp::default() {
            self.since = at;
        }
        if self.open.is_empty() {
            self.busy_since = at;
        }
        if self.open.len() < MAX_OPEN {
            self.open.insert(
                connection,
                OpenRequest {
                    started: at,
                    identifier,
                },
            );
        }
    }

    pub fn answered(&mut self, connection: ConnectionId, exchange: &Exchange) {
        self.near
            .add(exchange.first.server_side_rtt, exchange.first.client_side_rtt);
        let last = exchange.steps().last();
        if let Some(to) = last.and_then(|step| step.reply_started) {
            let from = exchange.first.request_started;
            self.responses.add(Span { from, to });
        }
        self.gone(connection, exchange.ended());
    }

    pub fn gone(&mut self, connection: ConnectionId, at: Timestamp) {
        if self.open.remove(&connection).is_some() && self.open.is_empty() {
            self.busy += at.since(self.busy_since);
            self.busy_times += 1;
        }
    }

    pub fn share_busy(&self, now: Timestamp) -> f64 {
        let under_way = match self.open.is_empty() {
            true => Duration::ZERO,
            false => now.since(self.busy_since),
        };
        let all = now.since(self.since).as_secs_f64();
        if all > 0.0 {
            (self.busy + under_way).as_secs_f64() / all
        } else {
            1.0
        }
    }

    /// Whether a request was in flight at a moment, possibly long ago: an exchange is reported when
    /// its client continues.
    pub fn was_busy(&self, at: Timestamp) -> bool {
        self.open.values().any(|request| request.started <= at) || self.responses.any_lasted_at(at)
    }

    /// Whether this server's responses follow another's, as a proxy's do, and not the reverse.
    pub fn is_around(&self, inner: &Self) -> bool {
        let follows = |outer: &Self, inner: &Self| {
            closeness::compare(&outer.responses, &inner.responses).is_some_and(|found| found.is_its_own())
        };
        follows(self, inner) && !follows(inner, self)
    }

    /// The same while uncertain: few responses, or scattered times.
    pub fn may_be_around(&self, inner: &Self) -> bool {
        let follows = |outer: &Self, inner: &Self| {
            closeness::compare(&outer.responses, &inner.responses).is_some_and(|found| found.may_be_its_own())
        };
        follows(self, inner) && !follows(inner, self)
    }
}

const MIN_SAMPLES: u64 = 10;
/// Shorter round trips cannot be distinguished from the host's own time.
const MIN_DISTANCE: Duration = Duration::from_micros(200);
/// Minimum ratio of distances for the nearer side to be here.
const NO_DISTANCE: u32 = 5;
const MAX_OPEN: usize = 10_000;
