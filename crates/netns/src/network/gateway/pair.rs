//! Copies bytes between two connections.

use sys::socket::{Received, Sent, Socket};

/// The connection over the link (0) and outside (1).
#[derive(Debug)]
pub(super) struct Pair {
    sockets: [Socket; 2],
    ways: [OneDirection; 2],
}

#[derive(Debug, Default)]
struct OneDirection {
    room: Vec<u8>,
    begin: usize,
    end: usize,
    ended: bool,
    finished: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Copied {
    /// All available bytes, or as many as fit.
    All,
    /// A share, so that others are served too.
    Some,
    Over,
    Broken(usize),
}

impl Pair {
    pub(super) fn new(inside: Socket, outside: Socket) -> Self {
        Self {
            sockets: [inside, outside],
            ways: Default::default(),
        }
    }

    pub(super) fn copy(&mut self) -> Copied {
        let mut result = Copied::All;
        for (from, way) in self.ways.iter_mut().enumerate() {
            match way.copy(&self.sockets[from], &self.sockets[1 - from]) {
                Moved::All => {}
                Moved::Some => result = Copied::Some,
                Moved::SourceBroken => return Copied::Broken(from),
                Moved::SinkBroken => return Copied::Broken(1 - from),
            }
        }
        if self.ways.iter().all(|way| way.finished) {
            return Copied::Over;
        }
        result
    }

    pub(super) fn reset(self) {
        for socket in self.sockets {
            socket.reset();
        }
    }
}

enum Moved {
    All,
    Some,
    SourceBroken,
    SinkBroken,
}

impl OneDirection {
    fn copy(&mut self, source: &Socket, sink: &Socket) -> Moved {
        let mut moved = 0;
        loop {
            if self.begin < self.end {
                match sink.send(&self.room[self.begin..self.end]) {
                    Sent::Bytes(0) => return Moved::All,
                    Sent::Bytes(count) => {
                        self.begin += count;
                        moved += count;
                        continue;
                    }
                    Sent::Broken(_) => return Moved::SinkBroken,
                }
            }
            if self.ended {
                if !self.finished {
                    sink.finish();
                    self.finished = true;
                }
                return Moved::All;
            }
            if moved >= SHARE {
                return Moved::Some;
            }
            self.room.resize(ROOM, 0);
            match source.receive(&mut self.room) {
                Received::Bytes { count, .. } => (self.begin, self.end) = (0, count),
                Received::Nothing => return Moved::All,
                Received::End => self.ended = true,
                Received::Broken(_) => return Moved::SourceBroken,
            }
        }
    }
}

const ROOM: usize = 64 * 1024;
/// Bytes copied before another connection is served.
const SHARE: usize = 512 * 1024;
