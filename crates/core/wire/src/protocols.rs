//! What a protocol gives to detection and decoding, and the list of all.

use crate::PROTOCOLS;
use crate::decoding::decoder::Decoder;
use crate::decoding::recognition::Recognition;
use model::{Direction, PerDirection, Protocol};

#[derive(Debug)]
pub struct ProtocolRow {
    pub protocol: Protocol,
    /// Checks the first bytes of a direction strictly: whole messages with all of their fields. The
    /// other direction's may be empty. [`Recognition::Certain`] is kept for bytes that no other
    /// protocol has. It stays with more bytes, as does [`Recognition::Plausible`] of a server.
    pub detect: fn(PerDirection<&[u8]>, Direction) -> Recognition,
    /// A first request identifies protocol and version, so detection does not wait for the answer.
    /// The caller must know the request while the server works on it.
    pub asks_alone: bool,
    /// Whether a side can send exactly this before the other one speaks.
    pub burst: fn(Direction, &[u8]) -> bool,
    /// Takes the first bytes of both directions, which are not consumed.
    pub decoder: fn(PerDirection<&[u8]>) -> Box<dyn Decoder + Send>,
}

impl ProtocolRow {
    /// With an answer to wait for, and any burst.
    pub const fn new(
        protocol: Protocol,
        detect: fn(PerDirection<&[u8]>, Direction) -> Recognition,
        decoder: fn(PerDirection<&[u8]>) -> Box<dyn Decoder + Send>,
    ) -> Self {
        Self {
            protocol,
            detect,
            asks_alone: false,
            burst: |_, _| true,
            decoder,
        }
    }
}

/// The protocol that certainly fits a server's first bytes, unless the expected one certainly fits.
pub fn other_protocol(expected: Protocol, first_bytes: &[u8]) -> Option<Protocol> {
    let server = Direction::ServerToClient;
    let openings = PerDirection::from_fn(|direction| if direction == server { first_bytes } else { &[] });
    let verdict = |row: &ProtocolRow| (row.detect)(openings, server);
    let own = PROTOCOLS.iter().find(|row| row.protocol == expected)?;
    if verdict(own) == Recognition::Certain {
        return None;
    }
    let mut others = PROTOCOLS.iter().filter(|row| row.protocol != expected);
    let certain = others.find(|row| verdict(row) == Recognition::Certain);
    certain.map(|row| row.protocol)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_of_another_protocol_is_recognised_by_its_first_bytes() {
        let greeting: &[u8] =
            b"\x0a8.4.3\0\x0b\0\0\0abcdefgh\0\xff\xff\xff\x02\0\xff\xdf\x15\0\0\0\0\0\0\0\0\0\0abcdefghijkl\0mysql_native_password\0";
        let mysql = [&[greeting.len() as u8, 0, 0, 0], greeting].concat();
        let mysql = &mysql[..];
        let http: &[u8] = b"HTTP/1.1 400 Bad Request\r\nServer: nginx\r\n\r\n";
        for expected in [
            Protocol::Postgres,
            Protocol::Redis,
            Protocol::Tds,
            Protocol::Oracle,
        ] {
            assert_eq!(
                other_protocol(expected, mysql),
                Some(Protocol::Mysql),
                "{expected:?}"
            );
            assert_eq!(
                other_protocol(expected, http),
                Some(Protocol::Http),
                "{expected:?}"
            );
        }
        assert_eq!(other_protocol(Protocol::Mysql, mysql), None);
        assert_eq!(other_protocol(Protocol::Http, http), None);
        for answer in [&b"S"[..], b"N", b"", b"E\0\0"] {
            assert_eq!(other_protocol(Protocol::Postgres, answer), None);
        }
        assert_eq!(other_protocol(Protocol::Unknown, http), None);
    }

    #[test]
    fn each_protocol_has_one_row() {
        for protocol in Protocol::all_known() {
            let rows = PROTOCOLS.iter().map(|row| row.protocol);
            let rows = rows
                .chain(crate::http::dialects::protocols())
                .filter(|&row| row == protocol);
            assert_eq!(rows.count(), 1, "{protocol}");
        }
    }

    #[test]
    fn nothing_is_recognised_in_nothing() {
        for row in PROTOCOLS {
            for direction in Direction::ALL {
                let verdict = (row.detect)(PerDirection::default(), direction);
                assert_eq!(verdict, Recognition::More, "{}", row.protocol);
            }
        }
    }
}
