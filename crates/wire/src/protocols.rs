//! The protocols there are, and how each is recognised. A new one is a folder and a row here.

use crate::decoder::Decoder;
use crate::{drda, http, informix, mysql, postgres, redis, tds, tls, tns};
use model::{Direction, Protocol};

/// How sure a look at the first bytes of one direction makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// These bytes are this protocol's and nobody else's.
    Certain,
    /// They could be this protocol's from the middle of a connection; the port may decide.
    Plausible,
    /// More bytes are needed to tell.
    More,
    /// They are not this protocol's.
    Never,
}

/// What detection knows of a protocol.
#[derive(Debug)]
pub struct Row {
    /// Its name.
    pub protocol: Protocol,
    /// Ports its servers usually listen on: a hint where the content is ambiguous, never more.
    pub ports: &'static [u16],
    /// Looks at the first bytes that were seen in a direction. Its verdict on a longer prefix of the same bytes is the
    /// same, unless it was [`Verdict::More`].
    pub recognise: fn(Direction, &[u8]) -> Verdict,
    /// A decoder at the beginning of a connection.
    pub decoder: fn() -> Box<dyn Decoder + Send>,
}

/// All of them, the surest signatures first.
pub static PROTOCOLS: &[Row] = &[
    Row {
        protocol: Protocol::Http,
        ports: &[80, 8000, 8008, 8080],
        recognise: http::recognise,
        decoder: || Box::new(http::HttpDecoder::new()),
    },
    Row {
        protocol: Protocol::Tls,
        ports: &[443, 8443],
        recognise: tls::recognise,
        decoder: || Box::new(tls::TlsDecoder::new()),
    },
    Row {
        protocol: Protocol::Postgres,
        ports: &[5432, 5433, 6432, 26257, 5439, 54321],
        recognise: postgres::recognise,
        decoder: || Box::new(postgres::PostgresDecoder::new()),
    },
    Row {
        protocol: Protocol::Mysql,
        ports: &[3306, 3307, 4000, 6033],
        recognise: mysql::recognise,
        decoder: || Box::new(mysql::MysqlDecoder::new()),
    },
    Row {
        protocol: Protocol::Redis,
        ports: &[6379, 6380, 7000, 26379],
        recognise: redis::recognise,
        decoder: || Box::new(redis::RedisDecoder::new()),
    },
    Row {
        protocol: Protocol::Informix,
        ports: &[9088, 9089, 1526, 1525],
        recognise: informix::recognise,
        decoder: || Box::new(informix::InformixDecoder::new()),
    },
    Row {
        protocol: Protocol::Drda,
        ports: &[50000, 1527, 446, 448],
        recognise: drda::recognise,
        decoder: || Box::new(drda::DrdaDecoder::new()),
    },
    Row {
        protocol: Protocol::Oracle,
        ports: &[1521, 1522],
        recognise: tns::recognise,
        decoder: || Box::new(tns::TnsDecoder::new()),
    },
    Row {
        protocol: Protocol::Tds,
        ports: &[1433],
        recognise: tds::recognise,
        decoder: || Box::new(tds::TdsDecoder::new()),
    },
];

/// What every `recognise` is held to: each sample gets its verdict, at some point and from there on.
#[cfg(test)]
pub(crate) fn assert_verdicts(
    recognise: fn(Direction, &[u8]) -> Verdict,
    samples: &[(Direction, &[u8], Verdict)],
) {
    for &(direction, bytes, expected) in samples {
        let mut decided = false;
        for end in 0..=bytes.len() {
            let verdict = recognise(direction, &bytes[..end]);
            assert!(
                verdict == expected || (verdict == Verdict::More && !decided),
                "{bytes:?} {end}: {verdict:?}"
            );
            decided = verdict != Verdict::More;
        }
        assert!(decided, "{bytes:?}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
                assert_eq!((row.recognise)(direction, b""), Verdict::More, "{}", row.protocol);
            }
        }
    }
}
