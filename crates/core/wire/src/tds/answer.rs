//! The server's answer to PRELOGIN.

use super::messages::packet::TABULAR_RESULT;
use super::{HEADER, LAST_PACKET, option};
use crate::decoding::fault::fault;
use crate::decoding::framing::HeaderFault;
use crate::decoding::reader::Reader;
use std::fmt;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TdsAnswer {
    pub version: Option<SqlServerVersion>,
    pub encryption: Option<Encryption>,
}

/// A version of SQL Server: 16.0.1000 is SQL Server 2022.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SqlServerVersion {
    pub major: u8,
    pub minor: u8,
    pub build: u16,
}

impl fmt::Display for SqlServerVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}.{}", self.major, self.minor, self.build)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Encryption {
    LoginOnly = 0,
    Everything = 1,
    NotSupported = 2,
    /// Everything, or there will be no connection.
    Required = 3,
}

/// Reads an answer from all bytes received since the request; `None` while it is incomplete. At
/// most 64 KiB are ever needed.
///
/// # Errors
/// If the peer is not SQL Server, or does not answer PRELOGIN.
pub fn answer(bytes: &[u8]) -> Result<Option<TdsAnswer>, HeaderFault> {
    let mut reader = Reader::new(bytes);
    let mut message = Vec::new();
    loop {
        let Some((is_last, body)) = next_packet(&mut reader)? else {
            return Ok(None);
        };
        message.extend_from_slice(body);
        if is_last {
            return options(&message).map(Some);
        }
        if message.len() > MAX_ANSWER_LEN {
            return Err(fault("an answer to PRELOGIN", "a longer message"));
        }
    }
}

/// Returns the packet's body and whether it is the last. Wrong bytes are reported as early as
/// possible.
fn next_packet<'a>(reader: &mut Reader<'a>) -> Result<Option<(bool, &'a [u8])>, HeaderFault> {
    match reader.rest().first() {
        Some(&TABULAR_RESULT) => {}
        Some(other) => return Err(fault("a response of TDS", format!("type {other:#04x}"))),
        None => return Ok(None),
    }
    let Some([_, status, high, low, ..]) = reader.rest().first_chunk::<HEADER>().copied() else {
        return Ok(None);
    };
    let length = usize::from(u16::from_be_bytes([high, low]));
    let body = length
        .checked_sub(HEADER)
        .ok_or_else(|| fault("a length of at least 8", length.to_string()))?;
    let mut ahead = *reader;
    let whole = ahead.take_bytes(HEADER).and_then(|_| ahead.take_bytes(body));
    Ok(whole.map(|body| {
        *reader = ahead;
        (status & LAST_PACKET != 0, body)
    }))
}

/// Reads the table of options: name, place, length, up to the terminator.
pub(super) fn options(message: &[u8]) -> Result<TdsAnswer, HeaderFault> {
    let mut table = Reader::new(message);
    let mut answer = TdsAnswer {
        version: None,
        encryption: None,
    };
    if message.first() != Some(&option::VERSION) {
        return Err(fault("an answer to PRELOGIN", "another message"));
    }
    loop {
        let name = table
            .u8()
            .ok_or_else(|| fault("the end of the options", "none"))?;
        if name == option::END {
            return Ok(answer);
        }
        let place = table.u16_be().zip(table.u16_be());
        let value = place.and_then(|(at, length)| {
            let rest = message.get(usize::from(at)..)?;
            rest.get(..usize::from(length))
        });
        let value = value.ok_or_else(|| fault("an option within its message", "one beyond it"))?;
        match (name, value) {
            (option::VERSION, [major, minor, high, low, ..]) => {
                answer.version = Some(SqlServerVersion {
                    major: *major,
                    minor: *minor,
                    build: u16::from_be_bytes([*high, *low]),
                });
            }
            (option::ENCRYPTION, [encryption, ..]) => answer.encryption = named(*encryption),
            _ => {}
        }
    }
}

fn named(byte: u8) -> Option<Encryption> {
    [
        Encryption::LoginOnly,
        Encryption::Everything,
        Encryption::NotSupported,
        Encryption::Required,
    ]
    .into_iter()
    .find(|encryption| *encryption as u8 == byte)
}

const MAX_ANSWER_LEN: usize = 16 * 1024;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The example of MS-TDS, section 4.3: SQL Server 2000 without encryption.
    const EXAMPLE: &[u8] = b"\x04\x01\0\x2b\0\0\x01\0\0\0\x1a\0\x06\x01\0\x20\0\x01\x02\0\x21\0\x01\x03\0\x22\0\0\x04\0\x22\0\x01\xff\
        \x08\0\x01\x55\0\0\x02\0\0";

    #[test]
    fn the_example_of_the_specification_is_understood() {
        let expected = TdsAnswer {
            version: Some(SqlServerVersion {
                major: 8,
                minor: 0,
                build: 341,
            }),
            encryption: Some(Encryption::NotSupported),
        };
        for end in 0..EXAMPLE.len() {
            assert_eq!(answer(&EXAMPLE[..end]), Ok(None), "{end}");
        }
        assert_eq!(answer(EXAMPLE), Ok(Some(expected)));
        assert_eq!(
            expected.version.map(|version| version.to_string()),
            Some("8.0.341".to_owned())
        );
        let (header, body) = EXAMPLE.split_at(8);
        let part = |status: u8, body: &[u8]| {
            let mut packet = header.to_vec();
            packet[1] = status;
            packet[3] = u8::try_from(body.len() + 8).expect("short");
            packet.extend_from_slice(body);
            packet
        };
        let split = [part(0, &body[..9]), part(1, &body[9..])].concat();
        assert_eq!(answer(&split), Ok(Some(expected)));
    }

    #[test]
    fn other_servers_are_told_apart() {
        for wrong in [
            b"HTTP/1.1 400 Bad Request\r\n".as_slice(),
            b"\x04\x01\0\x07\0\0\0\0",
            b"\x04\x01\0\x09\0\0\0\0\xaa",
            b"\x04\x01\0\x0d\0\0\0\0\0\0\xff\0\x06",
            b"\x04\x01\0\x08\0\0\0\0",
        ] {
            assert!(answer(wrong).is_err(), "{wrong:?}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_have_an_answer_or_none(
            bytes in prop::collection::vec(any::<u8>(), 0..80),
            flipped in any::<prop::sample::Index>(),
            bits in any::<u8>(),
        ) {
            let _ = answer(&bytes);
            let _ = answer(&[EXAMPLE, &bytes].concat());
            let mut damaged = EXAMPLE.to_vec();
            damaged[flipped.index(EXAMPLE.len())] ^= bits;
            let _ = answer(&damaged);
        }
    }
}
