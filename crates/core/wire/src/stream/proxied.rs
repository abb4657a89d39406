//! PROXY protocol, versions 1 and 2: a load balancer sends a header with the client's true address
//! first.
//!
//! Source: HAProxy's specification (proxy-protocol.txt), sections 2.1 and 2.2. The header is
//! emitted as a separate message without reply; its addresses are not inspected.

use crate::decoding::framing::Input;
use model::Timestamp;

#[derive(Debug, Default)]
pub(super) enum Preface {
    #[default]
    Unknown,
    Begun(Vec<(Timestamp, Vec<u8>)>),
    Header(HeaderPassed),
    Over,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct HeaderPassed {
    pub(super) started: Timestamp,
    pub(super) ended: Timestamp,
    pub(super) bytes: u64,
}

pub(super) enum PrefaceOutput<'a> {
    Waits,
    /// There is no header: the buffered bytes, which come first, and the input.
    Not(Vec<(Timestamp, Vec<u8>)>, Input<'a>),
    /// The input after the header.
    Behind(Input<'a>),
}

enum Beginning {
    Header(usize),
    More,
    Other,
}

impl Preface {
    pub(super) fn process_input<'a>(&mut self, mut input: Input<'a>) -> PrefaceOutput<'a> {
        let mut pieces = match std::mem::replace(self, Self::Over) {
            Self::Unknown => Vec::new(),
            Self::Begun(pieces) => pieces,
            other @ (Self::Header(_) | Self::Over) => {
                *self = other;
                return PrefaceOutput::Not(Vec::new(), input);
            }
        };
        let before: usize = pieces.iter().map(|(_, bytes)| bytes.len()).sum();
        let mut all: Vec<u8> = pieces.iter().flat_map(|(_, bytes)| bytes).copied().collect();
        all.extend(input.bytes().iter().take(MAX_HEADER_LEN.saturating_sub(before)));
        match beginning(&all) {
            Beginning::Header(length) => {
                let started = pieces.first().map_or(input.at(), |(at, _)| *at);
                *self = Self::Header(HeaderPassed {
                    started,
                    ended: input.at(),
                    bytes: length as u64,
                });
                input.take_bytes(length.saturating_sub(before));
                PrefaceOutput::Behind(input)
            }
            Beginning::More if input.unseen_count() == 0 && all.len() < MAX_HEADER_LEN => {
                pieces.push((input.at(), input.bytes().to_vec()));
                *self = Self::Begun(pieces);
                PrefaceOutput::Waits
            }
            Beginning::More | Beginning::Other => PrefaceOutput::Not(pieces, input),
        }
    }

    pub(super) fn take_buffered(&mut self) -> Vec<(Timestamp, Vec<u8>)> {
        match std::mem::replace(self, Self::Over) {
            Self::Begun(pieces) => pieces,
            Self::Unknown | Self::Over => Vec::new(),
            header @ Self::Header(_) => {
                *self = header;
                Vec::new()
            }
        }
    }

    pub(super) fn take_header(&mut self) -> Option<HeaderPassed> {
        let Self::Header(header) = *self else { return None };
        *self = Self::Over;
        Some(header)
    }
}

fn beginning(bytes: &[u8]) -> Beginning {
    if bytes.starts_with(VERSION_1) {
        return version_1(bytes);
    }
    if !bytes.starts_with(VERSION_2) {
        let is_open = VERSION_1.starts_with(bytes) || VERSION_2.starts_with(bytes);
        return if is_open {
            Beginning::More
        } else {
            Beginning::Other
        };
    }
    match bytes.get(VERSION_2.len()..) {
        // Version 2, LOCAL or PROXY; families and transports up to 3 and 2; the length of the
        // addresses.
        Some([0x20 | 0x21, family, high, low, ..]) if family >> 4 <= 3 && family & 0xf <= 2 => {
            let length = VERSION_2.len() + 4 + usize::from(u16::from_be_bytes([*high, *low]));
            match length {
                ..=MAX_HEADER_LEN if length <= bytes.len() => Beginning::Header(length),
                ..=MAX_HEADER_LEN => Beginning::More,
                _ => Beginning::Other,
            }
        }
        Some([] | [0x20 | 0x21] | [0x20 | 0x21, _] | [0x20 | 0x21, _, _]) => Beginning::More,
        _ => Beginning::Other,
    }
}

fn version_1(bytes: &[u8]) -> Beginning {
    let line = bytes.get(..MAX_LINE_LEN).unwrap_or(bytes);
    let end = line.windows(2).position(|two| two == b"\r\n");
    let rest = &line[VERSION_1.len()..end.unwrap_or(line.len())];
    let families: [&[u8]; 3] = [b"TCP4 ", b"TCP6 ", b"UNKNOWN"];
    let fits = families
        .iter()
        .any(|family| rest.starts_with(family) || (end.is_none() && family.starts_with(rest)));
    match end {
        _ if !fits
            || !rest
                .iter()
                .all(|byte| (b' '..=b'~').contains(byte) || *byte == b'\r') =>
        {
            Beginning::Other
        }
        Some(end) => Beginning::Header(end + 2),
        None if line.len() < MAX_LINE_LEN => Beginning::More,
        None => Beginning::Other,
    }
}

const VERSION_1: &[u8] = b"PROXY ";
const VERSION_2: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";
const MAX_LINE_LEN: usize = 107;
/// The addresses of Unix sockets and a certificate's names fit.
const MAX_HEADER_LEN: usize = 4096;
