//! FastCGI 1.0: how a web server passes requests on to an application, such as nginx to php-fpm.
//!
//! Source: Mark R. Brown, "FastCGI Specification", version 1.0, 29 April 1996; checked against nginx 1.22 and
//! PHP 8.2. Records of a header and up to 64 KiB; those of one request have its number. Parameters are
//! inspected up to [`MAXIMUM_PARAMS`], the head of a reply up to [`MAXIMUM_HEAD`]; bodies are counted, never
//! stored.
//!
//! How messages become exchanges:
//! 1. A record is a message. The empty STDIN record completes a request, END_REQUEST its reply. An
//!    authorizer's request has no input: the end of its parameters completes it.
//! 2. Method and target are reported where the parameters end, the status where the head of the reply does.
//! 3. A reply that begins while its request's input is still being sent: what was sent so far is the request,
//!    the rest is one message that belongs to none.
//! 4. ABORT_REQUEST completes a request that is being sent. Behind that it is one way: the reply it hastens
//!    is owed already.
//! 5. Replies of several requests on one connection are reported in the order of the requests: what comes
//!    early waits, as a count of bytes and two times.

mod opening;
mod params;
mod record;
mod reply;
mod session;

pub use opening::{answers, opens, recognise};

use decoding::decoder::{DecodeError, Decoder, MessageSink};
use decoding::framing::{FramePlan, Framer, Input};
use model::{Direction, Protocol};
use session::Session;

/// Decodes one FastCGI connection, from its beginning or from the middle.
///
/// Memory: [`MAXIMUM_PARAMS`] of a request and one record of it, [`MAXIMUM_HEAD`] of each of at most 64
/// replies that wait for earlier ones, and notes of as many requests.
#[derive(Debug)]
pub struct FastcgiDecoder {
    framers: [Framer; 2],
    session: Session,
}

impl FastcgiDecoder {
    /// A decoder for a connection of which nothing was seen yet.
    pub fn new() -> Self {
        let framer = |direction| Framer::new(Protocol::Fastcgi.name(), direction);
        Self {
            framers: [Direction::ClientToServer, Direction::ServerToClient].map(framer),
            session: Session::default(),
        }
    }
}

impl Default for FastcgiDecoder {
    fn default() -> Self {
        Self::new()
    }
}

impl Decoder for FastcgiDecoder {
    fn process_input(
        &mut self,
        direction: Direction,
        mut input: Input<'_>,
        sink: &mut MessageSink<'_>,
    ) -> Result<(), DecodeError> {
        let framer = &mut self.framers[direction.index()];
        let session = &mut self.session;
        loop {
            let frame = framer.next(&mut input, record::LENGTH, |bytes| {
                let header = record::header(direction, bytes)?;
                session.admit(header)?;
                Ok(FramePlan {
                    body: header.body(),
                    keep: session.wanted(header),
                })
            })?;
            let Some(frame) = frame else { return Ok(()) };
            match (record::header(direction, frame.header), direction) {
                (Ok(header), Direction::ClientToServer) => session.client(header, &frame, sink),
                (Ok(header), Direction::ServerToClient) => session.server(header, &frame, sink),
                (Err(_), _) => {}
            }
        }
    }

    fn pending(&self, direction: Direction) -> u64 {
        let held = match direction {
            Direction::ClientToServer => self.session.unread(),
            Direction::ServerToClient => self.session.early(),
        };
        self.framers[direction.index()].pending() + held
    }

    fn restart(&mut self, direction: Direction) -> bool {
        self.framers[direction.index()].restart();
        self.desync(direction);
        true
    }

    fn desync(&mut self, direction: Direction) {
        match direction {
            Direction::ClientToServer => self.session.lose_request(),
            Direction::ServerToClient => self.session.lose_replies(),
        }
    }

    fn has_pending_reply(&self) -> bool {
        self.session.has_pending_reply()
    }

    fn clear_pending(&mut self) {
        self.session.clear_pending();
    }
}

/// Largest stream of parameters that is inspected, in bytes.
pub const MAXIMUM_PARAMS: usize = 64 * 1024;

/// Largest head of a reply that is inspected, in bytes.
pub const MAXIMUM_HEAD: usize = 64 * 1024;
