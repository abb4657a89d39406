//! SQL Server's protocol (TDS), as far as PRELOGIN: what a ping needs that has no credentials.
//!
//! Source: MS-TDS, sections 2.2.3.1 (packets) and 2.2.6.5 (PRELOGIN). The request is checked against recorded bytes of python-tds,
//! the answer against the specification's example. Not tried on a real server: see docs/protocols/tds.md.
//!
//! Start with [`prelogin`], then hand all bytes received since to [`answer`].

mod answer;

pub use answer::{Answer, Encryption, Version, answer};

/// Asks a server what it is. It answers with its version and whether it wants encryption, before anybody logs in.
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
    out.extend_from_slice(&[PRELOGIN, LAST_PACKET, 0, length as u8, 0, 0, 0, 0]);
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

/// Options of PRELOGIN.
mod option {
    pub(super) const VERSION: u8 = 0;
    pub(super) const ENCRYPTION: u8 = 1;
    pub(super) const INSTANCE: u8 = 2;
    pub(super) const THREAD: u8 = 3;
    pub(super) const MULTIPLE_RESULTS: u8 = 4;
    pub(super) const END: u8 = 0xff;
}

/// Types of packets.
const PRELOGIN: u8 = 0x12;
const RESPONSE: u8 = 0x04;
/// The bit of a packet's status that ends a message.
const LAST_PACKET: u8 = 1;
/// Bytes of a packet's header: type, status, length, process, number, window.
const HEADER: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    /// What python-tds sent: `python-tds-prelogin-silent.pcap`.
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
