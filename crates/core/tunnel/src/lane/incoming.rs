//! Received bytes of a lane before parsing.

use std::ops::Range;

#[derive(Debug)]
pub(super) struct Incoming {
    bytes: Box<[u8]>,
    waiting: Range<usize>,
}

impl Incoming {
    pub fn new() -> Self {
        Self {
            bytes: vec![0; CAPACITY].into_boxed_slice(),
            waiting: 0..0,
        }
    }

    /// At least the missing part of a frame.
    pub fn space(&mut self) -> &mut [u8] {
        if self.waiting.is_empty() {
            self.waiting = 0..0;
        } else if self.bytes.len() - self.waiting.end < MIN_SPACE {
            let left = self.waiting.len();
            self.bytes.copy_within(self.waiting.clone(), 0);
            self.waiting = 0..left;
        }
        self.bytes.get_mut(self.waiting.end..).unwrap_or_default()
    }

    pub fn filled(&mut self, count: usize) {
        self.waiting.end = (self.waiting.end + count).min(self.bytes.len());
    }

    pub fn waiting(&self) -> &[u8] {
        self.at(self.waiting.clone())
    }

    /// Takes `count` parsed bytes; they stay in place until more space is requested.
    pub fn take_range(&mut self, count: usize) -> Range<usize> {
        let start = self.waiting.start;
        self.waiting.start = (start + count).min(self.waiting.end);
        start..self.waiting.start
    }

    pub fn at(&self, range: Range<usize>) -> &[u8] {
        self.bytes.get(range).unwrap_or_default()
    }
}

const CAPACITY: usize = 256 * 1024;
/// More than the longest frame.
const MIN_SPACE: usize = 64 * 1024;
