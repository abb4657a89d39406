//! Reads a request from bytes, within limits, without I/O.

use httparse::{Error, Status};
use std::net::SocketAddr;

#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct HttpRequest {
    pub method: String,
    pub path: String,
    /// Lowercase names, in order of arrival.
    pub fields: Vec<(String, String)>,
    pub body: Vec<u8>,
    pub local_address: Option<SocketAddr>,
}

impl HttpRequest {
    /// The first value of a lowercase field name.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.values(name).next()
    }

    pub fn values<'a, 'n>(&'a self, name: &'n str) -> impl Iterator<Item = &'a str> + use<'a, 'n> {
        let fields = self.fields.iter().filter(move |(known, _)| known == name);
        fields.map(|(_, value)| value.as_str())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Refusal(pub(super) u16, pub(super) &'static str);

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    Partly,
    /// The client waits for `100 Continue`.
    AsksLeave,
    /// Bytes after the request are dropped.
    Whole(HttpRequest),
}

#[derive(Debug)]
pub(super) struct RequestReader {
    bytes: Vec<u8>,
    most_body: usize,
    head: Option<Head>,
}

#[derive(Debug)]
struct Head {
    request: HttpRequest,
    length: BodyLength,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BodyLength {
    Exact(usize),
    Chunked,
}

impl RequestReader {
    pub(super) fn new(most_body: usize) -> Self {
        Self {
            bytes: Vec::new(),
            most_body,
            head: None,
        }
    }

    pub(super) fn held_bytes(&self) -> usize {
        self.bytes.capacity() + self.head.as_ref().map_or(0, |head| head.request.body.capacity())
    }

    pub(super) fn feed(&mut self, bytes: &[u8]) -> Result<Arrival, Refusal> {
        self.bytes.extend_from_slice(bytes);
        let mut asks_leave = false;
        if self.head.is_none() {
            let Some((end, head)) = Head::parse(&self.bytes, self.most_body)? else {
                return Ok(Arrival::Partly);
            };
            self.bytes.drain(..end);
            let expects = head.request.field("expect");
            asks_leave = expects.is_some_and(|value| value.eq_ignore_ascii_case("100-continue"));
            self.head = Some(head);
        }
        let whole = self.take_body()?;
        match self.head.take_if(|_| whole) {
            Some(head) => Ok(Arrival::Whole(head.request)),
            None if asks_leave => Ok(Arrival::AsksLeave),
            None => Ok(Arrival::Partly),
        }
    }

    /// Returns whether the body is complete.
    fn take_body(&mut self) -> Result<bool, Refusal> {
        let Some(head) = &mut self.head else {
            return Ok(false);
        };
        match head.length {
            BodyLength::Exact(length) => {
                if self.bytes.len() < length {
                    return Ok(false);
                }
                self.bytes.truncate(length);
                head.request.body = std::mem::take(&mut self.bytes);
                Ok(true)
            }
            BodyLength::Chunked => take_chunks(&mut self.bytes, &mut head.request.body, self.most_body),
        }
    }
}

/// Returns whether the last chunk is among them (RFC 9112, section 7.1). Trailers are skipped.
fn take_chunks(bytes: &mut Vec<u8>, body: &mut Vec<u8>, most: usize) -> Result<bool, Refusal> {
    let mut from = 0;
    let over = loop {
        let rest = bytes.get(from..).unwrap_or_default();
        let (data, size) = match httparse::parse_chunk_size(rest) {
            Ok(Status::Complete(read)) => read,
            Ok(Status::Partial) if rest.len() < MAX_LINE_BYTES => break false,
            _ => return Err(Refusal(400, "a chunk's size is not understood")),
        };
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        if size > most.saturating_sub(body.len()) {
            return Err(TOO_LARGE);
        }
        if size == 0 {
            break true;
        }
        let Some(chunk) = rest.get(data..data + size + 2) else {
            break false;
        };
        body.extend_from_slice(chunk.get(..size).unwrap_or_default());
        from += data + size + 2;
    };
    bytes.drain(..from);
    Ok(over)
}

impl Head {
    /// Returns the head and its length; `None` if it has not arrived whole.
    fn parse(bytes: &[u8], most_body: usize) -> Result<Option<(usize, Self)>, Refusal> {
        let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
        let mut request = httparse::Request::new(&mut fields);
        let end = match request.parse(bytes) {
            Ok(Status::Complete(end)) if end <= MAX_HEAD_BYTES => end,
            Ok(Status::Partial) if bytes.len() <= MAX_HEAD_BYTES => return Ok(None),
            Ok(_) | Err(Error::TooManyHeaders) => {
                return Err(Refusal(431, "the request's head is too large"));
            }
            Err(Error::HeaderName | Error::HeaderValue) => {
                return Err(Refusal(400, "a header is not understood"));
            }
            Err(_) => return Err(NOT_UNDERSTOOD),
        };
        let (Some(method), Some(target)) = (request.method, request.path) else {
            return Err(NOT_UNDERSTOOD);
        };
        if !target.starts_with('/') {
            return Err(NOT_UNDERSTOOD);
        }
        let path = target.split(['?', '#']).next().unwrap_or_default();
        let mut head = Self {
            request: HttpRequest {
                method: method.to_owned(),
                path: path.to_owned(),
                ..HttpRequest::default()
            },
            length: BodyLength::Exact(0),
        };
        for field in request.headers {
            let value =
                std::str::from_utf8(field.value).map_err(|_| Refusal(400, "the request is not text"))?;
            head.field(field.name.to_ascii_lowercase(), value.trim(), most_body)?;
        }
        Ok(Some((end, head)))
    }

    fn field(&mut self, name: String, value: &str, most_body: usize) -> Result<(), Refusal> {
        match name.as_str() {
            "transfer-encoding" if value.eq_ignore_ascii_case("chunked") => self.length = BodyLength::Chunked,
            "transfer-encoding" => return Err(Refusal(411, "the transfer encoding is unknown")),
            "content-length" => {
                let length: u64 = value
                    .parse()
                    .map_err(|_| Refusal(400, "the length is not understood"))?;
                let length = usize::try_from(length).unwrap_or(usize::MAX);
                if length > most_body {
                    return Err(TOO_LARGE);
                }
                if self.length != BodyLength::Chunked {
                    self.length = BodyLength::Exact(length);
                }
            }
            _ => {}
        }
        self.request.fields.push((name, value.to_owned()));
        Ok(())
    }
}

const NOT_UNDERSTOOD: Refusal = Refusal(400, "the request line is not understood");
const TOO_LARGE: Refusal = Refusal(413, "the request's body is too large");
const MAX_HEAD_BYTES: usize = 16 * 1024;
const MAX_FIELDS: usize = 128;
/// Of a chunk's size.
const MAX_LINE_BYTES: usize = 1024;

#[cfg(test)]
mod tests;
