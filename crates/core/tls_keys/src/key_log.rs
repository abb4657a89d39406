//! Key log of a client's or server's TLS library, one secret per line.
//!
//! Source: RFC 9850 (SSLKEYLOGFILE), which is NSS's format. A line is a label, the `ClientHello`'s
//! random value and the secret, both in hexadecimal digits. Ignored are blank lines, comments with
//! `#`, unknown labels, a byte order mark, and the zero bytes of UTF-16, in which PowerShell writes
//! redirected output.

use crate::closed::Closed;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

pub trait Secrets: Send + Sync {
    /// TLS begins on a connection. Returns whether there are secrets at all; without any, TLS is
    /// decoded as if no key log was given.
    fn tls_begins(&self) -> bool {
        true
    }

    /// The secrets known for the session with this random value in its `ClientHello`. A connection
    /// may ask several times, since a client writes secrets during the handshake.
    fn find_secrets(&self, client_random: &[u8; 32]) -> Option<Arc<SessionSecrets>>;

    /// Counts a `ClientHello`. Called once per connection.
    fn greeted(&self) {}

    /// Counts a decrypted connection. Called once per connection.
    fn opened(&self) {}

    /// Counts a connection that ended without a decrypted record. Called at most once for each.
    fn unopened(&self, _: Closed) {}

    /// Like `unopened`, for a connection that was decrypted at first but not to its end.
    fn opened_in_part(&self, _: Closed) {}

    /// Counts an inauthentic record of a decrypted connection. Its content is missing.
    fn damaged(&self) {}
}

/// The known secrets of one session. `Debug` shows their labels only.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct SessionSecrets {
    secrets: [Option<Secret>; LABELS.len()],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Label {
    Master,
    Early,
    ClientHandshake,
    ServerHandshake,
    ClientTraffic,
    ServerTraffic,
}

#[derive(Clone, PartialEq, Eq)]
struct Secret(Vec<u8>);

impl SessionSecrets {
    pub(crate) fn get(&self, label: Label) -> Option<&[u8]> {
        self.secrets[label as usize]
            .as_ref()
            .map(|secret| secret.0.as_slice())
    }
}

impl fmt::Debug for SessionSecrets {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = LABELS.iter().zip(&self.secrets);
        let known = known
            .filter(|(_, secret)| secret.is_some())
            .map(|((name, _), _)| name);
        formatter.debug_set().entries(known).finish()
    }
}

/// The secrets of all sessions of a log. `Debug` shows only their number.
#[derive(Default)]
pub struct KeyLog {
    sessions: HashMap<[u8; 32], Arc<SessionSecrets>>,
    by_identifier: u64,
}

impl fmt::Debug for KeyLog {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "KeyLog of {} sessions", self.sessions.len())
    }
}

/// Error in a line of a key log. It tells nothing of the content, which may be secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyLogFault {
    #[error("expected a label and two values, as in CLIENT_RANDOM 0123... 4567...")]
    Words,
    #[error("expected values of pairs of hexadecimal digits")]
    Digits,
    /// A random value is not of 32 bytes, or a secret not of 32 to 64.
    #[error("expected a random value of 32 bytes and a secret of 32 to 64")]
    Length,
    /// The secret exceeds the maximum number of sessions.
    #[error("expected secrets of fewer sessions")]
    Room,
}

impl KeyLog {
    /// Adds a line. Returns whether it holds a secret: comments and unknown labels do not.
    ///
    /// # Errors
    /// If the line does not have the format of a key log.
    pub fn line(&mut self, line: &[u8]) -> Result<bool, KeyLogFault> {
        self.line_within(line, usize::MAX)
    }

    /// As [`KeyLog::line`], for a maximum number of sessions.
    ///
    /// # Errors
    /// As [`KeyLog::line`], and for a secret of a further session.
    pub fn line_within(&mut self, line: &[u8], most_sessions: usize) -> Result<bool, KeyLogFault> {
        let narrow;
        let line = if line.contains(&0) {
            narrow = line
                .iter()
                .copied()
                .filter(|byte| *byte != 0)
                .collect::<Vec<u8>>();
            narrow.as_slice()
        } else {
            line
        };
        let marked = BYTE_ORDER_MARKS.iter().find_map(|mark| line.strip_prefix(*mark));
        let line = marked.unwrap_or(line).trim_ascii();
        if line.is_empty() || line.starts_with(b"#") {
            return Ok(false);
        }
        if line.starts_with(BY_IDENTIFIER) {
            self.by_identifier += 1;
            return Ok(false);
        }
        let mut words = line
            .split(u8::is_ascii_whitespace)
            .filter(|word| !word.is_empty());
        let (Some(label), Some(random), Some(secret), None) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return Err(KeyLogFault::Words);
        };
        if !label
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
        {
            return Err(KeyLogFault::Words);
        }
        let (random, secret) = (bytes(random)?, bytes(secret)?);
        let Some((_, label)) = LABELS.iter().find(|(name, _)| name.as_bytes() == label) else {
            return Ok(false);
        };
        let Ok(random) = <[u8; 32]>::try_from(random.as_slice()) else {
            return Err(KeyLogFault::Length);
        };
        if !(MIN_SECRET_LEN..=MAX_SECRET_LEN).contains(&secret.len()) {
            return Err(KeyLogFault::Length);
        }
        if self.sessions.len() >= most_sessions && !self.sessions.contains_key(&random) {
            return Err(KeyLogFault::Room);
        }
        let session = Arc::make_mut(self.sessions.entry(random).or_default());
        session.secrets[*label as usize] = Some(Secret(secret));
        Ok(true)
    }

    pub fn sessions(&self) -> usize {
        self.sessions.len()
    }

    /// Number of lines that name a session of TLS 1.2 by its identifier (`RSA Session-ID:`), as an
    /// agent for Java writes them. They are useless for decryption: the identifier need not be on
    /// the wire.
    pub fn by_identifier(&self) -> u64 {
        self.by_identifier
    }
}

impl Secrets for KeyLog {
    fn find_secrets(&self, client_random: &[u8; 32]) -> Option<Arc<SessionSecrets>> {
        self.sessions.get(client_random).map(Arc::clone)
    }
}

/// Marks of UTF-8 and of UTF-16, without zero bytes.
const BYTE_ORDER_MARKS: [&[u8]; 3] = [b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"];

const BY_IDENTIFIER: &[u8] = b"RSA Session-ID:";

fn bytes(digits: &[u8]) -> Result<Vec<u8>, KeyLogFault> {
    let digit = |byte: u8| {
        char::from(byte)
            .to_digit(16)
            .and_then(|digit| u8::try_from(digit).ok())
    };
    if !digits.len().is_multiple_of(2) {
        return Err(KeyLogFault::Digits);
    }
    let pairs = digits.chunks_exact(2).map(|pair| {
        let (high, low) = (digit(pair[0]), digit(pair[1]));
        high.zip(low).map(|(high, low)| high << 4 | low)
    });
    pairs.collect::<Option<_>>().ok_or(KeyLogFault::Digits)
}

/// In the order of [`Label`], by which secrets are indexed.
const LABELS: [(&str, Label); 6] = [
    ("CLIENT_RANDOM", Label::Master),
    ("CLIENT_EARLY_TRAFFIC_SECRET", Label::Early),
    ("CLIENT_HANDSHAKE_TRAFFIC_SECRET", Label::ClientHandshake),
    ("SERVER_HANDSHAKE_TRAFFIC_SECRET", Label::ServerHandshake),
    ("CLIENT_TRAFFIC_SECRET_0", Label::ClientTraffic),
    ("SERVER_TRAFFIC_SECRET_0", Label::ServerTraffic),
];

/// A secret has the length of a hash of TLS 1.3, or the 48 bytes of TLS 1.2's master secret.
const MIN_SECRET_LEN: usize = 32;
const MAX_SECRET_LEN: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_in_the_order_of_their_numbers() {
        for (index, (_, label)) in LABELS.iter().enumerate() {
            assert_eq!(*label as usize, index);
        }
    }

    #[test]
    fn a_line_is_a_secret_a_comment_or_a_fault() {
        let mut log = KeyLog::default();
        let (random, secret) = ("0a".repeat(32), "Fb".repeat(48));
        assert_eq!(log.line(b"# SSL/TLS secrets log file"), Ok(false));
        assert_eq!(log.line(b"\r\n"), Ok(false));
        assert_eq!(
            log.line(format!("CLIENT_RANDOM {random} {secret}\r\n").as_bytes()),
            Ok(true)
        );
        assert_eq!(
            log.line(format!("EXPORTER_SECRET {random} {secret}").as_bytes()),
            Ok(false)
        );
        let by_identifier = format!("RSA Session-ID:{random} Master-Key:{secret}");
        assert_eq!(log.line(by_identifier.as_bytes()), Ok(false));
        assert_eq!((log.by_identifier(), log.sessions()), (1, 1));
        for marked in [&b"\xef\xbb\xbf"[..], b"\xff\xfe"] {
            let line = format!("CLIENT_RANDOM {random} {secret}\r\n");
            assert_eq!(log.line(&[marked, line.as_bytes()].concat()), Ok(true));
            let wide: Vec<u8> = line.bytes().flat_map(|byte| [byte, 0]).collect();
            assert_eq!(log.line(&[marked, &wide].concat()), Ok(true));
        }
        assert_eq!(log.line(b"GET / HTTP/1.1"), Err(KeyLogFault::Digits));
        assert_eq!(log.line(b"\xd4\xc3\xb2\xa1 1 2"), Err(KeyLogFault::Words));
        assert_eq!(log.line(b"CLIENT_RANDOM 0a"), Err(KeyLogFault::Words));
        assert_eq!(log.line(b"CLIENT_RANDOM 0a 0b"), Err(KeyLogFault::Length));
        let session = log.find_secrets(&[10; 32]).expect("it has a secret");
        assert_eq!(session.get(Label::Master), Some(&[0xfb; 48][..]));
        assert_eq!(session.get(Label::Early), None);
        assert_eq!(
            format!("{session:?} {log:?}"),
            "{\"CLIENT_RANDOM\"} KeyLog of 1 sessions"
        );
    }
}
