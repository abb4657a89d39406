//! Gaps in a direction: bytes out of order wait until the gap is closed or given up.

use crate::half::{Half, LATEST, Output};
use crate::pending::Chunk;
use crate::tcp::Packet;
use model::{ConnectionId, Timestamp};
use std::time::Duration;

impl Half {
    /// Buffers a packet that arrived out of order. Returns whether it has new bytes.
    pub fn take_early(&mut self, packet: &Packet<'_>, start: u64, out: &mut Output<'_>) -> bool {
        let head = &packet.head;
        if head.length == 0 {
            return true;
        }
        let added = self.wait(head.at, start, u64::from(head.length), packet.payload, out);
        self.largest = self.largest.max(head.length);
        self.sent = Some((head.at, head.length));
        self.flights.clear();
        if added {
            self.recent.add(head);
        }
        added
    }

    /// When bytes after `place` first passed: since then the bytes at `place` are missing.
    pub fn missed_since(&self, place: u64) -> Option<Timestamp> {
        self.pending
            .as_ref()
            .and_then(|pending| pending.passed_behind(place))
    }

    fn wait(&mut self, at: Timestamp, start: u64, length: u64, payload: &[u8], out: &mut Output<'_>) -> bool {
        let pending = self.pending.get_or_insert_default();
        let before = pending.charge();
        let added = pending.insert(at, start, length, payload);
        out.memory += pending.charge() - before;
        added
    }

    /// Processes a packet that begins with old bytes or closes a gap. Returns since when the bytes
    /// after the gap waited.
    pub fn take_overlap(
        &mut self,
        id: ConnectionId,
        packet: &Packet<'_>,
        start: u64,
        out: &mut Output<'_>,
    ) -> Option<Timestamp> {
        let head = &packet.head;
        let since = self.missed_since(self.next);
        let old = self.next.saturating_sub(start);
        let fresh = u64::from(head.length).saturating_sub(old);
        if fresh > 0 {
            let payload = packet.payload.get(old as usize..).unwrap_or_default();
            self.recent.add(head);
            self.sent = Some((head.at, head.length));
            self.largest = self.largest.max(head.length);
            if self.pending.is_some() {
                self.wait(head.at, self.next, fresh, payload, out);
            } else {
                self.deliver(id, head.at, payload, fresh, Some(Duration::ZERO), out);
            }
        }
        let before = self.charge();
        self.drain(id, Closed::At(head.at), out);
        since.filter(|_| self.charge() < before)
    }

    /// Gives up missing bytes before `place`, which passed without being captured. A gap before
    /// waiting bytes had passed when these were seen; otherwise it had by `at`. Bytes that passed
    /// after `at` keep waiting: [`Half::drain_passed`].
    pub fn give_up(&mut self, id: ConnectionId, place: u64, at: Timestamp, out: &mut Output<'_>) {
        let place = self.fin.map_or(place, |fin| place.min(fin));
        self.drain(id, Closed::Never { place, at }, out);
        while self.next < place {
            let waiting = self.pending.as_ref().and_then(|pending| pending.first_start());
            let (until, missed) = match waiting {
                Some(start) if start < place => (start, self.missed_since(start).unwrap_or(at)),
                _ => (place, at),
            };
            self.deliver_gap(id, missed, until - self.next, out);
            self.drain(id, Closed::Never { place, at }, out);
        }
    }

    /// Delivers bytes in order that had passed by `at`.
    pub fn drain_passed(&mut self, id: ConnectionId, at: Timestamp, out: &mut Output<'_>) {
        self.drain(id, Closed::Never { place: self.next, at }, out);
    }

    /// Resolves the first gap. Gives it up if the bytes after it are plausible, and drops them
    /// otherwise. Returns whether there was a gap.
    ///
    /// Plausible are bytes that the other side acknowledged, that a one-sided capture shows, or
    /// that lie within a window of the last acknowledgement.
    pub fn settle_gap(
        &mut self,
        id: ConnectionId,
        at: Timestamp,
        other_seen: bool,
        out: &mut Output<'_>,
    ) -> bool {
        let waiting = self.pending.as_ref().and_then(|pending| pending.first_start());
        let Some(start) = waiting.or(self.fin) else {
            return false;
        };
        let reach = self
            .edges
            .latest()
            .unwrap_or(0)
            .max(self.acked.max(self.next) + BELIEVABLE);
        if !other_seen || start <= reach {
            self.give_up(id, start, at, out);
            self.drain_passed(id, LATEST, out);
        } else {
            out.memory = out.memory.saturating_sub(self.charge());
            out.faults.misplaced += 1;
            (self.pending, self.fin) = (None, None);
        }
        true
    }

    pub fn charge(&self) -> usize {
        self.pending.as_ref().map_or(0, |pending| pending.charge())
    }

    fn drain(&mut self, id: ConnectionId, closed: Closed, out: &mut Output<'_>) {
        while let Some(chunk) = self.take_pending(closed, out) {
            self.deliver_chunk(id, closed, &chunk, out);
        }
        self.pass_fin();
    }

    fn take_pending(&mut self, closed: Closed, out: &mut Output<'_>) -> Option<Chunk> {
        let pending = self.pending.as_mut()?;
        if let Closed::Never { place, at } = closed
            && pending.first_start()? >= place
            && pending.passed_behind(0)? > at
        {
            return None;
        }
        let before = pending.charge();
        let chunk = pending.take_at(self.next);
        out.memory = out.memory.saturating_sub(before - pending.charge());
        if pending.charge() == 0 {
            self.pending = None;
        }
        chunk
    }

    fn deliver_chunk(&mut self, id: ConnectionId, closed: Closed, chunk: &Chunk, out: &mut Output<'_>) {
        let at = match closed {
            Closed::At(at) => at,
            Closed::Never { .. } => chunk.at,
        };
        let old = self.next.saturating_sub(chunk.start);
        let fresh = chunk.length.saturating_sub(old);
        if fresh > 0 {
            let bytes = chunk.bytes.get(old as usize..).unwrap_or_default();
            self.deliver(id, at, bytes, fresh, Some(Duration::ZERO), out);
        }
    }
}

/// When bytes after a gap were due.
#[derive(Debug, Clone, Copy)]
enum Closed {
    /// The bytes were due when the gap was closed.
    At(Timestamp),
    /// The gap is only in the capture, so each chunk was due when it passed. Delivers chunks that
    /// begin before `place` or had passed by `at`.
    Never { place: u64, at: Timestamp },
}

/// Maximum distance of plausible bytes beyond the last acknowledgement, if the window is unknown.
const BELIEVABLE: u64 = 16 << 20;
