//! Recognises RESP, the only protocol with arrays of strings as requests.

use super::resp;
use crate::decoding::recognition::Recognition;
use model::Direction;

pub(super) fn recognise(direction: Direction, bytes: &[u8]) -> Recognition {
    match direction {
        Direction::ClientToServer => match bytes.first().copied() {
            Some(resp::ARRAY) => counted(bytes, &[resp::BULK_STRING], Recognition::Certain),
            Some(_) => inline(bytes),
            None => Recognition::More,
        },
        Direction::ServerToClient => match bytes.first().copied() {
            Some(resp::ARRAY | resp::PUSH | resp::SET) => counted(bytes, &ELEMENTS, Recognition::Plausible),
            Some(resp::MAP) => counted(bytes, &KEYS, Recognition::Plausible),
            Some(resp::BULK_STRING) => bulk(bytes),
            Some(resp::INTEGER) => number(bytes),
            Some(_) => line(bytes),
            None => Recognition::More,
        },
    }
}

fn counted(bytes: &[u8], types: &[u8], verdict: Recognition) -> Recognition {
    match after_number(bytes) {
        Ok(rest) => match rest.first() {
            Some(first) if types.contains(first) => verdict,
            Some(_) => Recognition::Never,
            None => Recognition::More,
        },
        Err(verdict) => verdict,
    }
}

fn bulk(bytes: &[u8]) -> Recognition {
    match bytes.get(..NULL.len()) {
        Some(NULL) => return Recognition::Plausible,
        None if NULL.starts_with(bytes) => return Recognition::More,
        Some(_) | None => {}
    }
    after_number(bytes).map_or_else(|verdict| verdict, |_| Recognition::Plausible)
}

fn number(bytes: &[u8]) -> Recognition {
    after_number(bytes).map_or_else(|verdict| verdict, |_| Recognition::Plausible)
}

fn after_number(bytes: &[u8]) -> Result<&[u8], Recognition> {
    let behind = bytes.get(1..).unwrap_or_default();
    let digits = behind.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let rest = behind.get(digits..).unwrap_or_default();
    match rest {
        [] if digits <= MAXIMUM_DIGITS => Err(Recognition::More),
        [b'\r'] if (1..=MAXIMUM_DIGITS).contains(&digits) => Err(Recognition::More),
        [b'\r', b'\n', rest @ ..] if (1..=MAXIMUM_DIGITS).contains(&digits) => Ok(rest),
        _ => Err(Recognition::Never),
    }
}

/// A request of one line with a first word that no other protocol knows.
fn inline(bytes: &[u8]) -> Recognition {
    let end = bytes.iter().position(|byte| matches!(byte, b' ' | b'\r' | b'\n'));
    let word = end.and_then(|end| bytes.get(..end)).unwrap_or(bytes);
    let is_known = |known: &&[u8]| known.eq_ignore_ascii_case(word);
    let may_become = |known: &&[u8]| {
        let head = known.get(..word.len());
        head.is_some_and(|head| head.eq_ignore_ascii_case(word))
    };
    match end {
        Some(_) if INLINE.iter().any(is_known) => Recognition::Plausible,
        None if INLINE.iter().any(may_become) => Recognition::More,
        Some(_) | None => Recognition::Never,
    }
}

fn line(bytes: &[u8]) -> Recognition {
    let begins = |known: &&[u8]| bytes.starts_with(known);
    let may_become = |known: &&[u8]| known.starts_with(bytes);
    if LINES.iter().any(begins) {
        Recognition::Plausible
    } else if LINES.iter().any(may_become) {
        Recognition::More
    } else {
        Recognition::Never
    }
}

/// First elements of arrays, pushes and sets.
const ELEMENTS: [u8; 13] = [
    resp::BULK_STRING,
    resp::ARRAY,
    resp::INTEGER,
    resp::SIMPLE_STRING,
    resp::SIMPLE_ERROR,
    resp::MAP,
    resp::NULL,
    resp::DOUBLE,
    resp::BOOLEAN,
    resp::VERBATIM_STRING,
    resp::BIG_NUMBER,
    resp::BULK_ERROR,
    resp::SET,
];
/// First keys of maps.
const KEYS: [u8; 3] = [resp::BULK_STRING, resp::SIMPLE_STRING, resp::INTEGER];
const NULL: &[u8] = b"$-1\r\n";
const MAXIMUM_DIGITS: usize = 10;

/// Without `GET` and `SET`, which memcached has too.
const INLINE: [&[u8]; 8] = [
    b"PING", b"AUTH", b"HELLO", b"INFO", b"SELECT", b"CLIENT", b"CONFIG", b"MONITOR",
];
const LINES: [&[u8]; 9] = [
    b"+OK\r\n",
    b"+PONG\r\n",
    b"+QUEUED\r\n",
    b"_\r\n",
    b"-NOAUTH ",
    b"-WRONGTYPE ",
    b"-MOVED ",
    b"-LOADING ",
    b"-NOPERM ",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decoding::recognition::assert_verdicts;
    use Direction::{ClientToServer, ServerToClient};

    #[test]
    fn verdicts_do_not_change_with_more_bytes() {
        let samples: [(Direction, &[u8], Recognition); 13] = [
            (ClientToServer, b"*1\r\n$4\r\nPING\r\n", Recognition::Certain),
            (ClientToServer, b"*1\r\n:4\r\n", Recognition::Never),
            (ClientToServer, b"ping\r\n", Recognition::Plausible),
            (ClientToServer, b"get key\r\n", Recognition::Never),
            (ClientToServer, b"GET / HTTP/1.1\r\n", Recognition::Never),
            (ServerToClient, b"$-1\r\n", Recognition::Plausible),
            (ServerToClient, b"$12\r\nabc", Recognition::Plausible),
            (ServerToClient, b":1\r\n", Recognition::Plausible),
            (ServerToClient, b"+OK\r\n", Recognition::Plausible),
            (ServerToClient, b"+OK POP3 ready\r\n", Recognition::Never),
            (ServerToClient, b"* OK IMAP4rev1\r\n", Recognition::Never),
            (ServerToClient, b"%7\r\n$6\r\nserver\r\n", Recognition::Plausible),
            (ServerToClient, b">3\r\n$7\r\nmessage\r\n", Recognition::Plausible),
        ];
        assert_verdicts(recognise, &samples);
    }
}
