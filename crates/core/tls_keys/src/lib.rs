//! Decrypts TLS records with the session's keys, sans-IO.
//!
//! Sources: RFC 8446 (TLS 1.3), RFC 5246, 5288 and 7905 (TLS 1.2 with AES-GCM and
//! ChaCha20-Poly1305), RFC 2246, 4346 and 7366 (TLS 1.0, 1.1, and encrypt-then-MAC of suites in CBC
//! mode), RFC 9850 (the key log). Start at [`RecordOpener`].

#![deny(clippy::wildcard_enum_match_arm)]
#![forbid(unsafe_code)]

mod cbc;
mod closed;
mod handshake;
mod key_direction;
mod key_log;
mod opened_record;
mod opener;
mod schedule;
mod session;
mod suite;

pub use closed::Closed;
pub use key_log::{KeyLog, KeyLogFault, Secrets, SessionSecrets};
pub use opened_record::OpenedRecord;
pub use opener::RecordOpener;
