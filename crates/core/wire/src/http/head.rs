//! First line of a head, and the fields that delimit the message.

use super::body::Body;
use super::dialects::{Clues, ReplyClues};
use super::fields::Fields;
use super::lines::Lines;
use crate::decoding::fault::fault;
use crate::decoding::framing::HeaderFault;
use memchr::memchr;
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

pub(super) fn request<'a>(lines: &mut Lines<'a>) -> Result<Request<'a>, HeaderFault> {
    let words = cut(lines.next().unwrap_or_default());
    let words = words.and_then(|(method, rest)| cut(rest).map(|(target, version)| (method, target, version)));
    let Some((method_name, target, version)) = words.filter(|(.., version)| !version.contains(&b' ')) else {
        return Err(fault("a request line", "something else"));
    };
    if !version.starts_with(b"HTTP/1.") {
        return Err(fault("HTTP/1.0 or 1.1", "another version"));
    }
    let mut clues = Clues::default();
    let fields = Fields::parse(lines, |field| clues.process_field(field))?;
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

fn cut(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let place = memchr(b' ', line)?;
    Some((&line[..place], &line[place + 1..]))
}

/// Takes the method of the request; `None` if the request was not seen.
pub(super) fn response(lines: &mut Lines<'_>, method: Option<Method>) -> Result<Response, HeaderFault> {
    let words = cut(lines.next().unwrap_or_default());
    let Some((version, [a, b, c])) =
        words.map(|(version, rest)| (version, cut(rest).map_or(rest, |(code, _)| code)))
    else {
        return Err(fault("a status line", "something else"));
    };
    let digits = [a, b, c].map(|byte| (*byte as char).to_digit(10));
    let (b"HTTP/1.0" | b"HTTP/1.1", [Some(hundreds @ 1..=5), Some(tens), Some(ones)]) = (version, digits)
    else {
        return Err(fault("a status line of HTTP/1", "something else"));
    };
    let status = u16::try_from(hundreds * 100 + tens * 10 + ones).unwrap_or(0);
    let mut clues = ReplyClues::default();
    let fields = Fields::parse(lines, |field| clues.process_field(field))?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn response_bodies_follow_the_rules() {
        let body = |head: &[u8], method| response(&mut Lines::new(head), method).expect("valid").body;
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
            let head = format!("GET / HTTP/1.1\r\n{fields}\r\n");
            request(&mut Lines::new(head.as_bytes())).expect("valid").id
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
        let request = |head: &'static [u8]| request(&mut Lines::new(head));
        request(b"POST / HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n")
            .expect_err("two lengths");
        request(b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n").expect_err("negative");
        let same = request(b"POST / HTTP/1.1\r\nContent-Length: 5, 5\r\n\r\n").expect("the same twice");
        assert_eq!(same.body, Some(Body::Length(5)));
    }

    #[test]
    fn a_head_may_ask_for_the_end_of_the_connection() {
        let asked = |head: &str| {
            request(&mut Lines::new(head.as_bytes()))
                .expect("a request")
                .closes
        };
        assert!(!asked("GET / HTTP/1.1\r\n\r\n"));
        assert!(asked("GET / HTTP/1.1\r\nConnection: TE, Close\r\n\r\n"));
        assert!(asked("GET / HTTP/1.0\r\n\r\n"));
        assert!(!asked("GET / HTTP/1.0\r\nconnection: Keep-Alive\r\n\r\n"));
        let replied = |head: &str| {
            response(&mut Lines::new(head.as_bytes()), None)
                .expect("a reply")
                .closes
        };
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
