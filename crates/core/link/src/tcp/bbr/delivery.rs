//! Delivery rate samples (`tcp_rate.c`).

use crate::tcp::{StreamOffset, shift};
use model::{Nanos, Timestamp};
use std::collections::BTreeMap;

#[derive(Debug, Clone)]
pub(super) struct Delivery {
    /// Packets, with the handshake's.
    pub(super) delivered: u64,
    pub(super) at: Timestamp,
    /// Since when the packets were sent that the next sample counts.
    sent_since: Timestamp,
    /// Until so many packets are delivered, the application had no more to send.
    app_limited_until: Option<u64>,
    sent: BTreeMap<StreamOffset, Sent>,
    newest: Option<Newest>,
}

#[derive(Debug, Clone, Copy)]
struct Sent {
    at: Timestamp,
    since: Timestamp,
    delivered: u64,
    delivered_at: Timestamp,
    is_app_limited: bool,
}

/// The packet sent last of those newly delivered.
#[derive(Debug, Clone, Copy)]
struct Newest {
    sent: Sent,
    end: StreamOffset,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Sample {
    pub(super) delivered: u64,
    pub(super) interval: Nanos,
    pub(super) is_app_limited: bool,
    /// Packets delivered when the newest was sent.
    pub(super) delivered_before: u64,
}

impl Default for Delivery {
    fn default() -> Self {
        Self {
            delivered: 1,
            at: Timestamp::default(),
            sent_since: Timestamp::default(),
            app_limited_until: Some(1),
            sent: BTreeMap::new(),
            newest: None,
        }
    }
}

impl Delivery {
    pub(super) const fn is_app_limited(&self) -> bool {
        self.app_limited_until.is_some()
    }

    pub(super) fn all_are_app_limited(&self) -> bool {
        self.sent.values().all(|sent| sent.is_app_limited)
    }

    /// The application had left the window unused (`tcp_rate_check_app_limited`).
    pub(super) fn app_limited(&mut self, in_flight: u32) {
        self.app_limited_until = Some(self.delivered + u64::from(in_flight));
    }

    pub(super) fn sent(&mut self, at: Timestamp, end: StreamOffset) {
        if self.sent.is_empty() {
            (self.sent_since, self.at) = (at, at);
        }
        let sent = Sent {
            at,
            since: self.sent_since,
            delivered: self.delivered,
            delivered_at: self.at,
            is_app_limited: self.is_app_limited(),
        };
        self.sent.insert(end, sent);
    }

    pub(super) fn delivered(&mut self, end: StreamOffset) {
        let Some(sent) = self.sent.remove(&end) else {
            return;
        };
        self.delivered += 1;
        let newest = self.newest.map(|newest| (newest.sent.at, newest.end));
        if newest.is_none_or(|newest| newest < (sent.at, end)) {
            self.newest = Some(Newest { sent, end });
            self.sent_since = sent.at;
        }
    }

    /// The sample of an acknowledgement at `at`. It is none within less than `least`, as then
    /// acknowledgements came late (`tcp_rate_gen`).
    pub(super) fn sample(&mut self, at: Timestamp, least: Nanos) -> Option<Sample> {
        if self.app_limited_until.is_some_and(|until| self.delivered > until) {
            self.app_limited_until = None;
        }
        let sent = self.newest.take()?.sent;
        self.at = at;
        let interval = sent
            .at
            .nanos_since(sent.since)
            .max(at.nanos_since(sent.delivered_at));
        (interval >= least).then_some(Sample {
            delivered: self.delivered - sent.delivered,
            interval,
            is_app_limited: sent.is_app_limited,
            delivered_before: sent.delivered,
        })
    }

    pub(super) fn shift(&mut self, by: i64) {
        let own = [&mut self.at, &mut self.sent_since];
        let sent = self
            .sent
            .values_mut()
            .flat_map(|sent| [&mut sent.at, &mut sent.since, &mut sent.delivered_at]);
        own.into_iter()
            .chain(sent)
            .for_each(|time| *time = shift(*time, by));
    }
}
