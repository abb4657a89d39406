//! A listener's answer to CONNECT.

use super::descriptor::find;
use super::messages::packet;
use crate::decoding::framing::HeaderFault;
use crate::decoding::reader::Reader;
use std::fmt;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListenerAnswer {
    /// The same request must be sent again on the same connection, a further round trip.
    Resend,
    Refuse(Refusal),
    Redirect {
        /// The listener's name for the host, or `None`.
        host: Option<String>,
        port: Option<u16>,
    },
    Accept {
        /// Version of the protocol: 314 is Oracle 11g, 317 is 18c, 319 is 23ai.
        protocol: u16,
        demands_encryption: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusal {
    /// Number of the ORA error, 0 for an answered ping. `None` if not reported.
    pub error: Option<u32>,
    pub version: Option<OracleVersion>,
}

/// A version of Oracle's software, in the form of `VSNNUM`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OracleVersion(pub u32);

impl fmt::Display for OracleVersion {
    /// Writes five numbers. From 18 on they take 8, 8, 4, 8 and 4 bits, before that 8, 4, 8, 4 and
    /// 8.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = if self.0 >> 24 >= 18 {
            [8, 8, 4, 8, 4]
        } else {
            [8, 4, 8, 4, 8]
        };
        let mut left = 32;
        for (place, width) in bits.into_iter().enumerate() {
            left -= width;
            let number = self.0 >> left & ((1 << width) - 1);
            write!(formatter, "{}{number}", if place == 0 { "" } else { "." })?;
        }
        Ok(())
    }
}

/// Reads an answer from all bytes received since the request; `None` while it is incomplete. At
/// most 128 KiB are ever needed.
///
/// # Errors
/// If the peer is not a listener, or does not answer CONNECT.
pub fn answer(bytes: &[u8]) -> Result<Option<ListenerAnswer>, HeaderFault> {
    let mut reader = Reader::new(bytes);
    let Some((kind, mut body)) = next_packet(&mut reader)? else {
        return Ok(None);
    };
    match kind {
        packet::RESEND => Ok(Some(ListenerAnswer::Resend)),
        packet::ACCEPT => accept(body).map(Some),
        packet::REFUSE => {
            body.u16_be().ok_or_else(|| short("a refusal"))?;
            Ok(text(body, &mut reader)?.map(|text| ListenerAnswer::Refuse(refusal(&text))))
        }
        packet::REDIRECT => Ok(text(body, &mut reader)?.map(|text| redirect(&text))),
        other => Err(HeaderFault {
            expected: "an answer to CONNECT",
            found: format!("a packet of type {other}"),
        }),
    }
}

fn next_packet<'a>(reader: &mut Reader<'a>) -> Result<Option<(u8, Reader<'a>)>, HeaderFault> {
    let header = reader.rest();
    if let Some(&kind) = header.get(4)
        && !(packet::CONNECT..=packet::LAST).contains(&kind)
    {
        return Err(HeaderFault {
            expected: "a packet of Oracle Net",
            found: format!("type {kind}"),
        });
    }
    let Some([high, low, _, _, kind, _, _, _]) = header.first_chunk::<HEADER>().copied() else {
        return Ok(None);
    };
    let length = usize::from(u16::from_be_bytes([high, low]));
    let body = length.checked_sub(HEADER).ok_or_else(|| short("a packet"))?;
    let mut ahead = *reader;
    let whole = ahead.take_bytes(HEADER).and_then(|_| ahead.sub(body));
    Ok(whole.map(|body| {
        *reader = ahead;
        (kind, body)
    }))
}

fn text(mut body: Reader<'_>, behind: &mut Reader<'_>) -> Result<Option<String>, HeaderFault> {
    let length = usize::from(body.u16_be().ok_or_else(|| short("an answer with a text"))?);
    if let Some(text) = body.take_bytes(length) {
        return Ok(Some(String::from_utf8_lossy(text).into_owned()));
    }
    let Some((kind, mut data)) = next_packet(behind)? else {
        return Ok(None);
    };
    let flags = data.u16_be();
    match (kind, flags, data.take_bytes(length)) {
        (packet::DATA, Some(_), Some(text)) => Ok(Some(String::from_utf8_lossy(text).into_owned())),
        _ => Err(short("the text of an answer")),
    }
}

fn accept(body: Reader<'_>) -> Result<ListenerAnswer, HeaderFault> {
    let mut fields = body;
    let protocol = fields.u16_be().ok_or_else(|| short("an acceptance"))?;
    let flags = body.rest().get(ACCEPT_FLAGS).copied().unwrap_or(0);
    Ok(ListenerAnswer::Accept {
        protocol,
        demands_encryption: flags & ENCRYPTION_REQUIRED != 0,
    })
}

pub(super) fn refusal(text: &str) -> Refusal {
    let number = |name| find(text, name).and_then(|digits| digits.parse().ok());
    Refusal {
        error: number("ERR").or_else(|| number("CODE")),
        version: number("VSNNUM").map(OracleVersion),
    }
}

fn redirect(text: &str) -> ListenerAnswer {
    let address = text.split('\0').next().unwrap_or_default();
    ListenerAnswer::Redirect {
        host: find(address, "HOST").map(str::to_owned),
        port: find(address, "PORT").and_then(|port| port.parse().ok()),
    }
}

fn short(expected: &'static str) -> HeaderFault {
    HeaderFault {
        expected,
        found: "one that is too short".to_owned(),
    }
}

/// Length, checksum, type, flags, checksum.
const HEADER: usize = 8;
/// Offset of the flags in the body of ACCEPT, and the inspected flag.
const ACCEPT_FLAGS: usize = 14;
const ENCRYPTION_REQUIRED: u8 = 0x10;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A refusal sent to both drivers, from `ojdbc11-23.5-connect-refuse.pcap`.
    const REFUSED: &[u8] =
        b"\0\x67\0\0\x04\0\0\0\x22\0\0\x5b(DESCRIPTION=(TMP=)(VSNNUM=318767104)(ERR=12514)\
        (ERROR_STACK=(ERROR=(CODE=12514)(EMFI=4))))";
    const RESEND: &[u8] = b"\0\x08\0\0\x0b\0\0\0";

    fn refused(error: u32) -> ListenerAnswer {
        ListenerAnswer::Refuse(Refusal {
            error: Some(error),
            version: Some(OracleVersion(318_767_104)),
        })
    }

    fn packet(kind: u8, body: &[u8]) -> Vec<u8> {
        let length = u16::try_from(body.len() + 8).expect("short").to_be_bytes();
        [&length[..], &[0, 0, kind, 0, 0, 0], body].concat()
    }

    #[test]
    fn a_refusal_tells_error_and_version() {
        assert_eq!(answer(REFUSED), Ok(Some(refused(12514))));
        let text = b"\0\0\0\x38(DESCRIPTION=(TMP=)(VSNNUM=318767104)(ERR=0)(ALIAS=LISTENER))";
        let mut pinged = packet(4, text);
        pinged[11] = u8::try_from(text.len() - 4).expect("short");
        assert_eq!(answer(&pinged), Ok(Some(refused(0))));
        assert_eq!(OracleVersion(318_767_104).to_string(), "19.0.0.0.0");
        assert_eq!(OracleVersion(387_584_000).to_string(), "23.26.1.0.0");
        assert_eq!(OracleVersion(186_647_552).to_string(), "11.2.0.4.0");
    }

    #[test]
    fn every_prefix_is_unfinished() {
        let long = b"(ADDRESS=(PROTOCOL=tcp)(HOST=node2)(PORT=1522))\0(DESCRIPTION=...)";
        let redirect = [
            packet(5, &[0, u8::try_from(long.len()).expect("short")]),
            packet(6, &[b"\0\0".as_slice(), long].concat()),
        ]
        .concat();
        let expected = ListenerAnswer::Redirect {
            host: Some("node2".to_owned()),
            port: Some(1522),
        };
        for (whole, expected) in [
            (REFUSED, refused(12514)),
            (RESEND, ListenerAnswer::Resend),
            (&redirect, expected),
        ] {
            for end in 0..whole.len() {
                assert_eq!(answer(&whole[..end]), Ok(None), "{end} of {expected:?}");
            }
            assert_eq!(answer(whole), Ok(Some(expected)));
        }
    }

    #[test]
    fn an_acceptance_tells_the_protocol() {
        let body = b"\x01\x3f\0\x01\x20\0\xff\xff\x01\0\0\x2d\0\0\x10\x10";
        let accepted = ListenerAnswer::Accept {
            protocol: 319,
            demands_encryption: true,
        };
        assert_eq!(answer(&packet(2, body)), Ok(Some(accepted)));
    }

    #[test]
    fn other_servers_are_told_apart() {
        for wrong in [
            b"HTTP/1.1 400 Bad Request\r\n".as_slice(),
            b"SSH-2.0-OpenSSH_9.2\r\n",
            b"\0\x03\0\0\x04\0\0\0",
            &packet(6, b"data"),
            &packet(4, b"\0\0"),
        ] {
            assert!(answer(wrong).is_err(), "{wrong:?}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_have_an_answer_or_none(
            kind in 0u8..20,
            body in prop::collection::vec(any::<u8>(), 0..80),
            flipped in any::<prop::sample::Index>(),
            bits in any::<u8>(),
        ) {
            let _ = answer(&body);
            let _ = answer(&packet(kind, &body));
            let mut damaged = REFUSED.to_vec();
            damaged[flipped.index(REFUSED.len())] ^= bits;
            if let Ok(Some(ListenerAnswer::Refuse(refusal))) = answer(&damaged) {
                let _ = refusal.version.map(|version| version.to_string());
            }
        }
    }
}
