//! What every protocol decoder does.

use crate::framing::Input;
use crate::resume::Resumption;
use model::{Decoding, Direction, Message, Timestamp};

/// Receives messages as they complete. The message borrows from the decoder: keep what is needed, not the
/// message.
pub type MessageSink<'s> = dyn FnMut(Message<'_>) + 's;

/// Round trips the payload of one connection into messages.
///
/// Calling order: `feed` and `skip` in any order and any number, in the order in which the bytes passed;
/// within one direction every stream byte exactly once. The result does not depend on how the bytes were
/// split into calls. After an error the direction that failed must not be fed again before it was restarted:
/// its bytes are opaque from the start of the message that failed. The other direction can go on where the
/// protocol allows it.
pub trait Decoder {
    /// Takes all of `input`: what one call of [`Decoder::feed`] or [`Decoder::skip`] brings.
    ///
    /// # Errors
    /// As these two.
    fn process_input(
        &mut self,
        direction: Direction,
        input: Input<'_>,
        sink: &mut MessageSink<'_>,
    ) -> Result<(), DecodeError>;

    /// Takes bytes that passed at `at`.
    ///
    /// # Errors
    /// When the bytes are not this protocol. Messages completed before the fault have been handed to `sink`.
    fn feed(
        &mut self,
        at: Timestamp,
        direction: Direction,
        bytes: &[u8],
        sink: &mut MessageSink<'_>,
    ) -> Result<(), DecodeError> {
        self.process_input(direction, Input::seen(at, bytes), sink)
    }

    /// `count` bytes passed that are not available (missing from the capture). Inside the body of a message
    /// whose content is not needed they change nothing.
    ///
    /// # Errors
    /// When the place in the protocol is lost.
    fn skip(
        &mut self,
        at: Timestamp,
        direction: Direction,
        count: u64,
        sink: &mut MessageSink<'_>,
    ) -> Result<(), DecodeError> {
        self.process_input(direction, Input::unseen(at, count), sink)
    }

    /// Bytes taken in `direction` that no message was emitted for yet (an unfinished message).
    fn pending(&self, direction: Direction) -> u64;

    /// Whether what follows on the connection is TLS (after an answered request for it): the stream then goes
    /// on with the TLS decoder. Asked after each `feed`. Bytes that came behind the switch in the same `feed`
    /// are not this decoder's: it leaves them alone, and the caller knows from the messages' bytes where they
    /// begin.
    fn tls_follows(&self) -> bool {
        false
    }

    /// Goes on inside TLS, once it follows, with what is known of the connection; `None` if that is not
    /// known, or where it begins anew. The decoder is of no further use.
    fn go_on_inside(&mut self) -> Option<Box<dyn Decoder + Send>> {
        None
    }

    /// What was found inside, of a decoder that opens encryption; `None` for others, and while nothing was
    /// opened or refused.
    fn inside(&self) -> Option<Decoding> {
        None
    }

    /// Whether something passed that the protocol does not have, though it was no error: a beginning that has
    /// it is probably another protocol's.
    fn has_doubts(&self) -> bool {
        false
    }

    /// Goes on after an error in `direction`: the next byte fed there is taken for the first of a message.
    /// Returns whether the protocol can do that; where it cannot, the direction stays opaque.
    fn restart(&mut self, direction: Direction) -> bool {
        let _ = direction;
        false
    }

    /// Where in `bytes` a message of `direction` begins, behind bytes that were lost. `whole` says that no
    /// more comes before the other side speaks. `None` if a protocol has no way to determine it: then a
    /// message may only begin where the search does.
    fn find(&self, direction: Direction, bytes: &[u8], whole: bool) -> Option<Resumption> {
        let _ = (direction, bytes, whole);
        None
    }

    /// The place in `direction` is lost, because bytes were not captured: what was being said there is over,
    /// and how many messages were lost is not known. Its bytes are opaque until it is restarted.
    fn desync(&mut self, direction: Direction) {
        let _ = direction;
    }

    /// Whether a reply is expected, as far as the decoder knows that.
    fn has_pending_reply(&self) -> bool {
        false
    }

    /// The client begins a new round trip while a direction is lost: what was owed before is over.
    fn clear_pending(&mut self) {}

    /// Nothing follows in `direction`, as was seen at `at`: emits a message that only the end completes (a
    /// body that lasts until the close).
    fn ends(&mut self, at: Timestamp, direction: Direction, sink: &mut MessageSink<'_>) {
        let _ = (at, direction, sink);
    }

    /// The connection ended: emits a message that only the end completes (a body that lasts until the close).
    fn finish(&mut self, sink: &mut MessageSink<'_>) {
        let _ = sink;
    }
}

/// Why bytes could not be decoded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{protocol} {direction} at stream offset {offset}: expected {expected}, found {found}")]
pub struct DecodeError {
    /// Name of the protocol.
    pub protocol: &'static str,
    /// `client-to-server` or `server-to-client`.
    pub direction: &'static str,
    /// Offset in that direction's stream of the message that failed.
    pub offset: u64,
    /// What the protocol has there.
    pub expected: &'static str,
    /// What was found. Never payload text: at most a number or a tag.
    pub found: String,
}
