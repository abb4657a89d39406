//! All protocols and how each is recognised. A new protocol is a folder and a row here.

use crate::decoding::decoder::Decoder;
use crate::decoding::recognition::Recognition;
use crate::{drda, fastcgi, http, informix, mysql, postgres, redis, tds, tls, tns};
use model::{Direction, PerDirection, Protocol};

#[derive(Debug)]
pub struct ProtocolRow {
    pub protocol: Protocol,
    /// Usual ports of servers, used only where the content is ambiguous.
    pub ports: &'static [u16],
    /// Searches for a message where a lost direction continues. A longer prefix of the same bytes
    /// has the same verdict, unless it was [`Recognition::More`].
    pub recognise: fn(Direction, &[u8]) -> Recognition,
    /// Checks the first bytes of a direction strictly: whole messages with all of their fields.
    /// [`Recognition::Certain`] is kept for bytes that no other protocol has. It stays with more
    /// bytes, as does [`Recognition::Plausible`] of a server.
    pub opens: fn(Direction, &[u8]) -> Recognition,
    /// Like `opens` for the server's first bytes, given the client's.
    pub answers: fn(&[u8], &[u8]) -> Recognition,
    /// A first request identifies protocol and version, so detection does not wait for the answer.
    /// The caller must know the request while the server works on it.
    pub asks_alone: bool,
    /// Whether a side can send exactly this before the other one speaks.
    pub burst: fn(Direction, &[u8]) -> bool,
    /// Takes the first bytes of both directions, which are not consumed.
    pub decoder: fn(PerDirection<&[u8]>) -> Box<dyn Decoder + Send>,
}

const fn any_burst(_: Direction, _: &[u8]) -> bool {
    true
}

/// The most certain signatures come first.
pub static PROTOCOLS: &[ProtocolRow] = &[
    ProtocolRow {
        protocol: Protocol::Http,
        ports: &[80, 8000, 8008, 8080],
        recognise: http::recognise,
        opens: http::opens,
        answers: |_, server| http::opens(Direction::ServerToClient, server),
        asks_alone: true,
        burst: any_burst,
        decoder: |_| Box::new(http::HttpDecoder::new()),
    },
    ProtocolRow {
        protocol: Protocol::Fastcgi,
        ports: &[9000],
        recognise: fastcgi::recognise,
        opens: fastcgi::opens,
        answers: fastcgi::answers,
        asks_alone: true,
        burst: any_burst,
        decoder: |_| Box::new(fastcgi::FastcgiDecoder::new()),
    },
    ProtocolRow {
        protocol: Protocol::Tls,
        ports: &[443, 8443],
        recognise: tls::recognise,
        opens: tls::opens,
        answers: |_, server| tls::opens(Direction::ServerToClient, server),
        asks_alone: false,
        burst: any_burst,
        decoder: |_| Box::new(tls::TlsDecoder::new()),
    },
    ProtocolRow {
        protocol: Protocol::Postgres,
        ports: &[5432, 5433, 6432, 26257, 5439, 54321],
        recognise: postgres::recognise,
        opens: postgres::opens,
        answers: postgres::answers,
        asks_alone: false,
        burst: postgres::burst,
        decoder: |_| Box::new(postgres::PostgresDecoder::new()),
    },
    ProtocolRow {
        protocol: Protocol::Mysql,
        ports: &[3306, 3307, 4000, 6033],
        recognise: mysql::recognise,
        opens: mysql::opens,
        answers: |_, server| mysql::opens(Direction::ServerToClient, server),
        asks_alone: false,
        burst: any_burst,
        decoder: |openings| Box::new(mysql::MysqlDecoder::from_openings(openings)),
    },
    ProtocolRow {
        protocol: Protocol::Redis,
        ports: &[6379, 6380, 7000, 26379],
        recognise: redis::recognise,
        opens: redis::opens,
        answers: redis::answers,
        asks_alone: false,
        burst: any_burst,
        decoder: |_| Box::new(redis::RedisDecoder::new()),
    },
    ProtocolRow {
        protocol: Protocol::Informix,
        ports: &[9088, 9089, 1526, 1525],
        recognise: informix::recognise,
        opens: informix::opens,
        answers: |_, server| informix::opens(Direction::ServerToClient, server),
        asks_alone: false,
        burst: informix::burst,
        decoder: |_| Box::new(informix::InformixDecoder::new()),
    },
    ProtocolRow {
        protocol: Protocol::Drda,
        ports: &[50000, 1527, 446, 448],
        recognise: drda::recognise,
        opens: drda::opens,
        answers: |_, server| drda::opens(Direction::ServerToClient, server),
        asks_alone: false,
        burst: any_burst,
        decoder: |_| Box::new(drda::DrdaDecoder::new()),
    },
    ProtocolRow {
        protocol: Protocol::Oracle,
        ports: &[1521, 1522],
        recognise: tns::recognise,
        opens: tns::opens,
        answers: |_, server| tns::opens(Direction::ServerToClient, server),
        asks_alone: false,
        burst: any_burst,
        decoder: |_| Box::new(tns::TnsDecoder::new()),
    },
    ProtocolRow {
        protocol: Protocol::Tds,
        ports: &[1433],
        recognise: tds::recognise,
        opens: tds::opens,
        answers: |_, server| tds::opens(Direction::ServerToClient, server),
        asks_alone: false,
        burst: any_burst,
        decoder: |_| Box::new(tds::TdsDecoder::new()),
    },
];

/// The protocol that certainly fits a server's first bytes, unless the expected one certainly fits.
pub fn other_protocol(expected: Protocol, first_bytes: &[u8]) -> Option<Protocol> {
    let verdict = |row: &ProtocolRow| (row.opens)(Direction::ServerToClient, first_bytes);
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
    fn names_are_unique() {
        for (index, row) in PROTOCOLS.iter().enumerate() {
            assert!(
                PROTOCOLS
                    .iter()
                    .skip(index + 1)
                    .all(|other| other.protocol != row.protocol)
            );
        }
    }

    #[test]
    fn nothing_is_recognised_in_nothing() {
        for row in PROTOCOLS {
            for direction in [Direction::ClientToServer, Direction::ServerToClient] {
                assert_eq!(
                    (row.recognise)(direction, b""),
                    Recognition::More,
                    "{}",
                    row.protocol
                );
                assert_eq!((row.opens)(direction, b""), Recognition::More, "{}", row.protocol);
            }
        }
    }
}
