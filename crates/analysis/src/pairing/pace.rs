//! The pace of a client that sends requests without waiting: whether it would have sent the next one now in
//! any case.

use std::time::Duration;

/// How long a client takes from one request to the next while it waits for nothing. The median of what was
/// seen, followed in small steps: one long pause (another program had the processor) does not change it much.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Pace {
    pause: Duration,
    seen: u32,
}

/// How a request was sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sent {
    /// Replies to earlier ones were still owed.
    pub(super) is_behind: bool,
    /// Since the one before it.
    pub(super) pause: Duration,
    /// Since the last reply; `None` if none came after the request before it.
    pub(super) reaction: Option<Duration>,
}

impl Pace {
    /// Whether a request that follows a reply follows the request before it as one does that waits for
    /// nothing: no later, and sooner after the reply than the client takes to write a request. One that
    /// waited has to read the reply, and then to write. Where no reply is owed any more, only what is far
    /// from a wait counts.
    pub(super) fn is_kept(self, sent: Sent) -> bool {
        let Some(reaction) = sent.reaction.filter(|_| self.seen >= MIN_REQUESTS) else {
            return false;
        };
        match sent.is_behind {
            true => reaction < self.pause && sent.pause <= 2 * self.pause,
            false => 2 * reaction < self.pause && 2 * sent.pause <= 3 * self.pause,
        }
    }

    /// Learns from a request that was sent without waiting. Requests in one packet have no pause between
    /// them.
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

/// Requests sent without waiting before their pace is known.
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
