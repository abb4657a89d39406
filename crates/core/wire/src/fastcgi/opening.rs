//! Strict check of the first bytes of FastCGI, and of a resumed direction.

use super::record::{Header, Kind, LENGTH, header};
use crate::decoding::recognition::Recognition;
use model::{Direction, PerDirection};

fn opens(direction: Direction, bytes: &[u8]) -> Recognition {
    let header = match parse_header(direction, bytes) {
        Ok(header) => header,
        Err(verdict) => return verdict,
    };
    let content = bytes.get(LENGTH..).unwrap_or_default();
    match header.kind {
        Kind::BeginRequest => match begins(content) {
            Recognition::Plausible => second(header, bytes),
            verdict @ (Recognition::Certain | Recognition::More | Recognition::Never) => verdict,
        },
        Kind::GetValues => names(content, |byte, place| {
            b"FCGI_"
                .get(place)
                .map_or(is_of_name(byte), |expected| *expected == byte)
        }),
        Kind::Stdout => field_name(content, header.content),
        Kind::Stderr if header.content > 0 => Recognition::Plausible,
        Kind::EndRequest => ends(content),
        Kind::GetValuesResult | Kind::UnknownType => Recognition::Plausible,
        Kind::AbortRequest | Kind::Params | Kind::Stdin | Kind::Data | Kind::Stderr => Recognition::Never,
    }
}

pub(super) fn detect(openings: PerDirection<&[u8]>, direction: Direction) -> Recognition {
    match direction {
        Direction::ClientToServer => opens(direction, openings[direction]),
        Direction::ServerToClient => answers(openings[Direction::ClientToServer], openings[direction]),
    }
}

fn answers(client: &[u8], server: &[u8]) -> Recognition {
    match (client.get(2..4), server.get(2..4)) {
        (Some(asked), Some(answered)) if asked != answered => Recognition::Never,
        _ => opens(Direction::ServerToClient, server),
    }
}

pub(super) fn recognise(direction: Direction, bytes: &[u8]) -> Recognition {
    match parse_header(direction, bytes) {
        Err(verdict) => verdict,
        Ok(header) => match (direction, header.kind) {
            (_, Kind::BeginRequest) => begins(bytes.get(LENGTH..).unwrap_or_default()),
            (_, Kind::GetValues) | (Direction::ServerToClient, _) => Recognition::Plausible,
            (Direction::ClientToServer, _) => Recognition::Never,
        },
    }
}

/// Requires a zero reserved byte, which every implementation sends.
fn parse_header(direction: Direction, bytes: &[u8]) -> Result<Header, Recognition> {
    if bytes.len() >= LENGTH {
        let fits = bytes.get(LENGTH - 1) == Some(&0);
        let found = header(direction, bytes).ok().filter(|_| fits);
        return found.ok_or(Recognition::Never);
    }
    // Assumes the best for the missing bytes: rejects only headers that cannot be valid.
    let fits = bytes.iter().zip(0..).all(|(&byte, place)| match place {
        0 => byte == super::record::VERSION,
        1 => (1..=11).contains(&byte),
        _ => true,
    });
    Err(if fits {
        Recognition::More
    } else {
        Recognition::Never
    })
}

/// The content of BEGIN_REQUEST: role, keep-connection flag, zeros.
fn begins(content: &[u8]) -> Recognition {
    let fits = content.iter().take(8).zip(0..).all(|(&byte, place)| match place {
        1 => (1..=3).contains(&byte),
        2 => byte <= 1,
        _ => byte == 0,
    });
    verdict(fits, content.len() >= 8)
}

/// The content of END_REQUEST: application status, one of four states, zeros.
fn ends(content: &[u8]) -> Recognition {
    let fits = content.iter().take(8).zip(0..).all(|(&byte, place)| match place {
        0..=3 => true,
        4 => byte <= 3,
        _ => byte == 0,
    });
    verdict(fits, content.len() >= 8)
}

const fn verdict(fits: bool, is_whole: bool) -> Recognition {
    match (fits, is_whole) {
        (false, _) => Recognition::Never,
        (true, false) => Recognition::More,
        (true, true) => Recognition::Plausible,
    }
}

fn second(first: Header, bytes: &[u8]) -> Recognition {
    let from = LENGTH + usize::try_from(first.body()).unwrap_or(usize::MAX);
    let Some(rest) = bytes.get(from..) else {
        return Recognition::More;
    };
    match parse_header(Direction::ClientToServer, rest) {
        Err(verdict) => verdict,
        Ok(header) if header.request != first.request => Recognition::Never,
        Ok(Header {
            kind: Kind::Params,
            content,
            ..
        }) if content > 0 => names(rest.get(LENGTH..).unwrap_or_default(), |byte, _| is_of_name(byte)),
        Ok(Header {
            kind: Kind::Params | Kind::AbortRequest,
            ..
        }) => Recognition::Plausible,
        Ok(_) => Recognition::Never,
    }
}

fn names(content: &[u8], fits: impl Fn(u8, usize) -> bool) -> Recognition {
    let behind = match *content {
        [] | [1..=127] => return Recognition::More,
        [1..=127, 0..=127, ..] => 2,
        [1..=127, _, ..] => 5,
        _ => return Recognition::Never,
    };
    let length = content.first().copied().map_or(0, usize::from);
    let name = content.get(behind..).unwrap_or_default();
    let name = name.get(..length).unwrap_or(name);
    if !name.iter().zip(0..).all(|(&byte, place)| fits(byte, place)) {
        Recognition::Never
    } else if name.len() < length {
        Recognition::More
    } else if length >= NAME {
        Recognition::Certain
    } else {
        Recognition::Plausible
    }
}

const fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_'
}

fn field_name(content: &[u8], length: u16) -> Recognition {
    let content = content.get(..usize::from(length)).unwrap_or(content);
    let of_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'-';
    let name = content.iter().take_while(|byte| of_name(byte)).count();
    match content.get(name) {
        Some(b':') if name > 0 => Recognition::Certain,
        Some(_) => Recognition::Never,
        None if content.len() == usize::from(length) || name > MAX_FIELD_LEN => Recognition::Never,
        None => Recognition::More,
    }
}

/// Bytes of a name that leave no doubt: `PATH` and `HTTPS` are the shortest usual names.
const NAME: usize = 4;
const MAX_FIELD_LEN: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decoding::recognition::assert_verdicts;

    const BEGIN: &[u8] = b"\x01\x01\0\x01\0\x08\0\0\0\x01\x01\0\0\0\0\0";

    #[test]
    fn a_request_is_certain_with_the_first_name_of_its_parameters() {
        use Direction::{ClientToServer as Client, ServerToClient as Server};
        let with = |behind: &[u8]| [BEGIN, behind].concat();
        let certain = with(b"\x01\x04\0\x01\0\x40\0\0\x0c\x03QUERY_STRINGa=1");
        let long = with(b"\x01\x04\0\x01\xff\xff\0\0\x0b\x80\0\x20\0HTTP_COOKIEx");
        let another = with(b"\x01\x04\0\x02\0\x40\0\0\x0c\x03QUERY_STRINGa=1");
        let letters = with(b"\x01\x04\0\x01\0\x40\0\0\x0c\x03query_stringa=1");
        let records: [(Direction, &[u8], Recognition); 13] = [
            (Client, &certain, Recognition::Certain),
            (Client, &long, Recognition::Certain),
            (Client, &another, Recognition::Never),
            (Client, &letters, Recognition::Never),
            (
                Client,
                b"\x01\x09\0\0\0\x10\0\0\x0e\0FCGI_MAX_CONNS",
                Recognition::Certain,
            ),
            (Client, b"\x01\x05\0\x01\0\0\0\0", Recognition::Never),
            (Client, b"\x01\x01\0\x01\0\x08\0\0\0\x04", Recognition::Never),
            (
                Server,
                b"\x01\x06\0\x01\0\x20\0\0Status: 404",
                Recognition::Certain,
            ),
            (Server, b"\x01\x06\0\x01\0\x20\0\0<html", Recognition::Never),
            (Server, b"\x01\x07\0\x01\0\x20\0\0PHP", Recognition::Plausible),
            (
                Server,
                b"\x01\x03\0\x01\0\x08\0\0\0\0\0\0\0\0\0\0",
                Recognition::Plausible,
            ),
            (
                Server,
                b"\x01\x03\0\x01\0\x08\0\0\0\0\0\0\x04",
                Recognition::Never,
            ),
            (Server, b"\x02", Recognition::Never),
        ];
        assert_verdicts(opens, &records);
    }

    #[test]
    fn an_answer_has_the_number_of_its_request() {
        let reply = |number: u8| [b"\x01\x06\0", &[number][..], b"\0\x20\0\0Status: 404"].concat();
        assert_eq!(answers(BEGIN, &reply(1)), Recognition::Certain);
        assert_eq!(answers(BEGIN, &reply(2)), Recognition::Never);
        assert_eq!(answers(b"", &reply(2)), Recognition::Certain);
    }

    #[test]
    fn a_client_goes_on_with_a_request() {
        assert_verdicts(
            recognise,
            &[
                (Direction::ClientToServer, BEGIN, Recognition::Plausible),
                (
                    Direction::ClientToServer,
                    b"\x01\x04\0\x01\0\x08\0\0",
                    Recognition::Never,
                ),
                (
                    Direction::ServerToClient,
                    b"\x01\x06\0\x01\0\x08\0\0",
                    Recognition::Plausible,
                ),
            ],
        );
    }
}
