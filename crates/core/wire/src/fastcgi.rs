//! FastCGI 1.0, for example from nginx to php-fpm.
//!
//! Source: Mark R. Brown, "FastCGI Specification", version 1.0, 29 April 1996; checked against
//! nginx 1.22 and PHP 8.2. A record has a header, up to 64 KiB and the number of its request.
//! Parameters are inspected up to [`MAXIMUM_PARAMS`], the head of a reply up to [`MAXIMUM_HEAD`];
//! bodies are only counted.
//!
//! - A record is a message. The empty STDIN record completes a request, END_REQUEST its reply. An
//!   authorizer's request has no input: it is complete after the parameters.
//! - Method and target are reported at the end of the parameters, the status at the end of the
//!   reply's head.
//! - If a reply begins during the request's input, the bytes sent before it are the request. The
//!   rest is one message outside any request.
//! - ABORT_REQUEST completes a request that is still being sent. Later it is one way.
//! - Replies on one connection are reported in the order of the requests.

mod opening;
mod params;
mod record;
mod reply;
mod session;

use crate::decoding::decoder::{DecodeError, Decoder, MessageSink};
use crate::decoding::framing::{FramePlan, Framer, Input};
use crate::decoding::resume::Resumption;
use crate::protocols::ProtocolRow;
use model::{Direction, PerDirection, Protocol};
use session::Session;

pub const ROW: ProtocolRow = ProtocolRow {
    asks_alone: true,
    ..ProtocolRow::new(Protocol::Fastcgi, opening::detect, |_| {
        Box::new(FastcgiDecoder::new())
    })
};

/// Decodes one FastCGI connection, from the start or from the middle.
///
/// Holds [`MAXIMUM_PARAMS`] of a request and one record of it, [`MAXIMUM_HEAD`] of each of at
/// most 64 replies waiting for earlier ones, and a note per request.
#[derive(Debug)]
pub struct FastcgiDecoder {
    framers: PerDirection<Framer>,
    session: Session,
}

impl FastcgiDecoder {
    pub fn new() -> Self {
        let framer = |direction| Framer::new(Protocol::Fastcgi.name(), direction);
        Self {
            framers: PerDirection::from_fn(framer),
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
        let framer = &mut self.framers[direction];
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
        self.framers[direction].pending() + held
    }

    fn find(&self, direction: Direction, bytes: &[u8], _: bool) -> Resumption {
        opening::recognise(direction, bytes).into()
    }

    fn restart(&mut self, direction: Direction) -> bool {
        self.framers[direction].restart();
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

pub const MAXIMUM_PARAMS: usize = 64 * 1024;

pub const MAXIMUM_HEAD: usize = 64 * 1024;
