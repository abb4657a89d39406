//! Detects the end of a stream's login, so that no password, token or cancellation key shares a
//! compression context with text chosen by others.
//!
//! Both ends decode both directions until the login is over, with the decoders of the relay's
//! observers. In doubt, bytes count as login.

use model::{Content, Direction, Message, PerDirection, Phase, Protocol, Role, Timestamp};
use wire::Stream;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// A certain or possible login, to be sent uncompressed.
    Login,
    Work,
    /// Encrypted by the client, so incompressible.
    Encrypted,
}

#[derive(Debug)]
pub(crate) struct Login {
    state: State,
}

#[derive(Debug)]
enum State {
    Watching(Box<Stream>, Passed),
    /// Not a protocol known to longwire.
    Unknown(Passed),
    Over,
    Encrypted,
}

type Passed = PerDirection<u64>;

impl Login {
    /// `server_port`, if known, is only a hint.
    pub(crate) fn new(server_port: Option<u16>) -> Self {
        let stream = Stream::new(server_port.unwrap_or(0));
        Self {
            state: State::Watching(Box::new(stream), Passed::default()),
        }
    }

    /// Classifies bytes of either direction, in the order in which they pass. If the login ends
    /// within them, all of them count as login.
    pub(crate) fn pass(&mut self, direction: Direction, bytes: &[u8]) -> Part {
        match &mut self.state {
            State::Over => Part::Work,
            State::Encrypted => Part::Encrypted,
            State::Unknown(passed) => {
                let part = if passed[direction] < UNKNOWN_LOGIN {
                    Part::Login
                } else {
                    Part::Work
                };
                add(passed, direction, bytes);
                if passed.iter().all(|passed| *passed >= UNKNOWN_LOGIN) {
                    self.state = State::Over;
                }
                part
            }
            State::Watching(stream, passed) => {
                let before = passed[direction];
                add(passed, direction, bytes);
                let passed = *passed;
                if let Some(next) = watch(stream, passed, direction, bytes) {
                    self.state = next;
                }
                match self.state {
                    State::Encrypted => Part::Encrypted,
                    State::Unknown(_) if before >= UNKNOWN_LOGIN => Part::Work,
                    State::Unknown(_) | State::Watching(..) | State::Over => Part::Login,
                }
            }
        }
    }
}

fn add(passed: &mut Passed, direction: Direction, bytes: &[u8]) {
    passed[direction] += bytes.len() as u64;
}

/// The next state, if these bytes end the login or make its end undeterminable.
fn watch(stream: &mut Stream, passed: Passed, direction: Direction, bytes: &[u8]) -> Option<State> {
    let mut is_over = false;
    stream.feed(Timestamp::default(), direction, bytes, &mut |message| {
        is_over |= ends_login(message)
    });
    let decoding = stream.decoding();
    if decoding.protocol == Protocol::Tls || decoding.encrypted {
        Some(State::Encrypted)
    } else if is_over {
        Some(State::Over)
    } else {
        decoding.opaque.is_some().then_some(State::Unknown(passed))
    }
}

/// PostgreSQL reports ready, MySQL and MariaDB OK. A reply to a request that is not a login (Redis
/// without a password) also ends it.
fn ends_login(message: &Message<'_>) -> bool {
    message.direction == Direction::ServerToClient
        && (matches!(message.content, Content::Ready(_))
            || (message.phase == Phase::Work
                && message.role == Role::Reply
                && !matches!(message.content, Content::Error { .. })))
}

/// Bytes per direction that count as login in an unknown protocol.
const UNKNOWN_LOGIN: u64 = 16 * 1024;

#[cfg(test)]
mod tests;
