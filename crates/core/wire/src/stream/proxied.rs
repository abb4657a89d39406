//! PROXY protocol, versions 1 and 2: a load balancer sends a header with the client's true address
//! first.
//!
//! Source: HAProxy's specification (proxy-protocol.txt), sections 2.1 and 2.2. The header is
//! emitted as a separate message without reply; its addresses are not inspected.

use crate::decoding::framing::Input;
use model::{StageOutput, Timestamp};

/// The bytes of a client until it is known whether they begin with a header.
#[derive(Debug, Default)]
pub(super) struct Preface {
    pieces: Vec<(Timestamp, Vec<u8>)>,
    stage: PrefaceStage,
}

#[derive(Debug, Clone, Copy, Default)]
enum PrefaceStage {
    #[default]
    Open,
    Header(HeaderPassed),
    Over,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct HeaderPassed {
    pub(super) started: Timestamp,
    pub(super) ended: Timestamp,
    pub(super) bytes: u64,
}

enum Beginning {
    Header(usize),
    More,
    Other,
}

impl Preface {
    /// Of a connection without a visible beginning.
    pub(super) const fn over() -> Self {
        Self {
            pieces: Vec::new(),
            stage: PrefaceStage::Over,
        }
    }

    /// Emits the input behind a header, or all if there is none.
    pub(super) fn process_input<'a>(&'a mut self, mut input: Input<'a>) -> StageOutput<Input<'a>> {
        if !matches!(self.stage, PrefaceStage::Open) {
            return StageOutput::Go(input);
        }
        let before: usize = self.pieces.iter().map(|(_, bytes)| bytes.len()).sum();
        let mut all: Vec<u8> = self.pieces.iter().flat_map(|(_, bytes)| bytes).copied().collect();
        all.extend(input.bytes().iter().take(MAX_HEADER_LEN.saturating_sub(before)));
        match beginning(&all) {
            Beginning::Header(length) => {
                let started = self.pieces.first().map_or(input.at(), |(at, _)| *at);
                self.stage = PrefaceStage::Header(HeaderPassed {
                    started,
                    ended: input.at(),
                    bytes: length as u64,
                });
                input.take_bytes(length.saturating_sub(before));
                StageOutput::from(Some(input).filter(|rest| !rest.is_empty()))
            }
            Beginning::More if input.unseen_count() == 0 && all.len() < MAX_HEADER_LEN => {
                self.pieces.push((input.at(), input.bytes().to_vec()));
                StageOutput::Stays
            }
            Beginning::More | Beginning::Other if self.pieces.is_empty() => {
                self.stage = PrefaceStage::Over;
                StageOutput::Go(input)
            }
            Beginning::More | Beginning::Other => {
                self.stage = PrefaceStage::Over;
                StageOutput::Released(self.inputs().chain([input]).collect())
            }
        }
    }

    /// There will be no header.
    pub(super) fn flush(&mut self) -> StageOutput<Input<'_>> {
        match self.stage {
            PrefaceStage::Open => {
                self.stage = PrefaceStage::Over;
                StageOutput::Released(self.inputs().collect())
            }
            PrefaceStage::Header(_) | PrefaceStage::Over => StageOutput::Stays,
        }
    }

    pub(super) const fn header(&self) -> Option<HeaderPassed> {
        match self.stage {
            PrefaceStage::Header(header) => Some(header),
            PrefaceStage::Open | PrefaceStage::Over => None,
        }
    }

    fn inputs(&self) -> impl Iterator<Item = Input<'_>> {
        self.pieces.iter().map(|(at, bytes)| Input::seen(*at, bytes))
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
