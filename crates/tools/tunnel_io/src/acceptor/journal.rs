//! Reports of the acceptor: every admitted peer, and a limited number of refused ones per period,
//! with the rest as a count.

use super::{AdmissionEvent, PeerFault, Tell};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Keeps a flood from filling a log.
pub(super) struct Journal {
    tell: Tell,
    /// Start of the current period; `None` until a peer is refused.
    began: Option<Instant>,
    /// Refused and reported in this period.
    told: u64,
    silent: u64,
}

impl Journal {
    pub(super) fn new(tell: Tell) -> Self {
        Self {
            tell,
            began: None,
            told: 0,
            silent: 0,
        }
    }

    pub(super) fn record_event(&mut self, event: AdmissionEvent) {
        (self.tell)(event);
    }

    pub(super) fn refused(&mut self, peer: SocketAddr, fault: PeerFault, now: Instant) {
        self.began.get_or_insert(now);
        if self.told < LINES {
            self.told += 1;
            self.record_event(AdmissionEvent::Refused { peer, fault });
        } else {
            self.silent += 1;
        }
    }

    /// Ends the period when due, and reports the count.
    pub(super) fn catch_up(&mut self, now: Instant) {
        if self.next_wake().is_some_and(|end| end <= now) {
            self.close(now);
        }
    }

    pub(super) fn close(&mut self, now: Instant) {
        let Some(began) = self.began.take() else {
            return;
        };
        self.told = 0;
        let count = std::mem::take(&mut self.silent);
        if count > 0 {
            let within = now.saturating_duration_since(began);
            self.record_event(AdmissionEvent::RefusedMore { count, within });
        }
    }

    pub(super) fn next_wake(&self) -> Option<Instant> {
        self.began.map(|began| began + PERIOD)
    }
}

/// Maximum lines per period, without the count.
const LINES: u64 = 5;
const PERIOD: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn a_flood_is_told_by_its_count() {
        let (sender, told) = mpsc::sync_channel(100);
        let mut journal = Journal::new(Box::new(move |event| sender.send(event).unwrap()));
        let began = Instant::now();
        let peer = SocketAddr::from(([192, 0, 2, 1], 1));
        assert_eq!(journal.next_wake(), None);
        for _ in 0..1000 {
            journal.refused(peer, PeerFault::NotATunnel, began);
        }
        assert_eq!(told.try_iter().count(), LINES as usize);
        journal.catch_up(began + PERIOD / 2);
        assert_eq!(told.try_iter().count(), 0);
        journal.catch_up(began + PERIOD);
        let events: Vec<_> = told.try_iter().collect();
        assert!(
            matches!(events[..], [AdmissionEvent::RefusedMore { count: 995, within }] if within == PERIOD),
            "{events:?}"
        );
        journal.refused(peer, PeerFault::NotATunnel, began + PERIOD);
        assert_eq!(told.try_iter().count(), 1);
    }
}
