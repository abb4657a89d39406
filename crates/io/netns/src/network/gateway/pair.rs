//! Copies bytes between two connections.

use model::{Direction, PerDirection, PerSide};
use sys::socket::{Received, Sent, Socket};

/// The connection over the link, from the client, and the one outside, to the server.
#[derive(Debug)]
pub(super) struct Pair {
    sockets: PerSide<Socket>,
    ways: PerDirection<OneDirection>,
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
    Broken,
}

impl Pair {
    pub(super) fn new(inside: Socket, outside: Socket) -> Self {
        Self {
            sockets: PerSide::new(inside, outside),
            ways: Default::default(),
        }
    }

    pub(super) fn copy(&mut self) -> Copied {
        let mut result = Copied::All;
        for direction in Direction::ALL {
            let (source, sink) = (direction.sender(), direction.receiver());
            match self.ways[direction].copy(&self.sockets[source], &self.sockets[sink]) {
                Moved::All => {}
                Moved::Some => result = Copied::Some,
                Moved::Broken => return Copied::Broken,
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
    Broken,
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
                    Sent::Broken(_) => return Moved::Broken,
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
                Received::Broken(_) => return Moved::Broken,
            }
        }
    }
}

const ROOM: usize = 64 * 1024;
/// Bytes copied before another connection is served.
const SHARE: usize = 512 * 1024;
