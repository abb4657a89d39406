//! Handshake messages that affect the choice of keys.

use crate::suite::Suite;

/// Message type (RFC 8446 section 4).
pub(crate) type Kind = u8;
pub(crate) const CLIENT_HELLO: Kind = 1;
pub(crate) const SERVER_HELLO: Kind = 2;
pub(crate) const END_OF_EARLY_DATA: Kind = 5;
pub(crate) const FINISHED: Kind = 20;
pub(crate) const KEY_UPDATE: Kind = 24;

pub(crate) struct ServerHello {
    pub(crate) random: [u8; 32],
    /// `None` if the suite is not supported.
    pub(crate) suite: Option<Suite>,
    pub(crate) is_13: bool,
    /// As stated in the message, where TLS 1.3 states the version of TLS 1.2.
    pub(crate) version: u16,
    /// Encrypt-then-MAC, by RFC 7366.
    pub(crate) encrypts_then_macs: bool,
    /// Requests another `ClientHello` (RFC 8446 section 4.1.3).
    pub(crate) is_retry: bool,
}

pub(crate) fn client_random(record: &[u8]) -> Option<[u8; 32]> {
    match record {
        [CLIENT_HELLO, _, _, _, 3, _, rest @ ..] => rest.first_chunk().copied(),
        _ => None,
    }
}

/// Takes a `ClientHello` in the form of SSL 2, after its version. The random value is the
/// challenge, with leading zeros (RFC 5246 appendix E.2).
pub(crate) fn old_client_random(body: &[u8]) -> Option<[u8; 32]> {
    let (lengths, rest) = body.split_first_chunk::<6>()?;
    let [ciphers, session, challenge] =
        [0, 2, 4].map(|place| usize::from(u16::from_be_bytes([lengths[place], lengths[place + 1]])));
    let challenge = rest.get(ciphers + session..)?.get(..challenge)?;
    let mut random = [0; 32];
    let begin = 32usize.checked_sub(challenge.len())?;
    random[begin..].copy_from_slice(challenge);
    Some(random)
}

pub(crate) fn server_hello(record: &[u8]) -> Option<ServerHello> {
    let [SERVER_HELLO, high, middle, low, rest @ ..] = record else {
        return None;
    };
    let length = usize::try_from(u32::from_be_bytes([0, *high, *middle, *low])).ok()?;
    let hello = rest.get(..length).unwrap_or(rest);
    let (version, rest) = hello.split_first_chunk::<2>()?;
    let (random, rest) = rest.split_first_chunk::<32>()?;
    let (&session, rest) = rest.split_first()?;
    let rest = rest.get(usize::from(session)..)?;
    let (&[high, low, _], extensions) = rest.split_first_chunk::<3>()?;
    let extensions = extensions.get(2..).unwrap_or_default();
    Some(ServerHello {
        random: *random,
        suite: Suite::from_number(u16::from_be_bytes([high, low])),
        is_13: extension(extensions, SUPPORTED_VERSIONS) == Some(&[3, 4]),
        version: u16::from_be_bytes(*version),
        encrypts_then_macs: extension(extensions, ENCRYPT_THEN_MAC).is_some(),
        is_retry: *random == RETRY_RANDOM,
    })
}

fn extension(mut extensions: &[u8], wanted: [u8; 2]) -> Option<&[u8]> {
    while let Some((&[kind_high, kind_low, high, low], rest)) = extensions.split_first_chunk::<4>() {
        let (value, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes([high, low])))?;
        if [kind_high, kind_low] == wanted {
            return Some(value);
        }
        extensions = rest;
    }
    None
}

/// Tracks message boundaries in the handshake records of one direction, without storing them.
#[derive(Debug, Default)]
pub(crate) struct Messages {
    left: usize,
    header: Vec<u8>,
    kind: Kind,
}

impl Messages {
    /// Calls `ended` for each message that ends in the record.
    pub(crate) fn process_record(&mut self, mut record: &[u8], ended: &mut dyn FnMut(Kind)) {
        while !record.is_empty() {
            if self.left == 0 {
                let wanted = 4 - self.header.len();
                let (part, rest) = record.split_at(wanted.min(record.len()));
                self.header.extend_from_slice(part);
                record = rest;
                let &[kind, high, middle, low] = self.header.as_slice() else {
                    return;
                };
                self.header.clear();
                self.kind = kind;
                self.left = u32::from_be_bytes([0, high, middle, low]) as usize;
            }
            let here = self.left.min(record.len());
            self.left -= here;
            record = &record[here..];
            if self.left == 0 {
                ended(self.kind);
            }
        }
    }
}

const SUPPORTED_VERSIONS: [u8; 2] = [0, 43];
const ENCRYPT_THEN_MAC: [u8; 2] = [0, 22];

/// The random value that marks a `HelloRetryRequest`: SHA-256 of that name (RFC 8446 section
/// 4.1.3).
const RETRY_RANDOM: [u8; 32] = [
    0xCF, 0x21, 0xAD, 0x74, 0xE5, 0x9A, 0x61, 0x11, 0xBE, 0x1D, 0x8C, 0x02, 0x1E, 0x65, 0xB8, 0x91, 0xC2,
    0xA2, 0x11, 0x16, 0x7A, 0xBB, 0x8C, 0x5E, 0x07, 0x9E, 0x09, 0xE2, 0xC8, 0xA8, 0x33, 0x9C,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_random_value_of_an_old_greeting_is_its_challenge() {
        let challenge: Vec<u8> = (1..=32).collect();
        let greeting = |session: usize, challenge: &[u8]| {
            let lengths = [6, session as u16, challenge.len() as u16]
                .map(u16::to_be_bytes)
                .concat();
            [lengths, vec![0; 6], vec![9; session], challenge.to_vec()].concat()
        };
        for session in [0, 16] {
            let whole = old_client_random(&greeting(session, &challenge)).expect("a greeting");
            assert_eq!(whole.as_slice(), challenge);
            let short = old_client_random(&greeting(session, &challenge[..16])).expect("a greeting");
            assert_eq!((&short[..16], &short[16..]), (&[0; 16][..], &challenge[..16]));
        }
        assert_eq!(old_client_random(&greeting(0, &[7; 33])), None);
        assert_eq!(old_client_random(&greeting(0, &challenge)[..20]), None);
    }

    #[test]
    fn messages_end_where_they_end_however_records_cut_them() {
        let stream = [
            &[8, 0, 0, 2, 1, 1][..],
            &[20, 0, 0, 3, 1, 1, 1],
            &[5, 0, 0, 0, 24, 0, 0, 1, 1],
        ]
        .concat();
        for cut in 0..stream.len() {
            let mut messages = Messages::default();
            let mut kinds = Vec::new();
            for record in [&stream[..cut], &stream[cut..]] {
                messages.process_record(record, &mut |kind| kinds.push(kind));
            }
            assert_eq!(
                kinds,
                [8, FINISHED, END_OF_EARLY_DATA, KEY_UPDATE],
                "cut at {cut}"
            );
        }
    }
}
