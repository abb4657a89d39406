//! Finding the protocol: what passes waits until the first bytes of either direction tell.

use crate::framing::Input;
use crate::protocols::{PROTOCOLS, Row, Verdict};
use model::{Direction, Timestamp};

/// What waits until the protocol is known.
#[derive(Debug, Default)]
pub(super) struct Held {
    pub(super) bytes: [Vec<u8>; 2],
    /// Per direction: how many of `bytes` came before the first hole behind a seen byte.
    whole: [Option<usize>; 2],
    pub(super) chunks: Vec<Chunk>,
}

#[derive(Debug)]
pub(super) struct Chunk {
    pub(super) at: Timestamp,
    pub(super) direction: Direction,
    pub(super) seen: usize,
    pub(super) unseen: u64,
}

impl Held {
    /// The first bytes of each direction, without a hole.
    pub(super) fn openings(&self) -> [&[u8]; 2] {
        [0, 1].map(|lane| {
            let bytes = &self.bytes[lane];
            self.whole[lane]
                .and_then(|whole| bytes.get(..whole))
                .unwrap_or(bytes)
        })
    }

    /// Decides, or holds `input` back and gives `None`.
    pub(super) fn look(
        &mut self,
        direction: Direction,
        input: Input<'_>,
        server_port: u16,
    ) -> Option<Option<&'static Row>> {
        let lane = direction.index();
        if input.unseen_count() > 0 && !self.bytes[lane].is_empty() {
            self.whole[lane].get_or_insert(self.bytes[lane].len());
        }
        let joins = self.joins(direction, input);
        let before = self.bytes[lane].len();
        let room = MAXIMUM_HELD - self.bytes.iter().map(Vec::len).sum::<usize>();
        let part = input.bytes().get(..room);
        let full = part.is_some_and(|part| part.len() < input.bytes().len());
        let full = full || (self.chunks.len() == MAXIMUM_CHUNKS && !joins);
        self.bytes[lane].extend_from_slice(part.unwrap_or(input.bytes()));
        let chosen = choose(self.openings(), server_port, full);
        if chosen.is_some() {
            self.bytes[lane].truncate(before);
            return chosen;
        }
        match self.chunks.last_mut() {
            Some(last) if joins => last.seen += input.bytes().len(),
            _ => self.chunks.push(Chunk {
                at: input.at(),
                direction,
                seen: input.bytes().len(),
                unseen: input.unseen_count(),
            }),
        }
        None
    }

    /// Whether `input` is more of what came last, at the same time.
    fn joins(&self, direction: Direction, input: Input<'_>) -> bool {
        let last = self.chunks.last();
        last.is_some_and(|last| {
            (last.direction, last.at) == (direction, input.at())
                && last.unseen == 0
                && input.unseen_count() == 0
        })
    }
}

/// The protocol that the first bytes of both directions show: `None` while more bytes could tell, `Some(None)` when it
/// is none of ours. `now` forces a decision.
pub(super) fn choose(openings: [&[u8]; 2], server_port: u16, now: bool) -> Option<Option<&'static Row>> {
    let directions = [Direction::ClientToServer, Direction::ServerToClient];
    let mut plausible: Option<&'static Row> = None;
    let mut more = false;
    for row in PROTOCOLS {
        for (direction, opening) in directions.into_iter().zip(openings) {
            match (row.recognise)(direction, opening) {
                Verdict::Certain => return Some(Some(row)),
                Verdict::Plausible if plausible.is_none() || row.ports.contains(&server_port) => {
                    plausible = Some(row)
                }
                Verdict::More => more |= !opening.is_empty(),
                Verdict::Plausible | Verdict::Never => {}
            }
        }
    }
    let silent = openings.iter().any(|opening| opening.is_empty());
    let waits = more || (silent && plausible.is_none());
    (now || !waits).then_some(plausible)
}

/// Most bytes held back, both directions together, while the protocol is not known.
pub const MAXIMUM_HELD: usize = 16 * 1024;

/// Most calls held back meanwhile.
const MAXIMUM_CHUNKS: usize = 256;
