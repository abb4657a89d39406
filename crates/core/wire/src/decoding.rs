//! Building blocks of protocol decoders. No protocol, I/O or clock; never panics on received data.

#![deny(missing_docs)]

pub mod decoder;
pub(crate) mod fault;
pub mod framing;
pub mod reader;
pub mod recognition;
pub mod resume;
pub mod rows;
pub mod tags;
pub mod verbs;
