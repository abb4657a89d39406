//! What decoders of protocols are made of: the [`decoder::Decoder`] they implement, [`framing`] that cuts a
//! stream into messages, a bounds-checked [`reader`], [`resume`] behind lost bytes, [`pending_replies`] with
//! their limit.
//!
//! It knows no protocol, does no I/O, knows no clock and never panics on what was received.

#![deny(missing_docs)]
#![forbid(unsafe_code)]

pub mod decoder;
pub mod framing;
pub mod pending_replies;
pub mod reader;
pub mod recognition;
pub mod resume;
pub mod rows;
pub mod verbs;
