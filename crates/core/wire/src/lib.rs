//! Sans-IO protocol decoders from bytes to messages, one folder per protocol.
//!
//! A decoder takes the payload of both directions of one connection, in order, and emits
//! [`model::Message`]s. It does no I/O, has no clock, never panics, and never allocates by the
//! claim of a length field. Start at [`stream`], which detects the protocol and falls back to
//! opaque, then [`decoder`], the trait of all protocols, and [`framing`], which cuts a stream into
//! messages.

#![forbid(unsafe_code)]
#![deny(clippy::wildcard_enum_match_arm)]

pub mod decoding;
pub mod drda;
pub mod fastcgi;
pub mod http;
pub mod http2;
pub mod informix;
pub mod mongodb;
pub mod mysql;
pub mod postgres;
pub mod protocols;
pub mod redis;
pub mod stream;
pub mod tds;
pub mod tls;
pub mod tls_request;
pub mod tns;

pub use crate::decoding::decoder::{self, DecodeError, Decoder, MessageSink};
pub use crate::decoding::rows::TextRows;
pub use crate::decoding::{framing, reader};
pub use protocols::ProtocolRow;
pub use stream::{DetectionState, Stream};

/// One row each; the most certain come first.
pub static PROTOCOLS: &[ProtocolRow] = &[
    http::ROW,
    http2::ROW,
    fastcgi::ROW,
    tls::ROW,
    postgres::ROW,
    mysql::ROW,
    redis::ROW,
    mongodb::ROW,
    informix::ROW,
    drda::ROW,
    tns::ROW,
    tds::ROW,
];
