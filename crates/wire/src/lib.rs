//! Bytes to messages: sans-IO protocol decoders, one folder a protocol.
//!
//! A decoder is handed the payload of both directions of one connection, in order, and hands back
//! [`model::Message`]s. It does no I/O, knows no clock, never panics, and never allocates what a length field
//! merely claims. Start at [`stream`], which finds the protocol and falls back to
//! opaque, then [`decoder`], what every protocol does, and [`framing`], which cuts a stream into messages.

#![forbid(unsafe_code)]

pub mod decoder;
pub mod drda;
pub mod framing;
pub mod http;
pub mod informix;
pub mod mysql;
pub mod postgres;
pub mod protocols;
pub mod reader;
pub mod redis;
pub mod resume;
pub mod rows;
pub mod stream;
pub mod tds;
pub mod tls;
pub mod tls_request;
pub mod tns;
mod verbs;

pub use decoder::{DecodeError, Decoder, MessageSink};
pub use protocols::PROTOCOLS;
pub use rows::TextRows;
pub use stream::Stream;
