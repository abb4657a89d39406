//! The pace of a client that pipelines: whether it would have sent the next request now in any
//! case.

use std::time::Duration;

/// A client's time between unwaited requests: the median, tracked in small steps. One long pause
/// (another program had the processor) hardly changes it.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Pace {
    pause: Duration,
    seen: u32,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Sent {
    /// Earlier replies were still expected.
    pub(super) is_behind: bool,
    /// Since the previous request.
    pub(super) pause: Duration,
    /// Since the last reply; `None` if none came after the previous request.
    pub(super) reaction: Option<Duration>,
}

impl Pace {
    /// Whether a request after a reply keeps the pace of unwaited requests: not later, and sooner
    /// after the reply than the client takes to write a request. A client that waited must read the
    /// reply, then write. If no reply is expected, only cases far from a wait count.
    pub(super) fn is_kept(self, sent: Sent) -> bool {
        let Some(reaction) = sent.reaction.filter(|_| self.seen >= MIN_REQUESTS) else {
            return false;
        };
        match sent.is_behind {
            true => reaction < self.pause && sent.pause <= 2 * self.pause,
            false => 2 * reaction < self.pause && 2 * sent.pause <= 3 * self.pause,
        }
    }

    /// Learns from an unwaited request. Requests in one packet have no pause between them.
    pub(super) fn record_request(&mut self, sent: Sent) {
        if !sent.is_behind || sent.reaction.is_some() || sent.pause.is_zero() {
            return;
        }
        let step = self.pause / 8;
        self.pause = match self.seen {
            0 => sent.pause,
            _ if sent.pause > self.pause => self.pause + step,
            _ => self.pause - step,
        };
        self.seen = self.seen.saturating_add(1);
    }
}

const MIN_REQUESTS: u32 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    const fn sent(is_behind: bool, pause: u64, reaction: Option<u64>) -> Sent {
        let reaction = match reaction {
            Some(micros) => Some(Duration::from_micros(micros)),
            None => None,
        };
        Sent {
            is_behind,
            pause: Duration::from_micros(pause),
            reaction,
        }
    }

    fn pace_of(pauses: &[u64]) -> Pace {
        let mut pace = Pace::default();
        pauses
            .iter()
            .for_each(|pause| pace.record_request(sent(true, *pause, None)));
        pace
    }

    #[test]
    fn a_reply_that_comes_while_a_client_writes_is_not_waited_for() {
        let pace = pace_of(&[6, 5, 9_000, 6, 5, 7]);
        assert!(pace.is_kept(sent(true, 7, Some(3))));
        assert!(pace.is_kept(sent(false, 6, Some(2))));
        assert!(
            !pace.is_kept(sent(true, 40, Some(3))),
            "silent for longer than it takes to write"
        );
        assert!(
            !pace.is_kept(sent(false, 32, Some(15))),
            "a batch that was answered"
        );
        assert!(!pace_of(&[6, 6]).is_kept(sent(true, 6, Some(3))), "not known yet");
    }

    #[test]
    fn a_sequential_client_has_no_pace() {
        let mut pace = Pace::default();
        for _ in 0..100 {
            pace.record_request(sent(false, 30, Some(10)));
        }
        assert!(!pace.is_kept(sent(false, 30, Some(1))));
    }
}
