//! Login messages: the server's greeting, its password request, and the client's response.

use super::packet;
use wire::mysql::messages::PROTOCOL_VERSION;
use wire::reader::Reader;

/// An authentication method by name, and data to answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Challenge {
    pub method: String,
    pub nonce: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Greeting {
    pub challenge: Challenge,
    pub connection: u32,
    /// Whether the server accepts rows in bulk, as MariaDB does.
    pub offers_bulk: bool,
    pub offers_compression: bool,
    pub offers_tls: bool,
}

impl Greeting {
    /// For protocol version 10.
    pub fn parse(greeting: &[u8]) -> Option<Self> {
        let mut fields = Reader::new(greeting);
        if fields.u8()? != PROTOCOL_VERSION {
            return None;
        }
        fields.cstr()?;
        let connection = u32::from_le_bytes(*fields.take_bytes(4)?.first_chunk()?);
        let first = fields.take_bytes(8)?;
        fields.u8()?;
        let capabilities = u16::from_le_bytes(*fields.take_bytes(2)?.first_chunk()?);
        fields.take_bytes(1 + 2 + 2)?; // character set, status, more capabilities
        let length = usize::from(fields.u8()?);
        let extended = u32::from_le_bytes(*fields.take_bytes(10)?.last_chunk()?);
        let second_length = length.saturating_sub(8).max(13).min(fields.left());
        let second = fields.take_bytes(second_length)?;
        let mut nonce = [first, second].concat();
        nonce.truncate(NONCE);
        Some(Self {
            challenge: Challenge {
                method: text(fields.rest()),
                nonce,
            },
            connection,
            offers_bulk: capabilities & OF_MYSQL == 0 && extended & BULK != 0,
            offers_compression: u32::from(capabilities) & COMPRESS != 0,
            offers_tls: capabilities & TLS != 0,
        })
    }
}

impl Challenge {
    pub fn switched(body: &[u8]) -> Option<Self> {
        let mut fields = Reader::new(body);
        fields.u8()?;
        let method = String::from_utf8_lossy(fields.cstr()?).into_owned();
        let mut nonce = fields.rest().to_vec();
        // The zero after 20 bytes is not part of the challenge; a challenge of 32 bytes
        // (client_ed25519) is whole.
        if nonce.len() == NONCE + 1 {
            nonce.truncate(NONCE);
        }
        Some(Self { method, nonce })
    }
}

pub(crate) struct LoginRequest<'l> {
    pub user: &'l str,
    /// `None` to begin without a database.
    pub database: Option<&'l str>,
    /// Name of the authentication method, and the answer.
    pub method: &'l str,
    pub proof: &'l [u8],
    pub compression: bool,
    pub loading: bool,
    pub bulk: bool,
}

impl LoginRequest<'_> {
    pub fn packet(&self) -> Vec<u8> {
        let mut flags =
            LONG_PASSWORD | PROTOCOL_41 | TRANSACTIONS | SECURE_CONNECTION | MULTI_RESULTS | PLUGIN_AUTH;
        let asked = [
            (self.database.is_some(), CONNECT_WITH_DB),
            (self.compression, COMPRESS),
            (self.loading, LOCAL_FILES),
        ];
        for (_, flag) in asked.iter().filter(|(is_asked, _)| *is_asked) {
            flags |= flag;
        }
        let mut reserved = [0; 23];
        if self.bulk {
            // Without this flag, which marks MySQL's clients, the reserved bytes end with MariaDB's
            // own flags.
            flags &= !LONG_PASSWORD;
            if let Some(extended) = reserved.last_chunk_mut() {
                *extended = BULK.to_le_bytes();
            }
        }
        let mut out = Vec::new();
        packet(&mut out, 1, |body| {
            body.extend_from_slice(&flags.to_le_bytes());
            body.extend_from_slice(&(1_u32 << 24).to_le_bytes());
            body.push(UTF8MB4);
            body.extend_from_slice(&reserved);
            body.extend_from_slice(self.user.as_bytes());
            body.extend_from_slice(&[0, self.proof.len() as u8]);
            body.extend_from_slice(self.proof);
            for text in [self.database, Some(self.method)].into_iter().flatten() {
                body.extend_from_slice(text.as_bytes());
                body.push(0);
            }
        });
        out
    }
}

fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).into_owned()
}

/// Set by MySQL's servers and cleared by MariaDB's.
const OF_MYSQL: u16 = 1;
const TLS: u16 = 1 << 11;
const UTF8MB4: u8 = 45;
const LONG_PASSWORD: u32 = 1;
const CONNECT_WITH_DB: u32 = 1 << 3;
const COMPRESS: u32 = 1 << 5;
const LOCAL_FILES: u32 = 1 << 7;
/// `MARIADB_CLIENT_STMT_BULK_OPERATIONS`, of MariaDB's own flags.
const BULK: u32 = 1 << 2;
const PROTOCOL_41: u32 = 1 << 9;
const TRANSACTIONS: u32 = 1 << 13;
const SECURE_CONNECTION: u32 = 1 << 15;
const MULTI_RESULTS: u32 = 1 << 17;
const PLUGIN_AUTH: u32 = 1 << 19;
const NONCE: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_greeting_of_mariadb_is_read() {
        let mut greeting =
            b"\x0a5.5.5-10.11.6-MariaDB\0\x08\0\0\x0012345678\0\xfe\xf7\x2d\x02\0\xff\x81\x15".to_vec();
        greeting.extend_from_slice(&[0; 10]);
        greeting.extend_from_slice(b"abcdefghijkl\0mysql_native_password\0");
        let greeted = Greeting::parse(&greeting).expect("a greeting");
        assert_eq!(
            (
                greeted.connection,
                greeted.offers_bulk,
                greeted.offers_compression
            ),
            (8, false, true)
        );
        let challenge = greeted.challenge;
        assert_eq!(challenge.method, "mysql_native_password");
        assert_eq!(challenge.nonce, b"12345678abcdefghijkl");
        assert_eq!(Greeting::parse(&greeting[..40]), None);
        let switched =
            Challenge::switched(b"\xfeclient_ed25519\x0001234567890123456789012345678901").expect("a switch");
        assert_eq!(
            (switched.method.as_str(), switched.nonce.len()),
            ("client_ed25519", 32)
        );
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_harm(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            Greeting::parse(&bytes);
            Challenge::switched(&bytes);
        }
    }
}
