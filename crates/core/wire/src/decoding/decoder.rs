//! The interface of protocol decoders.

pub use super::fault::DecodeError;
use super::framing::Input;
use super::resume::Resumption;
use model::{Decoding, Direction, Message, Protocol, Timestamp};

/// Receives messages as they complete. A message borrows from the decoder.
pub type MessageSink<'s> = dyn FnMut(&Message<'_>) + 's;

/// A protocol and its decoder.
pub type Successor = (Protocol, Box<dyn Decoder + Send>);

/// Turns the payload of one connection into messages.
///
/// Each stream byte of a direction comes exactly once, in order. The result does not depend on how
/// the bytes are split into calls. A failed direction must not be fed before a restart: its bytes
/// are opaque from the failed message on. The other direction may continue if the protocol allows
/// it.
pub trait Decoder {
    /// Consumes the input of one [`Decoder::feed`] or [`Decoder::skip`].
    ///
    /// # Errors
    /// As `feed` and `skip`.
    fn process_input(
        &mut self,
        direction: Direction,
        input: Input<'_>,
        sink: &mut MessageSink<'_>,
    ) -> Result<(), DecodeError>;

    /// Consumes bytes that passed at `at`.
    ///
    /// # Errors
    /// If the bytes are not this protocol. Earlier messages were already emitted.
    fn feed(
        &mut self,
        at: Timestamp,
        direction: Direction,
        bytes: &[u8],
        sink: &mut MessageSink<'_>,
    ) -> Result<(), DecodeError> {
        self.process_input(direction, Input::seen(at, bytes), sink)
    }

    /// Skips `count` uncaptured bytes, harmless inside unneeded message bodies.
    ///
    /// # Errors
    /// If the position in the protocol is lost.
    fn skip(
        &mut self,
        at: Timestamp,
        direction: Direction,
        count: u64,
        sink: &mut MessageSink<'_>,
    ) -> Result<(), DecodeError> {
        self.process_input(direction, Input::unseen(at, count), sink)
    }

    /// Whether the next bytes of `direction` may name a statement.
    fn reads_content(&self, direction: Direction) -> bool {
        let _ = direction;
        true
    }

    /// Bytes of an unfinished message in `direction`.
    fn pending(&self, direction: Direction) -> u64;

    /// Whether TLS follows an answered request for it. Checked after each `feed`, which leaves the
    /// first TLS bytes alone.
    fn tls_follows(&self) -> bool {
        false
    }

    /// Returns the decoder for the data inside TLS; `None` if unknown or starting afresh. Ends the
    /// use of this one.
    fn go_on_inside(&mut self) -> Option<Box<dyn Decoder + Send>> {
        None
    }

    /// The decoder of the protocol that both sides agreed to go on with; once. Checked after each
    /// `feed`, which leaves the first bytes of that protocol alone.
    fn successor(&mut self) -> Option<Successor> {
        None
    }

    /// The protocol found after decryption; `None` until then, and for decoders that do not
    /// decrypt.
    fn inside(&self) -> Option<Decoding> {
        None
    }

    /// The protocol that this one carries, once known.
    fn dialect(&self) -> Option<Protocol> {
        None
    }

    /// The side that first requested the end of the connection.
    fn close_requested(&self) -> Option<Direction> {
        None
    }

    /// Whether bytes passed that the protocol lacks, without an error. At the beginning they
    /// suggest another protocol.
    fn has_doubts(&self) -> bool {
        false
    }

    /// Resumes after an error: the next byte begins a message. Returns false if the protocol cannot
    /// do so.
    fn restart(&mut self, direction: Direction) -> bool {
        let _ = direction;
        false
    }

    /// Finds the next message in `bytes`, after lost bytes. `whole` says that no more come before
    /// the other side speaks.
    fn find(&self, direction: Direction, bytes: &[u8], whole: bool) -> Resumption {
        let _ = (direction, bytes, whole);
        Resumption::Nowhere
    }

    /// Bytes were not captured: open messages are over, and `direction` is opaque until restarted.
    fn desync(&mut self, direction: Direction) {
        let _ = direction;
    }

    /// Whether a reply is expected, as far as known.
    fn has_pending_reply(&self) -> bool {
        false
    }

    /// A new round trip begins while a direction is lost: no earlier reply is expected.
    fn clear_pending(&mut self) {}

    /// `direction` ended at `at`: emits a body that lasts until the close.
    fn ends(&mut self, at: Timestamp, direction: Direction, sink: &mut MessageSink<'_>) {
        let _ = (at, direction, sink);
    }

    /// The connection ended, so a body that lasts until the close is emitted.
    fn finish(&mut self, sink: &mut MessageSink<'_>) {
        let _ = sink;
    }
}
