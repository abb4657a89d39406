//! Runs a decoder over the buffer to find a conversation.

use super::window::{Window, turned};
use crate::decoding::framing::Input;
use crate::protocols::ProtocolRow;
use model::{Direction, Message, PerDirection, Protocol, Role};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Occasion {
    More,
    Turn,
    End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Contradicted,
    Nothing,
    Agreed,
}

#[derive(Debug, Default)]
struct Heard {
    requests: u32,
    replies: u32,
    parts: u32,
    messages: PerDirection<u32>,
    opaque: bool,
}

pub(super) fn trial(row: &ProtocolRow, reversed: bool, window: &Window, occasion: Occasion) -> Outcome {
    if !bursts_fit(row, reversed, window, occasion) {
        return Outcome::Contradicted;
    }
    let openings = window.openings(reversed);
    let mut decoder = (row.decoder)(openings);
    let mut heard = Heard::default();
    let mut begun = PerDirection::splat(false);
    for (at, direction, bytes, unseen) in window.pieces() {
        let direction = turned(direction, reversed);
        begun[direction] |= !bytes.is_empty();
        let mut sink = |message: &Message<'_>| heard.process_message(message);
        if !bytes.is_empty()
            && decoder
                .process_input(direction, Input::seen(at, bytes), &mut sink)
                .is_err()
        {
            return Outcome::Contradicted;
        }
        if decoder.tls_follows() || decoder.successor().is_some() {
            return Outcome::Agreed;
        }
        if unseen > 0 && begun[direction] {
            return heard.outcome(row.protocol, occasion);
        }
    }
    let doubts = decoder.has_doubts();
    decoder.finish(&mut |message| heard.process_message(message));
    let is_cut = Direction::ALL
        .into_iter()
        .any(|direction| decoder.pending(direction) > 0);
    if doubts || (is_cut && occasion == Occasion::Turn) {
        return Outcome::Contradicted;
    }
    heard.outcome(row.protocol, occasion)
}

fn bursts_fit(row: &ProtocolRow, reversed: bool, window: &Window, occasion: Occasion) -> bool {
    let mut burst: Option<(Direction, Vec<u8>)> = None;
    let fits = |burst: &(Direction, Vec<u8>)| (row.burst)(turned(burst.0, reversed), &burst.1);
    for (_, direction, bytes, unseen) in window.pieces() {
        if unseen > 0 {
            return true;
        }
        match &mut burst {
            Some((speaker, said)) if *speaker == direction => said.extend_from_slice(bytes),
            _ => {
                if burst.as_ref().is_some_and(|burst| !fits(burst)) {
                    return false;
                }
                burst = Some((direction, bytes.to_vec()));
            }
        }
    }
    occasion == Occasion::End || burst.as_ref().is_none_or(fits)
}

impl Heard {
    fn process_message(&mut self, message: &Message<'_>) {
        self.messages[message.direction] += 1;
        match message.role {
            Role::Request => self.requests += 1,
            Role::Reply | Role::ReplyPause | Role::Greeting => self.replies += 1,
            Role::Opaque => self.opaque = true,
            Role::ReplyPart => self.parts += 1,
            Role::RequestPart | Role::OneWay | Role::Notice => {}
        }
    }

    /// TLS records are always opaque. A reply longer than the buffer has no end yet.
    fn outcome(&self, protocol: Protocol, occasion: Occasion) -> Outcome {
        let answers = match occasion {
            Occasion::End => self.replies + self.parts,
            Occasion::More | Occasion::Turn => self.replies,
        };
        if self.messages.iter().any(|&messages| messages == 0) {
            let is_long = self.messages.iter().any(|&messages| messages >= MANY);
            let fits = is_long && (!self.opaque || protocol == Protocol::Tls);
            return if fits { Outcome::Agreed } else { Outcome::Nothing };
        }
        if self.opaque {
            return if protocol == Protocol::Tls {
                Outcome::Agreed
            } else {
                Outcome::Contradicted
            };
        }
        let is_row = self.messages.iter().sum::<u32>() >= MANY_OF_BOTH;
        if (self.requests > 0 && answers > 0) || (is_row && occasion == Occasion::End) {
            Outcome::Agreed
        } else {
            Outcome::Nothing
        }
    }
}

/// Consecutive messages of one direction that suffice without an answer.
const MANY: u32 = 32;
/// Like `MANY`, for both directions without requests and answers (replication).
const MANY_OF_BOTH: u32 = 8;
