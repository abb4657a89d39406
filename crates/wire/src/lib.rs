//! Bytes to messages: sans-IO protocol decoders, one folder a protocol.
//!
//! A decoder is handed the payload of both directions of one connection, in order, and hands back
//! [`model::Message`]s. It does no I/O, knows no clock, never panics, and never allocates what a length field
//! merely claims. Start at [`stream`], which finds the protocol and falls back to
//! opaque, then [`decoder`], what every protocol does, and [`framing`], which cuts a stream into messages.

#![forbid(unsafe_code)]

pub mod fastcgi;
pub mod http;
pub mod mysql;
pub mod postgres;
pub mod protocols;
pub mod redis;
pub mod stream;
pub mod tls;
pub mod tls_request;

pub use decoding::decoder::{self, DecodeError, Decoder, MessageSink};
pub use decoding::rows::TextRows;
pub use decoding::{framing, reader};
pub use protocols::PROTOCOLS;
pub use stream::Stream;
pub use wire_commercial::{drda, informix, tds, tns};
