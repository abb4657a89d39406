//! Strict check of the first bytes of HTTP/1.

use crate::decoding::recognition::Recognition;
use model::Direction;

pub(super) fn opens(direction: Direction, bytes: &[u8]) -> Recognition {
    match direction {
        Direction::ClientToServer => request_line(bytes),
        Direction::ServerToClient => status_line(bytes),
    }
}

/// Whether a message begins with `bytes`.
pub(super) fn begins(direction: Direction, bytes: &[u8]) -> bool {
    match direction {
        Direction::ClientToServer => request_line(bytes) == Recognition::Certain,
        Direction::ServerToClient => bytes.starts_with(VERSION),
    }
}

/// A method, and a line that ends with the version: Redis has a `GET` too.
fn request_line(bytes: &[u8]) -> Recognition {
    let method = bytes.iter().take(MAX_METHOD_LEN).position(|&byte| byte == b' ');
    let method_end = method.unwrap_or_default();
    match method.and_then(|end| bytes.get(..end)) {
        None if METHODS.iter().any(|method| method.starts_with(bytes)) => return Recognition::More,
        Some(method) if METHODS.contains(&method) => {}
        None | Some(_) => return Recognition::Never,
    }
    let line = bytes.get(..MAX_LINE_LEN).unwrap_or(bytes);
    match line.iter().position(|&byte| byte == b'\n') {
        Some(end) => {
            let line = line.get(..end).unwrap_or_default().trim_ascii_end();
            let version = line
                .iter()
                .rposition(|&byte| byte == b' ')
                .and_then(|space| line.get(space + 1..));
            match version {
                Some(version) if version.starts_with(VERSION) => Recognition::Certain,
                Some(_) | None => Recognition::Never,
            }
        }
        // The next inspection may come only with the reply.
        None if line.len() >= LONG_LINE && bytes.get(method_end + 1) == Some(&b'/') => Recognition::Certain,
        None if line.len() == MAX_LINE_LEN => Recognition::Certain,
        None => Recognition::More,
    }
}

fn status_line(bytes: &[u8]) -> Recognition {
    let fits = |(place, &byte): (usize, &u8)| match place {
        0..=6 => VERSION[place] == byte,
        7 => matches!(byte, b'0' | b'1'),
        8 => byte == b' ',
        9 => (b'1'..=b'5').contains(&byte),
        10 | 11 => byte.is_ascii_digit(),
        _ => matches!(byte, b' ' | b'\r' | b'\n'),
    };
    if !bytes.iter().take(STATUS).enumerate().all(fits) {
        Recognition::Never
    } else if bytes.len() < STATUS {
        Recognition::More
    } else {
        Recognition::Certain
    }
}

const VERSION: &[u8; 7] = b"HTTP/1.";
const STATUS: usize = 13;
const METHODS: [&[u8]; 18] = [
    b"GET",
    b"POST",
    b"HEAD",
    b"PUT",
    b"DELETE",
    b"OPTIONS",
    b"PATCH",
    b"CONNECT",
    b"TRACE",
    b"PROPFIND",
    b"PROPPATCH",
    b"MKCOL",
    b"COPY",
    b"MOVE",
    b"LOCK",
    b"UNLOCK",
    b"REPORT",
    b"SEARCH",
];
const MAX_METHOD_LEN: usize = 10;
const MAX_LINE_LEN: usize = 8192;
const LONG_LINE: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_told_from_other_protocols_by_its_line() {
        let client = |bytes| opens(Direction::ClientToServer, bytes);
        assert_eq!(client(b"GET /a HTTP/1.1\r\n"), Recognition::Certain);
        assert_eq!(client(b"GET key\r\n"), Recognition::Never);
        assert_eq!(client(b"PRI * HTTP/2.0\r\n"), Recognition::Never);
        assert_eq!(client(b"GE"), Recognition::More);
        assert_eq!(client(b"GET /a HT"), Recognition::More);
        let long = [b"GET /a?b=".as_slice(), &[b'c'; 60]].concat();
        assert_eq!(client(&long), Recognition::Certain);
        let key = [b"GET ".as_slice(), &[b'c'; 60]].concat();
        assert_eq!(client(&key), Recognition::More);
        assert!(begins(Direction::ServerToClient, b"HTTP/1.1 2"));
        assert_eq!(opens(Direction::ServerToClient, b"HTTP/1.1 2"), Recognition::More);
        assert_eq!(opens(Direction::ServerToClient, b"HTTQ"), Recognition::Never);
    }
}
