//! Cuts one direction of a connection into chunks like a tunnel's end, and assigns bytes to
//! exchanges.

use model::Timestamp;
use std::collections::VecDeque;
use std::ops::Range;

/// Positions in the payload of one direction, in bytes from its beginning.
pub type Span = Range<u64>;

#[derive(Debug, Default)]
pub struct DirectionPayload {
    end: u64,
    pending: Vec<u8>,
    marks: VecDeque<(Timestamp, u64)>,
    /// End of the bytes assigned to exchanges.
    taken: u64,
    login: u64,
    /// Compressed chunks in order, from the first that an exchange may still need.
    done: VecDeque<CompressedChunk>,
}

/// Cost of a chunk at each level; empty if its bytes were not kept.
#[derive(Debug)]
pub struct CompressedChunk {
    pub span: Span,
    pub costs: Vec<Cost>,
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Cost {
    pub tunnel_bytes: f64,
    /// Compression time in nanoseconds.
    pub compressing: f64,
    /// Decompression time in nanoseconds.
    pub turning_back: f64,
}

impl Cost {
    pub fn add(&mut self, other: &Self, share: f64) {
        self.tunnel_bytes += other.tunnel_bytes * share;
        self.compressing += other.compressing * share;
        self.turning_back += other.turning_back * share;
    }
}

#[derive(Debug)]
pub struct Chunk {
    pub span: Span,
    pub payload: Vec<u8>,
}

impl DirectionPayload {
    pub fn payload(&mut self, at: Timestamp, mut payload: &[u8], most: usize, full: &mut dyn FnMut(Chunk)) {
        while !payload.is_empty() {
            let room = most.saturating_sub(self.pending.len()).max(1);
            let (now, later) = payload.split_at(room.min(payload.len()));
            self.pending.extend_from_slice(now);
            self.end += now.len() as u64;
            payload = later;
            if self.pending.len() >= most {
                full(self.chunk());
            }
        }
        self.mark(at);
    }

    /// Skips missing or unwanted bytes. The chunk before them must be closed.
    pub fn skip(&mut self, at: Timestamp, bytes: u64) {
        self.end += bytes;
        self.mark(at);
    }

    /// The bytes since the last chunk; `None` if there are none.
    pub fn close(&mut self) -> Option<Chunk> {
        (!self.pending.is_empty()).then(|| self.chunk())
    }

    /// Whether bytes wait for the end of their chunk.
    pub fn waits(&self) -> bool {
        !self.pending.is_empty()
    }

    fn chunk(&mut self) -> Chunk {
        let payload = std::mem::take(&mut self.pending);
        Chunk {
            span: self.end - payload.len() as u64..self.end,
            payload,
        }
    }

    fn mark(&mut self, at: Timestamp) {
        match self.marks.back_mut() {
            Some((last, end)) if *last == at => *end = self.end,
            _ => self.marks.push_back((at, self.end)),
        }
    }

    /// Assigns the next `bytes` to an exchange with its first byte at `from`. Skips unassigned
    /// bytes before it (a notice, bytes that a decoder does not count).
    pub fn take_span(&mut self, from: Option<Timestamp>, bytes: u64) -> Span {
        if let Some(from) = from {
            while let Some(&(at, end)) = self.marks.front()
                && at < from
            {
                self.taken = self.taken.max(end);
                self.marks.pop_front();
            }
        }
        let start = self.taken;
        self.taken = (start + bytes).min(self.end);
        while self.marks.front().is_some_and(|(_, end)| *end <= self.taken) {
            self.marks.pop_front();
        }
        start..self.taken
    }

    pub fn was_login(&mut self, span: &Span) {
        self.login = self.login.max(span.end);
    }

    /// Whether a chunk that begins at `start` is part of connecting or logging in.
    pub const fn is_login(&self, start: u64) -> bool {
        start < self.login
    }

    pub fn done(&mut self, done: CompressedChunk) {
        self.done.push_back(done);
    }

    /// The cost of `span` at the requested level with index `level`. `None` if some bytes were not
    /// kept. Counts a partial chunk in proportion.
    pub fn cost(&self, span: &Span, level: usize) -> Option<Cost> {
        let mut sum = Cost::default();
        let mut covered = 0;
        let first = self.done.partition_point(|done| done.span.end <= span.start);
        for done in self
            .done
            .iter()
            .skip(first)
            .take_while(|done| done.span.start < span.end)
        {
            let inside = done.span.end.min(span.end) - done.span.start.max(span.start);
            let whole = done.span.end - done.span.start;
            sum.add(done.costs.get(level)?, inside as f64 / whole as f64);
            covered += inside;
        }
        (covered == span.end - span.start).then_some(sum)
    }

    pub fn forget_before(&mut self, place: u64) {
        while self.done.front().is_some_and(|done| done.span.end <= place) {
            self.done.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanos: u64) -> Timestamp {
        Timestamp::from_nanos(nanos)
    }

    fn cost(bytes: f64) -> Vec<Cost> {
        vec![Cost {
            tunnel_bytes: bytes,
            compressing: bytes,
            turning_back: 0.0,
        }]
    }

    #[test]
    fn chunks_are_full_or_end_where_they_are_closed() {
        let (mut way, mut chunks) = (DirectionPayload::default(), Vec::new());
        way.payload(at(1), b"abcde", 3, &mut |chunk| chunks.push(chunk));
        chunks.extend(way.close());
        assert!(way.close().is_none());
        way.payload(at(2), b"fghijk", 3, &mut |chunk| chunks.push(chunk));
        let spans: Vec<_> = chunks.iter().map(|chunk| chunk.span.clone()).collect();
        assert_eq!(spans, [0..3, 3..5, 5..8, 8..11]);
        assert_eq!(chunks[3].payload, b"ijk");
    }

    #[test]
    fn exchanges_share_a_chunk_by_their_bytes_and_leave_out_what_is_nobodys() {
        let mut way = DirectionPayload::default();
        way.payload(at(1), &[0; 10], 100, &mut |_| ());
        way.payload(at(5), &[0; 30], 100, &mut |_| ());
        let chunk = way.close().expect("bytes have passed");
        way.done(CompressedChunk {
            span: chunk.span,
            costs: cost(20.0),
        });
        // The first ten bytes are a notice, which no exchange counts.
        let (first, second) = (way.take_span(Some(at(5)), 10), way.take_span(Some(at(5)), 20));
        assert_eq!((first.clone(), second.clone()), (10..20, 20..40));
        assert_eq!(way.cost(&first, 0).map(|cost| cost.tunnel_bytes), Some(5.0));
        assert_eq!(way.cost(&second, 0).map(|cost| cost.tunnel_bytes), Some(10.0));
        assert_eq!(way.cost(&(30..50), 0), None, "not all of them were kept");
        way.forget_before(40);
        assert_eq!(way.cost(&first, 0), None);
    }
}
