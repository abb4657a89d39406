//! First line of a head, and the fields that delimit the message.

use super::body::Body;
use super::dialects::{Clues, ReplyClues};
use crate::decoding::fault::fault;
use crate::decoding::framing::HeaderFault;
use model::{RequestId, SpanId};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    Head,
    Connect,
    Other,
}

#[derive(Debug)]
pub(super) struct Request<'a> {
    pub(super) method: Method,
    pub(super) method_name: &'a [u8],
    pub(super) target: &'a [u8],
    pub(super) body: Option<Body>,
    pub(super) expects_continue: bool,
    /// It asks for the end of the connection.
    pub(super) closes: bool,
    /// `Upgrade: h2c` (RFC 7540 section 3.2).
    pub(super) asks_http2: bool,
    pub(super) id: Option<RequestId>,
    pub(super) span: Option<SpanId>,
    pub(super) clues: Clues<'a>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Response {
    pub(super) status: u16,
    pub(super) body: Option<Body>,
    pub(super) leaves: bool,
    /// The connection ends after it.
    pub(super) closes: bool,
    pub(super) clues: ReplyClues,
    pub(super) begins_http2: bool,
}

impl Response {
    pub(super) const fn is_interim(&self) -> bool {
        self.status < 200 && !self.leaves
    }
}

/// Length of a whole head at the beginning of `bytes`, with the empty line. Empty lines before a
/// head belong to it (RFC 9112 section 2.2). The first `looked_at` bytes were inspected before.
pub(crate) fn end(bytes: &[u8], looked_at: usize) -> Option<usize> {
    let first = bytes.iter().position(|byte| !matches!(byte, b'\r' | b'\n'))?;
    let mut from = first.max(looked_at.saturating_sub(2));
    while let Some(newline) = bytes.get(from..)?.iter().position(|&byte| byte == b'\n') {
        let behind = from + newline + 1;
        match bytes.get(behind..) {
            Some([b'\n', ..]) => return Some(behind + 1),
            Some([b'\r', b'\n', ..]) => return Some(behind + 2),
            _ => from = behind,
        }
    }
    None
}

pub(super) fn request(head: &[u8]) -> Result<Request<'_>, HeaderFault> {
    let mut lines = lines(head);
    let mut words = lines.next().unwrap_or_default().split(|&byte| byte == b' ');
    let (Some(method_name), Some(target), Some(version), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(fault("a request line", "something else"));
    };
    if !version.starts_with(b"HTTP/1.") {
        return Err(fault("HTTP/1.0 or 1.1", "another version"));
    }
    let mut clues = Clues::default();
    let fields = Fields::parse(lines, |name, value| clues.process_field(name, value))?;
    let body = match fields {
        Fields { chunked: true, .. } => Some(Body::CHUNKED),
        Fields { encoded: true, .. } => {
            return Err(fault("a request body whose end can be determined", "none"));
        }
        Fields {
            length: None | Some(0),
            ..
        } => None,
        Fields {
            length: Some(length), ..
        } => Some(Body::Length(length)),
    };
    Ok(Request {
        method: match method_name {
            b"HEAD" => Method::Head,
            b"CONNECT" => Method::Connect,
            _ => Method::Other,
        },
        method_name,
        target,
        body,
        expects_continue: fields.expects_continue,
        closes: fields.persistence.closes(version),
        asks_http2: fields.upgrades_to_http2,
        id: fields.identifiers.id(),
        span: fields.identifiers.span(),
        clues,
    })
}

/// Takes the method of the request; `None` if the request was not seen.
pub(super) fn response(head: &[u8], method: Option<Method>) -> Result<Response, HeaderFault> {
    let mut lines = lines(head);
    let mut words = lines.next().unwrap_or_default().split(|&byte| byte == b' ');
    let (Some(version), Some([a, b, c])) = (words.next(), words.next()) else {
        return Err(fault("a status line", "something else"));
    };
    let digits = [a, b, c].map(|byte| (*byte as char).to_digit(10));
    let (b"HTTP/1.0" | b"HTTP/1.1", [Some(hundreds @ 1..=5), Some(tens), Some(ones)]) = (version, digits)
    else {
        return Err(fault("a status line of HTTP/1", "something else"));
    };
    let status = u16::try_from(hundreds * 100 + tens * 10 + ones).unwrap_or(0);
    let mut clues = ReplyClues::default();
    let fields = Fields::parse(lines, |name, value| clues.process_field(name, value))?;
    let connected = method == Some(Method::Connect) && hundreds == 2;
    let leaves = status == 101 || connected;
    let bodiless =
        hundreds == 1 || status == 204 || status == 304 || method == Some(Method::Head) || connected;
    let body = match fields {
        _ if bodiless => None,
        Fields { chunked: true, .. } => Some(Body::CHUNKED),
        Fields { encoded: true, .. } | Fields { length: None, .. } => Some(Body::UntilClose),
        Fields { length: Some(0), .. } => None,
        Fields {
            length: Some(length), ..
        } => Some(Body::Length(length)),
    };
    Ok(Response {
        status,
        body,
        leaves,
        closes: fields.persistence.closes(version) || body == Some(Body::UntilClose),
        clues,
        begins_http2: status == 101 && fields.upgrades_to_http2,
    })
}

#[derive(Debug, Default)]
struct Fields {
    length: Option<u64>,
    /// There is a transfer coding, and the last one is `chunked`.
    chunked: bool,
    encoded: bool,
    expects_continue: bool,
    persistence: Persistence,
    upgrades_to_http2: bool,
    identifiers: Identifiers,
}

/// RFC 9112 section 9.3.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Persistence {
    #[default]
    OfVersion,
    KeepAlive,
    Close,
}

impl Persistence {
    fn process_field(&mut self, value: &[u8]) {
        for option in value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii) {
            if option.eq_ignore_ascii_case(b"close") {
                *self = Self::Close;
            } else if *self == Self::OfVersion && option.eq_ignore_ascii_case(b"keep-alive") {
                *self = Self::KeepAlive;
            }
        }
    }

    fn closes(self, version: &[u8]) -> bool {
        match self {
            Self::OfVersion => version == b"HTTP/1.0",
            Self::KeepAlive => false,
            Self::Close => true,
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Identifiers {
    traceparent: Carried,
    span: Option<SpanId>,
    request_id: Carried,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Carried {
    #[default]
    No,
    One(RequestId),
    Useless,
}

impl Identifiers {
    pub(crate) fn process_field(&mut self, name: &[u8], value: &[u8]) {
        if name.eq_ignore_ascii_case(b"traceparent") {
            self.traceparent.add(RequestId::of_traceparent(value));
            self.span = SpanId::of_traceparent(value);
        } else if name.eq_ignore_ascii_case(b"x-request-id") {
            self.request_id.add(RequestId::of_text(value));
        }
    }

    pub(crate) fn id(&self) -> Option<RequestId> {
        match (self.traceparent, self.request_id) {
            (Carried::One(id), _) | (_, Carried::One(id)) => Some(id),
            _ => None,
        }
    }

    pub(crate) fn span(&self) -> Option<SpanId> {
        self.span.filter(|_| matches!(self.traceparent, Carried::One(_)))
    }
}

impl Carried {
    fn add(&mut self, id: Option<RequestId>) {
        *self = match (*self, id) {
            (Self::No, Some(id)) => Self::One(id),
            (Self::One(before), Some(id)) if before == id => Self::One(id),
            _ => Self::Useless,
        };
    }
}

impl Fields {
    /// Passes fields that do not delimit the message on to `other`.
    fn parse<'a>(
        lines: impl Iterator<Item = &'a [u8]>,
        mut other: impl FnMut(&'a [u8], &'a [u8]),
    ) -> Result<Self, HeaderFault> {
        let mut fields = Self::default();
        for line in lines {
            let Some(colon) = line.iter().position(|&byte| byte == b':') else {
                continue;
            };
            let (name, value) = line.split_at(colon);
            let value = value.get(1..).unwrap_or_default().trim_ascii();
            if name.eq_ignore_ascii_case(b"content-length") {
                let length =
                    content_length(value).ok_or_else(|| fault("a content length", "something else"))?;
                if fields.length.is_some_and(|before| before != length) {
                    return Err(fault("one content length", "two that differ"));
                }
                fields.length = Some(length);
            } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
                let last = value.rsplit(|&byte| byte == b',').next().unwrap_or_default();
                fields.chunked = last.trim_ascii().eq_ignore_ascii_case(b"chunked");
                fields.encoded = true;
            } else if name.eq_ignore_ascii_case(b"expect") {
                fields.expects_continue = value.eq_ignore_ascii_case(b"100-continue");
            } else if name.eq_ignore_ascii_case(b"connection") {
                fields.persistence.process_field(value);
            } else if name.eq_ignore_ascii_case(b"upgrade") {
                fields.upgrades_to_http2 = value == b"h2c";
            } else {
                fields.identifiers.process_field(name, value);
                other(name, value);
            }
        }
        Ok(fields)
    }
}

/// A number, or the same number repeated with commas (RFC 9112 section 6.3).
fn content_length(value: &[u8]) -> Option<u64> {
    let mut lengths = value.split(|&byte| byte == b',').map(|number| {
        let number = number.trim_ascii();
        let digits = !number.is_empty() && number.iter().all(u8::is_ascii_digit);
        let text = std::str::from_utf8(number).ok().filter(|_| digits)?;
        text.parse::<u64>().ok()
    });
    let first = lengths.next()??;
    lengths.all(|length| length == Some(first)).then_some(first)
}

pub(crate) fn lines(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    let first = head.iter().position(|byte| !matches!(byte, b'\r' | b'\n'));
    head.get(first.unwrap_or(head.len())..)
        .unwrap_or_default()
        .split(|&byte| byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_head_is_found_in_pieces() {
        let head = b"\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\nmore";
        let whole = head.len() - 4;
        assert_eq!(end(head, 0), Some(whole));
        for looked_at in 0..whole {
            assert_eq!(end(&head[..looked_at], 0), None);
            assert_eq!(end(head, looked_at), Some(whole), "{looked_at}");
        }
        assert_eq!(end(b"GET / HTTP/1.0\n\n", 0), Some(16));
    }

    #[test]
    fn response_bodies_follow_the_rules() {
        let body = |head: &[u8], method| response(head, method).expect("valid").body;
        let length = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
        assert_eq!(body(length, None), Some(Body::Length(5)));
        assert_eq!(body(length, Some(Method::Head)), None);
        assert_eq!(
            body(b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", None),
            None
        );
        assert_eq!(body(b"HTTP/1.0 200 OK\r\n\r\n", None), Some(Body::UntilClose));
        let both = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: gzip, chunked\r\n\r\n";
        assert_eq!(body(both, None), Some(Body::CHUNKED));
    }

    #[test]
    fn an_identifier_is_the_traceparent_or_else_the_request_id_when_there_is_one() {
        let id = |fields: &str| {
            request(format!("GET / HTTP/1.1\r\n{fields}\r\n").as_bytes())
                .expect("valid")
                .id
        };
        let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let parent = RequestId::of_traceparent(trace.as_bytes());
        assert!(parent.is_some());
        assert_eq!(
            id(&format!("X-Request-Id: a\r\nTraceparent: {trace}\r\n")),
            parent
        );
        assert_eq!(id("x-request-id: a\r\n"), RequestId::of_text(b"a"));
        assert_eq!(
            id("X-Request-Id: a\r\nX-Request-Id: a\r\n"),
            RequestId::of_text(b"a")
        );
        assert_eq!(id("X-Request-Id: a\r\nX-Request-Id: b\r\n"), None);
        assert_eq!(
            id("Traceparent: nonsense\r\nX-Request-Id: a\r\n"),
            RequestId::of_text(b"a")
        );
        assert_eq!(id(&format!("X-Request-Id: {}\r\n", "x".repeat(40_000))), None);
        assert_eq!(id("Host: a\r\n"), None);
    }

    #[test]
    fn lengths_that_differ_are_refused() {
        request(b"POST / HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n")
            .expect_err("two lengths");
        request(b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n").expect_err("negative");
        let same = request(b"POST / HTTP/1.1\r\nContent-Length: 5, 5\r\n\r\n").expect("the same twice");
        assert_eq!(same.body, Some(Body::Length(5)));
    }

    #[test]
    fn a_head_may_ask_for_the_end_of_the_connection() {
        let asked = |head: &str| request(head.as_bytes()).expect("a request").closes;
        assert!(!asked("GET / HTTP/1.1\r\n\r\n"));
        assert!(asked("GET / HTTP/1.1\r\nConnection: TE, Close\r\n\r\n"));
        assert!(asked("GET / HTTP/1.0\r\n\r\n"));
        assert!(!asked("GET / HTTP/1.0\r\nconnection: Keep-Alive\r\n\r\n"));
        let replied = |head: &str| response(head.as_bytes(), None).expect("a reply").closes;
        assert!(!replied("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"));
        assert!(replied(
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n"
        ));
        assert!(replied("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n"));
        assert!(!replied(
            "HTTP/1.0 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\n"
        ));
        assert!(replied("HTTP/1.1 200 OK\r\n\r\n"), "its body has no length");
    }
}
