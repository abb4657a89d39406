//! Where a stream's login ends, so that no password, token or cancellation key meets text that someone else
//! chose in one compression context.
//!
//! Both ends of a tunnel watch both directions with the decoders that the relay's observers use, until the
//! login is over; then the decoder is dropped. What is in doubt counts as login.

use model::{Content, Direction, Message, Phase, Protocol, Role, Timestamp};
use wire::Stream;

/// What bytes of a stream belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// The login, or what may be one: to be sent as it is.
    Login,
    /// What the connection is for.
    Work,
    /// The client encrypts by itself: nothing becomes smaller any more.
    Encrypted,
}

/// Watches one stream.
#[derive(Debug)]
pub(crate) struct Login {
    state: State,
}

#[derive(Debug)]
enum State {
    Watching(Box<Stream>, Passed),
    /// No protocol that longwire knows.
    Unknown(Passed),
    Over,
    Encrypted,
}

/// Bytes of each direction.
type Passed = [u64; 2];

impl Login {
    /// The beginning of a stream to a server that listens on `server_port`, where that is known: a hint, no
    /// more.
    pub(crate) fn new(server_port: Option<u16>) -> Self {
        let stream = Stream::new(server_port.unwrap_or(0));
        Self {
            state: State::Watching(Box::new(stream), [0; 2]),
        }
    }

    /// Takes bytes of either direction, in the order in which they pass this end, and says what they belong
    /// to. A login that ends within them is not over before them: all of them are its.
    pub(crate) fn pass(&mut self, direction: Direction, bytes: &[u8]) -> Part {
        match &mut self.state {
            State::Over => Part::Work,
            State::Encrypted => Part::Encrypted,
            State::Unknown(passed) => {
                let part = if passed[direction.index()] < UNKNOWN_LOGIN {
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
                let before = passed[direction.index()];
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
    passed[direction.index()] += bytes.len() as u64;
}

/// What follows, when these bytes end the login or show that its end cannot be determined.
fn watch(stream: &mut Stream, passed: Passed, direction: Direction, bytes: &[u8]) -> Option<State> {
    let mut is_over = false;
    stream.feed(Timestamp::default(), direction, bytes, &mut |message| {
        is_over |= ends_login(&message)
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

/// PostgreSQL says that it is ready, MySQL and MariaDB that all is well; a server that answers a request
/// which is no login (Redis without a password, or after it) lets the client work.
fn ends_login(message: &Message<'_>) -> bool {
    message.direction == Direction::ServerToClient
        && (matches!(message.content, Content::Ready(_))
            || (message.phase == Phase::Work
                && message.role == Role::Reply
                && !matches!(message.content, Content::Error { .. })))
}

/// What counts as login each way where the protocol is unknown.
const UNKNOWN_LOGIN: u64 = 16 * 1024;

#[cfg(test)]
mod tests;
