//! Maps inner messages to encrypted bytes.

use model::Timestamp;
use std::collections::VecDeque;

#[derive(Debug, Default)]
pub(super) struct Meter {
    records: VecDeque<Sealed>,
}

#[derive(Debug, Clone, Copy)]
struct Sealed {
    plain: u64,
    bytes: u64,
    started: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Share {
    pub(super) bytes: u64,
    /// Start of the first record with a byte of the message; `None` without a record.
    pub(super) started: Option<Timestamp>,
}

impl Meter {
    /// Adds a record of `bytes` with `plain` bytes of text. A record without text belongs to no
    /// message.
    pub(super) fn push(&mut self, plain: u64, bytes: u64, started: Timestamp) {
        if plain == 0 {
            return;
        }
        if self.records.len() >= MAX_RECORDS {
            self.join();
        }
        self.records.push_back(Sealed {
            plain,
            bytes,
            started,
        });
    }

    /// Takes a message of `plain` bytes: its bytes, and the encryption overhead of each record that
    /// ends in it.
    pub(super) fn take_share(&mut self, mut plain: u64) -> Share {
        let mut share = Share {
            bytes: 0,
            started: self.records.front().map(|record| record.started),
        };
        while plain > 0
            && let Some(record) = self.records.front_mut()
        {
            let part = plain.min(record.plain);
            plain -= part;
            record.plain -= part;
            let bytes = if record.plain == 0 {
                record.bytes
            } else {
                part.min(record.bytes)
            };
            record.bytes -= bytes;
            share.bytes += bytes;
            if record.plain == 0 {
                self.records.pop_front();
            }
        }
        share
    }

    /// Bytes of the stream that belong to no message yet.
    pub(super) fn pending(&self) -> u64 {
        self.records.iter().map(|record| record.bytes).sum()
    }

    /// Joins neighbours, since a long message spans many records that are never needed separately.
    fn join(&mut self) {
        let mut joined = VecDeque::with_capacity(MAX_RECORDS);
        while let Some(first) = self.records.pop_front() {
            let second = self.records.pop_front();
            joined.push_back(Sealed {
                plain: first.plain + second.map_or(0, |second| second.plain),
                bytes: first.bytes + second.map_or(0, |second| second.bytes),
                ..first
            });
        }
        self.records = joined;
    }
}

const MAX_RECORDS: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_takes_what_encryption_adds_to_the_records_that_end_in_it() {
        let mut meter = Meter::default();
        let at = Timestamp::from_nanos;
        meter.push(10, 32, at(1));
        meter.push(5, 27, at(2));
        meter.push(1, 0, at(3));
        let share = |bytes, started| Share {
            bytes,
            started: Some(at(started)),
        };
        assert_eq!(meter.take_share(4), share(4, 1));
        assert_eq!(meter.take_share(8), share(28 + 2, 1));
        assert_eq!(meter.pending(), 25);
        assert_eq!(meter.take_share(4), share(25, 2));
        assert_eq!(
            meter.take_share(1),
            Share {
                bytes: 0,
                started: None
            }
        );
    }

    #[test]
    fn the_sum_stays_however_many_records_wait() {
        let mut meter = Meter::default();
        for _ in 0..10 * MAX_RECORDS as u64 {
            meter.push(100, 122, Timestamp::default());
        }
        assert!(meter.records.len() <= MAX_RECORDS);
        assert_eq!(meter.take_share(u64::MAX).bytes, 10 * MAX_RECORDS as u64 * 122);
    }
}
