//! Recognises RESP: a request is an array of strings, which nothing else begins with.

use crate::protocols::Verdict;
use model::Direction;

/// How sure the first bytes seen in `direction` make that this is Redis's protocol.
pub fn recognise(direction: Direction, bytes: &[u8]) -> Verdict {
    match direction {
        Direction::ClientToServer => match bytes.first() {
            Some(b'*') => counted(bytes, b"$", Verdict::Certain),
            Some(_) => inline(bytes),
            None => Verdict::More,
        },
        Direction::ServerToClient => match bytes.first() {
            Some(b'*' | b'>' | b'~') => counted(bytes, b"$*:+-%_,#=(!~", Verdict::Plausible),
            Some(b'%') => counted(bytes, b"$+:", Verdict::Plausible),
            Some(b'$') => bulk(bytes),
            Some(b':') => number(bytes),
            Some(_) => line(bytes),
            None => Verdict::More,
        },
    }
}

/// A line of a type and a number, and then one of `types`.
fn counted(bytes: &[u8], types: &[u8], verdict: Verdict) -> Verdict {
    match after_number(bytes) {
        Ok(rest) => match rest.first() {
            Some(first) if types.contains(first) => verdict,
            Some(_) => Verdict::Never,
            None => Verdict::More,
        },
        Err(verdict) => verdict,
    }
}

fn bulk(bytes: &[u8]) -> Verdict {
    match bytes.get(..NULL.len()) {
        Some(NULL) => return Verdict::Plausible,
        None if NULL.starts_with(bytes) => return Verdict::More,
        Some(_) | None => {}
    }
    after_number(bytes).map_or_else(|verdict| verdict, |_| Verdict::Plausible)
}

fn number(bytes: &[u8]) -> Verdict {
    after_number(bytes).map_or_else(|verdict| verdict, |_| Verdict::Plausible)
}

/// What follows the first line, which is a type and one to ten digits.
fn after_number(bytes: &[u8]) -> Result<&[u8], Verdict> {
    let behind = bytes.get(1..).unwrap_or_default();
    let digits = behind.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let rest = behind.get(digits..).unwrap_or_default();
    match rest {
        [] if digits <= MAXIMUM_DIGITS => Err(Verdict::More),
        [b'\r'] if (1..=MAXIMUM_DIGITS).contains(&digits) => Err(Verdict::More),
        [b'\r', b'\n', rest @ ..] if (1..=MAXIMUM_DIGITS).contains(&digits) => Ok(rest),
        _ => Err(Verdict::Never),
    }
}

/// A request of one line whose first word no other protocol knows.
fn inline(bytes: &[u8]) -> Verdict {
    let end = bytes.iter().position(|byte| matches!(byte, b' ' | b'\r' | b'\n'));
    let word = end.and_then(|end| bytes.get(..end)).unwrap_or(bytes);
    let is_known = |known: &&[u8]| known.eq_ignore_ascii_case(word);
    let may_become = |known: &&[u8]| {
        let head = known.get(..word.len());
        head.is_some_and(|head| head.eq_ignore_ascii_case(word))
    };
    match end {
        Some(_) if INLINE.iter().any(is_known) => Verdict::Plausible,
        None if INLINE.iter().any(may_become) => Verdict::More,
        Some(_) | None => Verdict::Never,
    }
}

/// Simple replies that are Redis's own.
fn line(bytes: &[u8]) -> Verdict {
    let begins = |known: &&[u8]| bytes.starts_with(known);
    let may_become = |known: &&[u8]| known.starts_with(bytes);
    if LINES.iter().any(begins) {
        Verdict::Plausible
    } else if LINES.iter().any(may_become) {
        Verdict::More
    } else {
        Verdict::Never
    }
}

const NULL: &[u8] = b"$-1\r\n";
const MAXIMUM_DIGITS: usize = 10;

/// `GET` and `SET` are left out: memcached has them too.
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
    use crate::protocols::assert_verdicts;
    use Direction::{ClientToServer, ServerToClient};

    #[test]
    fn verdicts_do_not_change_with_more_bytes() {
        let samples: [(Direction, &[u8], Verdict); 13] = [
            (ClientToServer, b"*1\r\n$4\r\nPING\r\n", Verdict::Certain),
            (ClientToServer, b"*1\r\n:4\r\n", Verdict::Never),
            (ClientToServer, b"ping\r\n", Verdict::Plausible),
            (ClientToServer, b"get key\r\n", Verdict::Never),
            (ClientToServer, b"GET / HTTP/1.1\r\n", Verdict::Never),
            (ServerToClient, b"$-1\r\n", Verdict::Plausible),
            (ServerToClient, b"$12\r\nabc", Verdict::Plausible),
            (ServerToClient, b":1\r\n", Verdict::Plausible),
            (ServerToClient, b"+OK\r\n", Verdict::Plausible),
            (ServerToClient, b"+OK POP3 ready\r\n", Verdict::Never),
            (ServerToClient, b"* OK IMAP4rev1\r\n", Verdict::Never),
            (ServerToClient, b"%7\r\n$6\r\nserver\r\n", Verdict::Plausible),
            (ServerToClient, b">3\r\n$7\r\nmessage\r\n", Verdict::Plausible),
        ];
        assert_verdicts(recognise, &samples);
    }
}
