//! How the server wants to be told the password.

use wire::reader::Reader;

/// A method of authentication by its name, and what is to be proved with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Challenge {
    pub method: String,
    pub nonce: Vec<u8>,
}

/// What the server's first packet says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Greeting {
    pub challenge: Challenge,
    /// The server's number of the connection.
    pub connection: u32,
    /// MariaDB's own capabilities; none of a server that is MySQL's.
    pub mariadb_offers: u32,
}

impl Greeting {
    /// Of protocol version 10.
    pub fn read(greeting: &[u8]) -> Option<Self> {
        let mut fields = Reader::new(greeting);
        if fields.u8()? != PROTOCOL_VERSION {
            return None;
        }
        fields.cstr()?;
        let connection = u32::from_le_bytes(*fields.take(4)?.first_chunk()?);
        let first = fields.take(8)?;
        fields.u8()?;
        let capabilities = u16::from_le_bytes(*fields.take(2)?.first_chunk()?);
        fields.take(1 + 2 + 2)?; // character set, status, more capabilities
        let length = usize::from(fields.u8()?);
        let extended = u32::from_le_bytes(*fields.take(10)?.last_chunk()?);
        let second_length = length.saturating_sub(8).max(13).min(fields.left());
        let second = fields.take(second_length)?;
        let mut nonce = [first, second].concat();
        nonce.truncate(NONCE);
        Some(Self {
            challenge: Challenge {
                method: text(fields.rest()),
                nonce,
            },
            connection,
            mariadb_offers: if capabilities & OF_MYSQL == 0 { extended } else { 0 },
        })
    }
}

impl Challenge {
    /// Of a request to use another method.
    pub fn switched(body: &[u8]) -> Option<Self> {
        let mut fields = Reader::new(body);
        fields.u8()?;
        let method = String::from_utf8_lossy(fields.cstr()?).into_owned();
        let mut nonce = fields.rest().to_vec();
        // Of 20 bytes and a zero, the zero is none of the challenge; one of 32 (client_ed25519) is whole.
        if nonce.len() == NONCE + 1 {
            nonce.truncate(NONCE);
        }
        Some(Self { method, nonce })
    }
}

fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).into_owned()
}

/// Set by MySQL's servers and cleared by MariaDB's.
const OF_MYSQL: u16 = 1;
const PROTOCOL_VERSION: u8 = 10;
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
        let greeted = Greeting::read(&greeting).expect("a greeting");
        assert_eq!((greeted.connection, greeted.mariadb_offers), (8, 0));
        let challenge = greeted.challenge;
        assert_eq!(challenge.method, "mysql_native_password");
        assert_eq!(challenge.nonce, b"12345678abcdefghijkl");
        assert_eq!(Greeting::read(&greeting[..40]), None);
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
            Greeting::read(&bytes);
            Challenge::switched(&bytes);
        }
    }
}
