//! Recognises SQLI by login packets, or in the middle by two consecutive codes with fitting fields.

use super::messages;
use super::messages::{COMMAND, EOT, ID, PREPARE, TUPLE};
use super::scan::{ACCEPT, Kind, REDIRECT, REJECT, REQUEST, SQLI, Scan};
use super::shape::Features;
use crate::decoding::framing::Input;
use crate::decoding::recognition::Recognition;
use model::{Direction, Timestamp};

pub(super) fn opens(direction: Direction, bytes: &[u8]) -> Recognition {
    match login(direction, bytes) {
        Recognition::Never => middle(direction, bytes),
        verdict @ (Recognition::Certain | Recognition::Plausible | Recognition::More) => verdict,
    }
}

/// Both sides end a group with the same code, and then wait.
pub(super) fn burst(_: Direction, bytes: &[u8]) -> bool {
    bytes.ends_with(&EOT.to_be_bytes())
}

/// A login packet with length, type, protocol, flags, and two tags.
fn login(direction: Direction, bytes: &[u8]) -> Recognition {
    if direction == Direction::ClientToServer && bytes.first() == Some(&b's') {
        return old_login(bytes);
    }
    let fits = |place: usize, byte: u8| match (place, direction) {
        (2, Direction::ClientToServer) => byte == REQUEST,
        (2, Direction::ServerToClient) => matches!(byte, ACCEPT | REJECT | REDIRECT),
        (3, _) => byte == SQLI,
        (6 | 8, _) => byte == 0,
        (7, _) => byte == FIRST_TAG,
        (9, _) => byte == SECOND_TAG,
        _ => true,
    };
    let head = bytes.get(..LOGIN_HEAD).unwrap_or(bytes);
    if !head.iter().enumerate().all(|(place, &byte)| fits(place, byte)) {
        Recognition::Never
    } else if head.len() < LOGIN_HEAD {
        Recognition::More
    } else {
        Recognition::Certain
    }
}

/// `sq`, eight characters, and the name of the service: the text header of ESQL/C.
fn old_login(bytes: &[u8]) -> Recognition {
    let head = bytes.get(..OLD_LOGIN.len()).unwrap_or(bytes);
    let fits = |(&byte, &expected): (&u8, &u8)| match expected {
        b'.' => byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'),
        expected => byte == expected,
    };
    if !head.iter().zip(OLD_LOGIN).all(fits) {
        Recognition::Never
    } else if head.len() < OLD_LOGIN.len() {
        Recognition::More
    } else {
        Recognition::Certain
    }
}

/// A message that is not the end of a group, and another after it. Goes byte by byte, so that the
/// result does not depend on later bytes.
fn middle(direction: Direction, bytes: &[u8]) -> Recognition {
    let sample = bytes.get(..SAMPLE).unwrap_or(bytes);
    let mut scan = Scan::new(direction);
    let (mut begun, mut before) = (0, 0);
    for (place, byte) in sample.chunks(1).enumerate() {
        let ended = scan.advance(&mut Input::seen(Timestamp::default(), byte), Features::default());
        let message = sample.get(begun..=place).unwrap_or_default();
        if scan.kind() != Kind::Coded || !plausible(direction, &scan, message) {
            return Recognition::Never;
        }
        let known = before + u8::from(scan.code().is_some_and(|code| code != EOT || before > 0));
        let is_statement = matches!(scan.code(), Some(COMMAND | PREPARE));
        if known > 1 || (is_statement && message.len() >= STATEMENT_SAMPLE) {
            return Recognition::Plausible;
        }
        if ended {
            scan.ended();
            (begun, before) = (place + 1, known);
        }
    }
    if bytes.len() < SAMPLE {
        Recognition::More
    } else {
        Recognition::Never
    }
}

fn plausible(direction: Direction, scan: &Scan, begun: &[u8]) -> bool {
    let Some(code) = scan.code() else { return true };
    if messages::fields(direction, code).is_none() {
        return false;
    }
    match (code, begun) {
        (COMMAND | PREPARE, [_, _, _, _, 0, _, _, _, text @ ..]) => {
            let sample = text.get(..STATEMENT_SAMPLE - 8).unwrap_or(text);
            let length = sample
                .iter()
                .take_while(|&&byte| byte >= b' ' || byte.is_ascii_whitespace());
            let length = length.count();
            length == sample.len() || length > 4
        }
        (TUPLE, [_, _, _, _, size @ ..]) => size.first().is_none_or(|&high| high == 0),
        (ID, [_, _, _, _, next @ ..]) => next.first().is_none_or(|&high| high == 0),
        _ => true,
    }
}

const LOGIN_HEAD: usize = 10;
const FIRST_TAG: u8 = 100;
const SECOND_TAG: u8 = 101;
const OLD_LOGIN: &[u8] = b"sq........sqlexec";
const SAMPLE: usize = 4096;
const STATEMENT_SAMPLE: usize = 24;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decoding::recognition::assert_verdicts;
    use Direction::{ClientToServer, ServerToClient};

    #[test]
    fn verdicts_do_not_change_with_more_bytes() {
        let samples: [(Direction, &[u8], Recognition); 13] = [
            (
                ClientToServer,
                b"\x01\x8d\x01\x3c\0\0\0\x64\0\x65\0\0",
                Recognition::Certain,
            ),
            (
                ServerToClient,
                b"\0\xaa\x02\x3c\x10\0\0\x64\0\x65\0\0",
                Recognition::Certain,
            ),
            (ClientToServer, b"sqAYABPQAAsqlexec me", Recognition::Certain),
            (ClientToServer, b"select 1", Recognition::Never),
            (
                ClientToServer,
                b"\0\x02\0\0\0\0\0\x22select id, v from t_lw",
                Recognition::Plausible,
            ),
            (ClientToServer, b"\0\x23\0\x0c", Recognition::Plausible),
            (
                ClientToServer,
                b"\0\x04\0\x01\0\x0a\0\x0c",
                Recognition::Plausible,
            ),
            (
                ServerToClient,
                b"\0\x63\0\x01\0\x01\0\0\0\x0c",
                Recognition::Plausible,
            ),
            (ClientToServer, b"\0\0\0\x08\x04\xd2\x16\x2f", Recognition::Never),
            (ServerToClient, b"\0\x0c\xfa\xfa", Recognition::Never),
            (
                ClientToServer,
                b"\0\x01\0\0\0\0\0\x12update t set v = 1\xfa\xfa",
                Recognition::Plausible,
            ),
            (ServerToClient, b"\0\x0e\0\0\x7f\xff\xff\xff", Recognition::Never),
            (ServerToClient, b"SSH-2.0-OpenSSH\r\n", Recognition::Never),
        ];
        assert_verdicts(opens, &samples);
    }
}
