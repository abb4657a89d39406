//! Finding the protocol: what passes waits until the first messages of both directions agree on one.
//!
//! 1. The first bytes of one direction that only one protocol has, and an answer that this protocol has too,
//!    decide at once. (HTTP and FastCGI, whose requests leave no doubt, wait for no answer.)
//! 2. First bytes that several protocols could have show where a round trip ends: a decoder is run over all
//!    that waits, and must find whole messages, a request and its reply, and nothing that is not its
//!    protocol's.
//! 3. Where the other direction is silent to the end, or beyond what may wait, only 1's first half counts, or
//!    a long row of messages.
//! 4. Nothing agrees: none of ours. On a connection that was joined in the middle the first burst may have
//!    begun in the middle of a message: it is given up, and the next bursts are inspected.
//!
//! What follows bytes that were not seen may be the middle of a message, and contradicts nothing.
//!
//! A port decides nothing; it only says which of several that agree comes first.

use super::buffered_bursts::{BufferedBursts, Window};
use super::trial::{Outcome, trial};
use crate::protocols::{PROTOCOLS, ProtocolRow};
use decoding::recognition::Recognition;
use model::{Direction, Timestamp};

/// What was found.
#[derive(Debug, Clone, Copy)]
pub(super) struct Choice {
    /// The protocol; `None` if it is none of ours.
    pub(super) row: Option<&'static ProtocolRow>,
    /// The side that was assumed to be the client is the server.
    pub(super) reversed: bool,
}

/// What a connection is before anything was seen of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Circumstances {
    /// Where the server listens, if the sides are as they seem.
    pub(super) server_port: u16,
    /// It was in progress when the observation began: which side is the client is a guess, and the first
    /// bytes may be of the middle of a message.
    pub(super) is_joined: bool,
}

/// Why it is looked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Occasion {
    /// More bytes have arrived.
    More,
    /// The other side begins to speak: what arrived is whole.
    Turn,
    /// No more may wait, or nothing more arrives.
    End,
}

/// One protocol, and which side would be its client.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    row: &'static ProtocolRow,
    reversed: bool,
}

/// What speaks for a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// Something contradicts.
    Out,
    /// Nothing contradicts.
    Open,
    /// Both sides agree.
    Agreed,
}

impl BufferedBursts {
    /// Looks at what waits; returns what was found, or nothing while more bytes could decide.
    pub(super) fn detect_protocol(&mut self, of: Circumstances, occasion: Occasion) -> Option<Choice> {
        loop {
            let (agreed, open) = survey(&self.window, of, occasion);
            if agreed.is_some() {
                return agreed;
            }
            let gives_up = !open || occasion == Occasion::End || self.window.is_long();
            if !gives_up {
                return None;
            }
            let goes_on = (of.is_joined || self.lost) && self.discard_first();
            if !goes_on {
                return Some(Choice {
                    row: None,
                    reversed: false,
                });
            }
            if self.window.is_empty() {
                return None;
            }
        }
    }
}

/// What agrees, and whether anything still could.
fn survey(window: &Window, of: Circumstances, occasion: Occasion) -> (Option<Choice>, bool) {
    let mut open = false;
    for candidate in candidates(of) {
        match candidate.standing(window, occasion) {
            Standing::Agreed => {
                let choice = Choice {
                    row: Some(candidate.row),
                    reversed: candidate.reversed,
                };
                return (Some(choice), true);
            }
            Standing::Open => open = true,
            Standing::Out => {}
        }
    }
    (None, open)
}

/// The sides as they seem come first, and of those the protocol of the port.
fn candidates(of: Circumstances) -> impl Iterator<Item = Candidate> {
    let usual = move |row: &&'static ProtocolRow| row.ports.contains(&of.server_port);
    let ordered = PROTOCOLS
        .iter()
        .filter(usual)
        .chain(PROTOCOLS.iter().filter(move |row| !usual(row)));
    let as_they_seem = ordered.map(|row| Candidate { row, reversed: false });
    let turned = PROTOCOLS.iter().filter(move |_| of.is_joined);
    as_they_seem.chain(turned.map(|row| Candidate { row, reversed: true }))
}

impl Candidate {
    fn standing(self, window: &Window, occasion: Occasion) -> Standing {
        let [mut client, mut server] = window.openings();
        if self.reversed {
            std::mem::swap(&mut client, &mut server);
        }
        let holes = window.begins_with_hole();
        let excused = |verdict: Recognition, hole: bool| match verdict {
            Recognition::Never if hole => Recognition::Plausible,
            verdict => verdict,
        };
        let [client_hole, server_hole] = if self.reversed {
            [holes[1], holes[0]]
        } else {
            holes
        };
        let asked = (!client.is_empty()).then(|| (self.row.opens)(Direction::ClientToServer, client));
        let answered = (!server.is_empty()).then(|| (self.row.answers)(client, server));
        let asked = asked.map(|verdict| excused(verdict, client_hole));
        let answered = answered.map(|verdict| excused(verdict, server_hole));
        if [asked, answered].contains(&Some(Recognition::Never)) {
            return Standing::Out;
        }
        let is_certain = [asked, answered].contains(&Some(Recognition::Certain));
        let both = [asked, answered]
            .map(|verdict| matches!(verdict, Some(Recognition::Certain | Recognition::Plausible)));
        let one =
            [asked, answered].contains(&None) && [asked, answered].contains(&Some(Recognition::Plausible));
        match occasion {
            _ if is_certain && both == [true, true] => Standing::Agreed,
            _ if self.row.asks_alone && asked == Some(Recognition::Certain) && answered.is_none() => {
                Standing::Agreed
            }
            Occasion::End if is_certain => Standing::Agreed,
            Occasion::Turn | Occasion::End if both == [true, true] || (one && occasion == Occasion::End) => {
                match trial(self.row, self.reversed, window, occasion) {
                    Outcome::Contradicted => Standing::Out,
                    Outcome::Nothing => Standing::Open,
                    Outcome::Agreed => Standing::Agreed,
                }
            }
            Occasion::More | Occasion::Turn | Occasion::End => Standing::Open,
        }
    }
}

impl Window {
    /// Whether so many round trips have passed that further ones would not help.
    fn is_long(&self) -> bool {
        self.turns() > MAX_DIRECTION_CHANGES
    }
}

/// A burst that was given up.
#[derive(Debug, Clone, Copy)]
pub(super) struct Passed {
    pub(super) direction: Direction,
    pub(super) started: Timestamp,
    pub(super) ended: Timestamp,
    pub(super) bytes: u64,
}

/// Most bytes held back, both directions together, while the protocol is not known.
pub const MAXIMUM_HELD: usize = 16 * 1024;

/// Changes of direction after which a protocol that nothing contradicts, but that nothing proves either, is
/// given up.
const MAX_DIRECTION_CHANGES: usize = 16;
