//! Bytes and messages that one end of a connection sends and expects.

use super::wake::Tag;
use std::collections::VecDeque;

#[derive(Debug, Default)]
pub(super) struct Outbox {
    chunks: VecDeque<Chunk>,
}

#[derive(Debug)]
struct Chunk {
    not_before: u64,
    bytes: u64,
}

impl Outbox {
    /// Spreads `bytes` evenly over `span` nanoseconds from `now`, in at most 16 pieces of at least
    /// a packet. Returns the due times of further pieces.
    pub(super) fn put(&mut self, bytes: u64, now: u64, span: u64) -> impl Iterator<Item = u64> + use<> {
        let pieces = match span {
            0 => 1,
            _ => bytes.div_ceil(PACKET_BYTES).clamp(1, MAX_PIECES),
        };
        let due = move |piece: u64| match pieces {
            1 => now.saturating_add(span),
            _ => now.saturating_add(share(span, piece, pieces - 1)),
        };
        for piece in 0..pieces {
            self.chunks.push_back(Chunk {
                not_before: due(piece),
                bytes: share(bytes, piece + 1, pieces) - share(bytes, piece, pieces),
            });
        }
        (0..pieces).map(due).filter(move |due| *due > now)
    }

    pub(super) fn ready(&self, now: u64) -> u64 {
        self.chunks
            .front()
            .filter(|chunk| chunk.not_before <= now)
            .map_or(0, |chunk| chunk.bytes)
    }

    pub(super) fn sent(&mut self, bytes: u64) {
        if let Some(chunk) = self.chunks.front_mut() {
            chunk.bytes = chunk.bytes.saturating_sub(bytes);
            if chunk.bytes == 0 {
                self.chunks.pop_front();
            }
        }
    }
}

fn share(amount: u64, part: u64, whole: u64) -> u64 {
    (u128::from(amount) * u128::from(part) / u128::from(whole.max(1))) as u64
}

#[derive(Debug, Default)]
pub(super) struct Inbox {
    announced: u64,
    received: u64,
    expected: VecDeque<(u64, Tag)>,
}

impl Inbox {
    pub(super) fn announce(&mut self, bytes: u64, tag: Tag) {
        self.announced += bytes;
        self.expected.push_back((self.announced, tag));
    }

    /// Returns false if more arrived than were sent.
    pub(super) fn receive(&mut self, bytes: u64) -> bool {
        self.received += bytes;
        self.received <= self.announced
    }

    pub(super) fn next_whole(&mut self) -> Option<Tag> {
        let (end, tag) = *self.expected.front()?;
        (end <= self.received).then(|| {
            self.expected.pop_front();
            tag
        })
    }

    pub(super) fn is_settled(&self) -> bool {
        self.received == self.announced
    }
}

/// Same value as in the predictor.
const MAX_PIECES: u64 = 16;
const PACKET_BYTES: u64 = 1448;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_spread_over_the_time_and_sum_to_the_bytes() {
        let mut outbox = Outbox::default();
        let due: Vec<u64> = outbox.put(100_000, 1_000, 1_500).collect();
        assert_eq!(due.len(), 15, "the first piece is due at once");
        assert_eq!((due[0], due[14]), (1_100, 2_500));
        let mut sum = 0;
        while outbox.ready(2_500) > 0 {
            sum += outbox.ready(2_500);
            outbox.sent(outbox.ready(2_500));
        }
        assert_eq!(sum, 100_000);
    }

    #[test]
    fn nothing_is_sent_before_its_time_nor_past_an_earlier_message() {
        let mut outbox = Outbox::default();
        assert_eq!(outbox.put(10, 100, 50).collect::<Vec<_>>(), [150]);
        assert_eq!(outbox.put(20, 100, 0).count(), 0);
        assert_eq!(outbox.ready(149), 0);
        assert_eq!(outbox.ready(150), 10);
        outbox.sent(4);
        assert_eq!(outbox.ready(150), 6);
        outbox.sent(6);
        assert_eq!(outbox.ready(150), 20);
    }

    #[test]
    fn messages_are_whole_in_their_order_and_too_much_is_noticed() {
        let tag = |node| Tag {
            client: 0,
            run: 0,
            node,
        };
        let mut inbox = Inbox::default();
        inbox.announce(10, tag(4));
        inbox.announce(5, tag(2));
        assert!(inbox.receive(9));
        assert_eq!(inbox.next_whole(), None);
        assert!(inbox.receive(6));
        assert_eq!(inbox.next_whole(), Some(tag(4)));
        assert_eq!(inbox.next_whole(), Some(tag(2)));
        assert!(inbox.is_settled());
        assert!(!inbox.receive(1));
    }
}
