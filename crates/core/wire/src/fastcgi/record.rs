//! Records with a header of eight bytes.

use crate::decoding::fault::fault;
use crate::decoding::framing::HeaderFault;
use model::Direction;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    BeginRequest,
    AbortRequest,
    EndRequest,
    Params,
    Stdin,
    Stdout,
    Stderr,
    Data,
    GetValues,
    GetValuesResult,
    UnknownType,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) kind: Kind,
    /// 0 for records about the application itself.
    pub(super) request: u16,
    pub(super) content: u16,
    pub(super) padding: u8,
}

impl Header {
    pub(super) const fn body(self) -> u64 {
        self.content as u64 + self.padding as u64
    }
}

impl Kind {
    const fn from_code(code: u8) -> Option<Self> {
        Some(match code {
            1 => Self::BeginRequest,
            2 => Self::AbortRequest,
            3 => Self::EndRequest,
            4 => Self::Params,
            5 => Self::Stdin,
            6 => Self::Stdout,
            7 => Self::Stderr,
            8 => Self::Data,
            9 => Self::GetValues,
            10 => Self::GetValuesResult,
            11 => Self::UnknownType,
            _ => return None,
        })
    }

    const fn direction(self) -> Direction {
        match self {
            Self::BeginRequest
            | Self::AbortRequest
            | Self::Params
            | Self::Stdin
            | Self::Data
            | Self::GetValues => Direction::ClientToServer,
            Self::EndRequest | Self::Stdout | Self::Stderr | Self::GetValuesResult | Self::UnknownType => {
                Direction::ServerToClient
            }
        }
    }

    const fn is_of_application(self) -> bool {
        matches!(self, Self::GetValues | Self::GetValuesResult | Self::UnknownType)
    }

    const fn fixed_content(self) -> Option<u16> {
        match self {
            Self::BeginRequest | Self::EndRequest | Self::UnknownType => Some(8),
            Self::AbortRequest => Some(0),
            Self::Params
            | Self::Stdin
            | Self::Stdout
            | Self::Stderr
            | Self::Data
            | Self::GetValues
            | Self::GetValuesResult => None,
        }
    }
}

pub(super) fn header(direction: Direction, bytes: &[u8]) -> Result<Header, HeaderFault> {
    let Some(&[version, code, high, low, content_high, content_low, padding, _]) =
        bytes.first_chunk::<LENGTH>()
    else {
        return Err(fault("the header of a record", "less"));
    };
    if version != VERSION {
        return Err(fault("version 1", version.to_string()));
    }
    let kind = Kind::from_code(code).filter(|kind| kind.direction() == direction);
    let kind = kind.ok_or_else(|| fault("a record of this side", format!("type {code}")))?;
    let request = u16::from_be_bytes([high, low]);
    if kind.is_of_application() != (request == 0) {
        return Err(fault(
            "the number of a request",
            format!("{request} with type {code}"),
        ));
    }
    let content = u16::from_be_bytes([content_high, content_low]);
    if kind.fixed_content().is_some_and(|fixed| fixed != content) {
        return Err(fault("the length of such a record", content.to_string()));
    }
    Ok(Header {
        kind,
        request,
        content,
        padding,
    })
}

pub(super) const LENGTH: usize = 8;
pub(super) const VERSION: u8 = 1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_those_of_their_side() {
        let begin = header(Direction::ClientToServer, &[1, 1, 0, 1, 0, 8, 0, 0]).expect("one");
        assert_eq!(
            (begin.kind, begin.request, begin.body()),
            (Kind::BeginRequest, 1, 8)
        );
        let output = header(Direction::ServerToClient, &[1, 6, 1, 2, 0xff, 0xf8, 7, 0]).expect("one");
        assert_eq!((output.request, output.body()), (258, 65_535));
        for (direction, bad) in [
            (Direction::ClientToServer, [1, 6, 0, 1, 0, 8, 0, 0]),
            (Direction::ServerToClient, [1, 4, 0, 1, 0, 8, 0, 0]),
            (Direction::ClientToServer, [2, 1, 0, 1, 0, 8, 0, 0]),
            (Direction::ClientToServer, [1, 1, 0, 0, 0, 8, 0, 0]),
            (Direction::ClientToServer, [1, 9, 0, 1, 0, 8, 0, 0]),
            (Direction::ClientToServer, [1, 1, 0, 1, 0, 9, 0, 0]),
            (Direction::ServerToClient, [1, 12, 0, 0, 0, 8, 0, 0]),
        ] {
            header(direction, &bad).expect_err("no such record");
        }
    }
}
