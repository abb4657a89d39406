//! Strict check of Redis's first bytes.

use super::commands::{is_command, may_become_command};
use super::resp;
use crate::decoding::recognition::Recognition;
use model::{Direction, PerDirection};

fn opens(direction: Direction, bytes: &[u8]) -> Recognition {
    match (direction, bytes.first().copied()) {
        (_, None) => Recognition::More,
        (Direction::ClientToServer, Some(resp::ARRAY)) => array(bytes),
        (Direction::ClientToServer, Some(_)) => lines(bytes),
        (Direction::ServerToClient, Some(_)) => reply(bytes),
    }
}

pub(super) fn detect(openings: PerDirection<&[u8]>, direction: Direction) -> Recognition {
    match direction {
        Direction::ClientToServer => opens(direction, openings[direction]),
        Direction::ServerToClient => answers(openings[Direction::ClientToServer], openings[direction]),
    }
}

/// Checks the server's first bytes. Other protocols have requests in letters too, so to these only
/// Redis's own replies count.
fn answers(client: &[u8], answer: &[u8]) -> Recognition {
    if matches!(client.first().copied(), None | Some(resp::ARRAY)) {
        return opens(Direction::ServerToClient, answer);
    }
    let word = word(client).unwrap_or(client);
    let is_status = answer.starts_with(b"+");
    if is_status && !ANSWERED_OK.iter().any(|known| known.eq_ignore_ascii_case(word)) {
        return known(answer, &[b"+PONG\r\n", b"+QUEUED\r\n"]);
    }
    if is_status {
        return known(answer, &[b"+OK\r\n"]);
    }
    opens(Direction::ServerToClient, answer)
}

fn array(bytes: &[u8]) -> Recognition {
    let (count, behind) = match number(bytes) {
        Ok((count, rest)) if count > 0 => (count, rest),
        Ok(_) => return Recognition::Never,
        Err(verdict) => return verdict,
    };
    match behind.first().copied() {
        None => return Recognition::More,
        Some(resp::BULK_STRING) => {}
        Some(_) => return Recognition::Never,
    }
    let (length, rest) = match number(behind) {
        Ok((length @ 1..=MAX_WORD_LEN, rest)) => (length as usize, rest),
        Ok(_) => return Recognition::Never,
        Err(verdict) => return verdict,
    };
    let is_name = |word: &[u8]| {
        word.first().is_some_and(u8::is_ascii_alphabetic)
            && word
                .iter()
                .all(|&byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-' | b'|'))
    };
    match (rest.get(..length), rest.get(length..)) {
        (Some(word), Some([b'\r', b'\n', rest @ ..])) if is_name(word) => {
            let verdict = strings(rest, count - 1);
            if verdict == Recognition::Certain && !is_command(word) {
                return Recognition::Plausible;
            }
            verdict
        }
        (Some(word), Some([] | [b'\r'])) if is_name(word) => Recognition::More,
        (None, _) if rest.is_empty() || is_name(rest) => Recognition::More,
        _ => Recognition::Never,
    }
}

fn strings(bytes: &[u8], count: i64) -> Recognition {
    let mut rest = bytes.get(..MAX_INSPECTED_LEN).unwrap_or(bytes);
    let is_cut = rest.len() < bytes.len() || rest.len() == MAX_INSPECTED_LEN;
    for _ in 0..count {
        let read = match rest.first().copied() {
            Some(resp::BULK_STRING) => number(rest),
            Some(_) => Err(Recognition::Never),
            None => Err(Recognition::More),
        };
        let behind = match read {
            Ok((length @ 0.., text)) => usize::try_from(length)
                .ok()
                .and_then(|length| text.get(length.checked_add(2)?..)),
            Err(Recognition::More) => None,
            Ok(_) | Err(_) => return Recognition::Never,
        };
        match behind {
            Some(behind) => rest = behind,
            None if is_cut => return Recognition::Certain,
            None => return Recognition::More,
        }
    }
    Recognition::Certain
}

fn lines(bytes: &[u8]) -> Recognition {
    let array = bytes.windows(2).position(|two| two == b"\n*");
    let bytes = array.map_or(bytes, |array| &bytes[..=array]);
    let whole = bytes
        .iter()
        .rposition(|&byte| byte == b'\n')
        .map_or(0, |end| end + 1);
    let (whole, rest) = bytes.split_at(whole);
    let known = |line: &[u8]| {
        let line = line.trim_ascii_end();
        line.is_empty() || (is_printable(line) && is_command(word(line).unwrap_or(line)))
    };
    if !whole.split_inclusive(|&byte| byte == b'\n').all(known) {
        return Recognition::Never;
    }
    match word(rest) {
        Some(word) if !word.is_empty() && !is_command(word) => return Recognition::Never,
        None if !may_become_command(rest) => return Recognition::Never,
        _ => {}
    }
    if whole.trim_ascii().is_empty() {
        if rest.len() > MAX_LINE_LEN {
            Recognition::Never
        } else {
            Recognition::More
        }
    } else {
        Recognition::Plausible
    }
}

fn is_printable(line: &[u8]) -> bool {
    line.iter().all(|&byte| byte >= b' ' || byte == b'\t')
}

fn word(line: &[u8]) -> Option<&[u8]> {
    let end = line
        .iter()
        .position(|byte| matches!(byte, b' ' | b'\r' | b'\n'))?;
    line.get(..end)
}

fn reply(bytes: &[u8]) -> Recognition {
    let plausible = |read: Result<(i64, &[u8]), Recognition>, least: i64| match read {
        Ok((number, _)) if number >= least => Recognition::Plausible,
        Ok(_) => Recognition::Never,
        Err(verdict) => verdict,
    };
    match bytes[0] {
        resp::BULK_STRING | resp::ARRAY => plausible(number(bytes), -1),
        resp::MAP | resp::SET | resp::PUSH | resp::BULK_ERROR | resp::VERBATIM_STRING | resp::ATTRIBUTE => {
            plausible(number(bytes), 0)
        }
        resp::INTEGER => plausible(number(bytes), i64::MIN),
        resp::SIMPLE_STRING => line(bytes, |text| !text.is_empty() && is_printable(text)),
        resp::SIMPLE_ERROR => line(bytes, is_error),
        resp::NULL => line(bytes, <[u8]>::is_empty),
        resp::BOOLEAN => line(bytes, |text| matches!(text, b"t" | b"f")),
        resp::DOUBLE | resp::BIG_NUMBER => line(bytes, |text| {
            !text.is_empty()
                && text
                    .iter()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(byte))
        }),
        _ => Recognition::Never,
    }
}

fn is_error(text: &[u8]) -> bool {
    let word = text.split(|&byte| byte == b' ').next().unwrap_or_default();
    word.len() > 1 && word.iter().all(u8::is_ascii_uppercase) && is_printable(text)
}

fn line(bytes: &[u8], fits: fn(&[u8]) -> bool) -> Recognition {
    let text = bytes.get(1..).unwrap_or_default();
    match text.iter().position(|&byte| byte == b'\r') {
        Some(end) => match (text.get(..end), text.get(end + 1)) {
            (Some(text), Some(b'\n')) if fits(text) => Recognition::Plausible,
            (Some(text), None) if fits(text) => Recognition::More,
            _ => Recognition::Never,
        },
        None if text.len() > MAX_LINE_LEN || !is_printable(text) => Recognition::Never,
        None => Recognition::More,
    }
}

fn number(bytes: &[u8]) -> Result<(i64, &[u8]), Recognition> {
    let behind = bytes.get(1..).unwrap_or_default();
    let (is_negative, digits) = match behind.first() {
        Some(b'-') => (true, &behind[1..]),
        _ => (false, behind),
    };
    let length = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = digits.split_at(length);
    if length > MAX_DIGITS {
        return Err(Recognition::Never);
    }
    match rest {
        [] => Err(Recognition::More),
        [b'\r'] if length > 0 => Err(Recognition::More),
        [b'\r', b'\n', rest @ ..] if length > 0 => {
            let value = digits
                .iter()
                .fold(0i64, |sum, digit| sum * 10 + i64::from(digit - b'0'));
            Ok((if is_negative { -value } else { value }, rest))
        }
        _ => Err(Recognition::Never),
    }
}

fn known(bytes: &[u8], lines: &[&[u8]]) -> Recognition {
    if lines.iter().any(|line| bytes.starts_with(line)) {
        Recognition::Plausible
    } else if lines.iter().any(|line| line.starts_with(bytes)) {
        Recognition::More
    } else {
        Recognition::Never
    }
}

/// Commands that other text protocols (POP3, FTP, SMTP) do not answer with `+OK`.
const ANSWERED_OK: [&[u8]; 10] = [
    b"SET",
    b"MSET",
    b"SELECT",
    b"CONFIG",
    b"CLIENT",
    b"FLUSHALL",
    b"FLUSHDB",
    b"MULTI",
    b"RESTORE",
    b"WATCH",
];
const MAX_WORD_LEN: i64 = 32;
const MAX_INSPECTED_LEN: usize = 512;
const MAX_LINE_LEN: usize = 1024;
const MAX_DIGITS: usize = 18;

#[cfg(test)]
mod tests {
    use super::*;
    use Direction::{ClientToServer, ServerToClient};

    #[test]
    fn requests_begin_with_a_command() {
        assert_eq!(
            opens(ClientToServer, b"*1\r\n$4\r\nPING\r\n"),
            Recognition::Certain
        );
        assert_eq!(
            opens(ClientToServer, b"*2\r\n$3\r\nfoo\r\n$3\r\nbar\r\n"),
            Recognition::Plausible
        );
        assert_eq!(
            opens(ClientToServer, b"*1\r\n$4\r\nPI\0G\r\n"),
            Recognition::Never
        );
        assert_eq!(opens(ClientToServer, b"ping\r\n"), Recognition::Plausible);
        assert_eq!(opens(ClientToServer, b"USER anna\r\n"), Recognition::Never);
        assert_eq!(opens(ServerToClient, b":-2\r\n"), Recognition::Plausible);
        assert_eq!(opens(ServerToClient, b"*0\r\n"), Recognition::Plausible);
        assert_eq!(opens(ServerToClient, b"* OK IMAP4rev1\r\n"), Recognition::Never);
    }

    #[test]
    fn other_servers_of_lines_are_no_answer() {
        assert_eq!(answers(b"QUIT\r\n", b"+OK\r\n"), Recognition::Never);
        assert_eq!(answers(b"AUTH PLAIN\r\n", b"+OK\r\n"), Recognition::Never);
        assert_eq!(answers(b"PING\r\n", b"+PONG\r\n"), Recognition::Plausible);
        assert_eq!(answers(b"set a b\r\n", b"+OK\r\n"), Recognition::Plausible);
    }
}
