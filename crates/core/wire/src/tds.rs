//! SQL Server's protocol, TDS 7.0 to 7.4.
//!
//! Source: MS-TDS (Microsoft, open specification), sections 2.2.3.1 (packets), 2.2.5 to 2.2.7
//! (messages, types, tokens). docs/protocols/tds.md lists the checks. Not tested with a real
//! server.
//!
//! - A client's message, up to its last packet, is a request with one response. A request of
//!   several calls has as many messages, the first with all of its bytes.
//! - Each token of a response is a message, and the last one the reply. A packet's header belongs
//!   to the token it precedes or interrupts.
//! - An attention (the client asks the server to stop) is one way while a response is pending: that
//!   response ends where the server confirms the stop.
//! - Sessions of MARS are decoded while only one has a request open, and are opaque afterwards.
//! - TLS inside PRELOGIN and TLS after it are opaque. If only the login is encrypted, the rest is
//!   decoded.
//!
//! Of a login, only the name of the client's interface is reported.
//!
//! Start reading at [`TdsDecoder`], then `calls` (requests) and `tokens` (responses). For a ping,
//! send [`prelogin`] and pass all received bytes to [`answer()`].

mod answer;
mod calls;
mod decoder;
mod first_token;
mod login;
pub mod messages;
mod multiplexing;
mod opening;
mod session;
mod tokens;
mod types;
mod utf16;

use crate::protocols::ProtocolRow;
pub use answer::{Encryption, SqlServerVersion, TdsAnswer, answer};
pub use decoder::TdsDecoder;
use messages::packet;
use model::Protocol;

pub const ROW: ProtocolRow = ProtocolRow::new(
    Protocol::Tds,
    |openings, direction| opening::opens(direction, openings[direction]),
    |_| Box::new(TdsDecoder::new()),
);

/// Asks a server for its version and whether it wants encryption, before any login.
pub fn prelogin() -> Vec<u8> {
    // The client's own version, no encryption known, any instance, no thread, no multiple results.
    const OPTIONS: [(u8, &[u8]); 5] = [
        (option::VERSION, &[1, 0, 0, 0, 0, 0]),
        (option::ENCRYPTION, &[Encryption::NotSupported as u8]),
        (option::INSTANCE, &[0]),
        (option::THREAD, &[0; 4]),
        (option::MULTIPLE_RESULTS, &[0]),
    ];
    let table: usize = OPTIONS.len() * 5 + 1;
    let length = HEADER + table + OPTIONS.iter().map(|(_, value)| value.len()).sum::<usize>();
    let mut out = Vec::with_capacity(length);
    out.extend_from_slice(&[packet::PRELOGIN, LAST_PACKET, 0, length as u8, 0, 0, 0, 0]);
    let mut at = table;
    for (name, value) in OPTIONS {
        out.extend_from_slice(&[name, 0, at as u8, 0, value.len() as u8]);
        at += value.len();
    }
    out.push(option::END);
    for (_, value) in OPTIONS {
        out.extend_from_slice(value);
    }
    out
}

mod option {
    pub(super) const VERSION: u8 = 0;
    pub(super) const ENCRYPTION: u8 = 1;
    pub(super) const INSTANCE: u8 = 2;
    pub(super) const THREAD: u8 = 3;
    pub(super) const MULTIPLE_RESULTS: u8 = 4;
    pub(super) const END: u8 = 0xff;
}

const LAST_PACKET: u8 = 1;
/// Type, status, length, process, number, window.
const HEADER: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    /// From `python-tds-prelogin-silent.pcap`, sent by python-tds.
    const RECORDED: &[u8] = b"\x12\x01\0\x3a\0\0\0\0\0\0\x1a\0\x06\x01\0\x20\0\x01\x02\0\x21\0\x0c\x03\0\x2d\0\x04\x04\0\x31\0\x01\xff\
        \x01\0\0\0\0\0\x02MSSQLServer\0\0\0\0\0\0";

    #[test]
    fn the_request_is_a_drivers_less_the_name_of_an_instance() {
        let name = b"MSSQLServer";
        let mut expected = RECORDED.to_vec();
        let at = expected
            .windows(name.len())
            .position(|part| part == name)
            .expect("it is there");
        expected.drain(at..at + name.len());
        let less = u8::try_from(name.len()).expect("short");
        for place in [3, 22, 25, 30] {
            expected[place] -= less;
        }
        assert_eq!(prelogin(), expected);
    }
}
