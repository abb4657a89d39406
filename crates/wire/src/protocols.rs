//! The protocols there are, and how each is recognised. A new one is a folder and a row here.

use crate::{fastcgi, http, mysql, postgres, redis, tls};
use decoding::decoder::Decoder;
use decoding::recognition::Recognition;
use model::{Direction, Protocol};
use wire_commercial::{drda, informix, tds, tns};

/// What detection knows of a protocol.
#[derive(Debug)]
pub struct ProtocolRow {
    /// Its name.
    pub protocol: Protocol,
    /// Ports its servers usually listen on: a hint where the content is ambiguous, never more.
    pub ports: &'static [u16],
    /// Looks for a message where a direction that was lost goes on. Its verdict on a longer prefix of the
    /// same bytes is the same, unless it was [`Recognition::More`].
    pub recognise: fn(Direction, &[u8]) -> Recognition,
    /// Looks at the first bytes that were seen in a direction, strictly: whole messages with all of their
    /// fields. [`Recognition::Certain`] is kept for what no other protocol has, and, as
    /// [`Recognition::Plausible`] of a server, stays with more bytes.
    pub opens: fn(Direction, &[u8]) -> Recognition,
    /// The same of the server's first bytes, knowing the client's.
    pub answers: fn(&[u8], &[u8]) -> Recognition,
    /// A first request leaves no doubt about the protocol and its version, so that no answer is waited for:
    /// whose work a server does for it has to be known while it does.
    pub asks_alone: bool,
    /// Whether a side can say just this before the other one speaks.
    pub burst: fn(Direction, &[u8]) -> bool,
    /// A decoder for a connection with these first bytes, of the client and of the server.
    pub decoder: fn([&[u8]; 2]) -> Box<dyn Decoder + Send>,
}

/// Of protocols whose bursts need no look of their own.
const fn any_burst(_: Direction, _: &[u8]) -> bool {
    true
}

/// All of them, the surest signatures first.
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

/// The protocol that a server's first bytes are certainly of, where they are not certainly of the one that is
/// expected.
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
