//! A client that sends SETTINGS only, which servers acknowledge at once (RFC 9113, section 6.5): after
//! three PINGs without a call, servers of gRPC would end the connection.

use super::frames::{FRAME_HEADER, FrameHeader, Kind, MAX_FRAME};

/// The client's preface and its SETTINGS.
pub const OPENING: &[u8; 33] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
pub const SETTINGS: &[u8; 9] = b"\0\0\0\x04\0\0\0\0\0";
pub const SETTINGS_ACK: &[u8; 9] = b"\0\0\0\x04\x01\0\0\0\0";

/// Reads the server's frames. Holds at most one.
#[derive(Debug, Default)]
pub struct PingClient {
    unread: Vec<u8>,
    is_settled: bool,
    acknowledged: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PingFault {
    /// Names the expected bytes.
    Unexpected(&'static str),
    GoAway {
        code: u32,
    },
}

impl PingClient {
    /// Takes bytes of the server, and adds to `answers` those to send.
    ///
    /// # Errors
    /// For GOAWAY, and bytes that are not frames of a server.
    pub fn process_bytes(&mut self, bytes: &[u8], answers: &mut Vec<u8>) -> Result<(), PingFault> {
        self.unread.extend_from_slice(bytes);
        let mut taken = 0;
        while let Some(header) = FrameHeader::parse(&self.unread[taken..]) {
            let body_at = taken + FRAME_HEADER;
            let length = self.check(header)?;
            let Some(body) = self.unread.get(body_at..body_at + length) else {
                break;
            };
            match (header.kind, header.is_ack()) {
                (Kind::Settings, true) => self.acknowledged += 1,
                (Kind::Settings, false) => {
                    self.is_settled = true;
                    answers.extend_from_slice(SETTINGS_ACK);
                }
                (Kind::Ping, false) => {
                    answers.extend_from_slice(PING_ACK);
                    answers.extend_from_slice(body);
                }
                (Kind::GoAway, _) => {
                    let code = body.get(4..).and_then(|code| code.first_chunk());
                    let code = code.map_or(0, |code| u32::from_be_bytes(*code));
                    return Err(PingFault::GoAway { code });
                }
                _ => {}
            }
            taken = body_at + length;
        }
        self.unread.drain(..taken);
        Ok(())
    }

    /// How many SETTINGS the server has acknowledged; `None` before it has sent its own.
    pub fn acknowledged(&self) -> Option<u64> {
        self.is_settled.then_some(self.acknowledged)
    }

    /// For a connection that the server has closed.
    pub fn fault_of_end(&self) -> Option<PingFault> {
        let is_other = !self.is_settled && !self.unread.is_empty();
        is_other.then_some(PingFault::Unexpected(CLEAR_TEXT))
    }

    fn check(&self, header: FrameHeader) -> Result<usize, PingFault> {
        let may_begin = matches!(header.kind, Kind::Settings | Kind::GoAway);
        let is_from_server = header.kind != Kind::Preface && (self.is_settled || may_begin);
        let is_empty_ack = header.kind != Kind::Settings || !header.is_ack() || header.length == 0;
        if !is_from_server {
            return Err(PingFault::Unexpected(CLEAR_TEXT));
        }
        if header.length > MAX_FRAME {
            return Err(PingFault::Unexpected("a frame of HTTP/2 of at most 16 KiB"));
        }
        if !header.fits() || !is_empty_ack {
            return Err(PingFault::Unexpected("a frame of HTTP/2 with its usual length"));
        }
        usize::try_from(header.length).map_err(|_| PingFault::Unexpected(CLEAR_TEXT))
    }
}

/// The name of an error's number (RFC 9113, section 7).
pub fn error_name(code: u32) -> &'static str {
    let name = usize::try_from(code).ok().and_then(|code| ERRORS.get(code));
    name.copied().unwrap_or("unknown")
}

const CLEAR_TEXT: &str = "HTTP/2 without TLS";
const PING_ACK: &[u8; 9] = b"\0\0\x08\x06\x01\0\0\0\0";
const ERRORS: [&str; 14] = [
    "NO_ERROR",
    "PROTOCOL_ERROR",
    "INTERNAL_ERROR",
    "FLOW_CONTROL_ERROR",
    "SETTINGS_TIMEOUT",
    "STREAM_CLOSED",
    "FRAME_SIZE_ERROR",
    "REFUSED_STREAM",
    "CANCEL",
    "COMPRESSION_ERROR",
    "CONNECT_ERROR",
    "ENHANCE_YOUR_CALM",
    "INADEQUATE_SECURITY",
    "HTTP_1_1_REQUIRED",
];

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW_UPDATE: &[u8] = b"\0\0\x04\x08\0\0\0\0\0\0\0\xff\xff";

    fn answers(bytes: &[u8], size: usize) -> (Result<Option<u64>, PingFault>, Vec<u8>) {
        let (mut client, mut answers) = (PingClient::default(), Vec::new());
        let mut pieces = bytes.chunks(size);
        let read = pieces.try_for_each(|piece| client.process_bytes(piece, &mut answers));
        (read.map(|()| client.acknowledged()), answers)
    }

    #[test]
    fn settings_and_pings_of_the_server_are_answered_in_any_pieces() {
        let ping = b"\0\0\x08\x06\0\0\0\0\0abcdefgh";
        let bytes = [SETTINGS, WINDOW_UPDATE, SETTINGS_ACK, ping, SETTINGS_ACK].concat();
        let expected = [SETTINGS_ACK, &PING_ACK[..], b"abcdefgh"].concat();
        for size in [1, 5, 9, 10, bytes.len()] {
            assert_eq!(answers(&bytes, size), (Ok(Some(2)), expected.clone()), "{size}");
        }
        assert_eq!(answers(SETTINGS_ACK, 9).0, Ok(None));
    }

    #[test]
    fn an_alert_of_tls_is_not_http2() {
        let mut client = PingClient::default();
        assert_eq!(client.fault_of_end(), None);
        let alert = b"\x15\x03\x01\0\x02\x02\x46";
        assert_eq!(client.process_bytes(alert, &mut Vec::new()), Ok(()));
        assert_eq!(client.fault_of_end(), Some(PingFault::Unexpected(CLEAR_TEXT)));
    }

    #[test]
    fn other_bytes_are_refused() {
        let go_away = b"\0\0\x08\x07\0\0\0\0\0\0\0\0\0\0\0\0\x0b";
        assert_eq!(answers(go_away, 3).0, Err(PingFault::GoAway { code: 11 }));
        assert_eq!(error_name(11), "ENHANCE_YOUR_CALM");
        assert_eq!(error_name(99), "unknown");
        let long = [SETTINGS, &b"\0\x40\x01\0\0\0\0\0\x01"[..]].concat();
        for bytes in [
            b"HTTP/1.1 400 Bad Request",
            OPENING.as_slice(),
            WINDOW_UPDATE,
            b"\0\0\x06\x04\x01\0\0\0\0",
            b"\0\0\x05\x04\0\0\0\0\0",
            &long,
        ] {
            assert!(
                matches!(answers(bytes, 4).0, Err(PingFault::Unexpected(_))),
                "{bytes:?}"
            );
        }
    }
}
