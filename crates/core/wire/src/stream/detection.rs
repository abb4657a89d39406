//! Protocol detection, which buffers payload until the first messages of both directions agree on a
//! protocol.
//!
//! - First bytes that only one protocol has, with a matching answer, decide at once (HTTP and FastCGI
//!   without an answer).
//! - For others a decoder is run over the buffer at the end of a round trip. It must find whole
//!   messages, with a request and its reply, and no contradiction.
//! - If the other direction stays silent to the end, or beyond the buffer, only unambiguous first
//!   bytes or a long series of messages decide.
//! - No agreement: unsupported. On a connection joined in the middle the first burst may have begun
//!   inside a message: it is discarded, and the next bursts are inspected.
//!
//! Bytes after a hole may be the middle of a message and contradict no protocol.
//!
//! A port never decides; it only orders protocols that agree.

use super::trial::{Occasion, Outcome, trial};
use super::window::Window;
use crate::decoding::recognition::Recognition;
use crate::{PROTOCOLS, ProtocolRow};
use model::Direction;

#[derive(Debug, Clone, Copy)]
pub(super) struct Choice {
    pub(super) row: Option<&'static ProtocolRow>,
    pub(super) reversed: bool,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Circumstances {
    pub(super) server_port: u16,
    /// It was open when observation began: the client's side is a guess, and the first bytes may be
    /// the middle of a message.
    pub(super) is_joined: bool,
}

#[derive(Debug, Clone, Copy)]
struct Candidate {
    row: &'static ProtocolRow,
    reversed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Out,
    Open,
    Agreed,
}

/// Returns the agreed choice, and whether any candidate is still open.
pub(super) fn survey(window: &Window, of: Circumstances, occasion: Occasion) -> (Option<Choice>, bool) {
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

/// Orders the sides as they seem first, and among these the protocol of the port first.
fn candidates(of: Circumstances) -> impl Iterator<Item = Candidate> {
    let usual = move |row: &&'static ProtocolRow| row.protocol.facts().ports.contains(&of.server_port);
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
        let openings = window.openings(self.reversed);
        let (client, server) = (
            openings[Direction::ClientToServer],
            openings[Direction::ServerToClient],
        );
        let holes = window.begins_with_hole(self.reversed);
        let excused = |verdict: Recognition, hole: bool| match verdict == Recognition::Never && hole {
            true => Recognition::Plausible,
            false => verdict,
        };
        let asked = (!client.is_empty()).then(|| (self.row.detect)(openings, Direction::ClientToServer));
        let answered = (!server.is_empty()).then(|| (self.row.detect)(openings, Direction::ServerToClient));
        let asked = asked.map(|verdict| excused(verdict, holes[Direction::ClientToServer]));
        let answered = answered.map(|verdict| excused(verdict, holes[Direction::ServerToClient]));
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
