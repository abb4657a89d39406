//! Parses a request from bytes, within limits, without I/O.

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
    /// Position up to which the end of the head was searched.
    searched: usize,
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
            searched: 0,
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
            let Some(end) = self.end_of_head() else {
                return match self.bytes.len() > MAX_HEAD_BYTES {
                    true => Err(Refusal(431, "the request's head is too large")),
                    false => Ok(Arrival::Partly),
                };
            };
            let head = Head::parse(self.bytes.get(..end).unwrap_or_default(), self.most_body)?;
            self.bytes.drain(..end + END_OF_HEAD.len());
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

    fn end_of_head(&mut self) -> Option<usize> {
        let from = self.searched.saturating_sub(END_OF_HEAD.len());
        self.searched = self.bytes.len();
        let end = find(self.bytes.get(from..)?, END_OF_HEAD)? + from;
        (end <= MAX_HEAD_BYTES).then_some(end)
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
    let wrong = Refusal(400, "a chunk's size is not understood");
    let mut from = 0;
    let over = loop {
        let rest = bytes.get(from..).unwrap_or_default();
        let Some(end) = find(
            rest.get(..MAX_LINE_BYTES.min(rest.len())).unwrap_or_default(),
            b"\r\n",
        ) else {
            if rest.len() >= MAX_LINE_BYTES {
                return Err(wrong);
            }
            break false;
        };
        let line = String::from_utf8_lossy(rest.get(..end).unwrap_or_default());
        let digits = line.split(';').next().unwrap_or_default().trim();
        let size = usize::from_str_radix(digits, 16).map_err(|_| wrong)?;
        if size > most.saturating_sub(body.len()) {
            return Err(TOO_LARGE);
        }
        if size == 0 {
            break true;
        }
        let data = end + 2;
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
    fn parse(head: &[u8], most_body: usize) -> Result<Self, Refusal> {
        let text = std::str::from_utf8(head).map_err(|_| Refusal(400, "the request is not text"))?;
        let mut lines = text.split("\r\n");
        let mut words = lines.next().unwrap_or_default().split(' ');
        let (Some(method), Some(target), Some(version), None) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return Err(Refusal(400, "the request line is not understood"));
        };
        if !version.starts_with("HTTP/1.") || !target.starts_with('/') {
            return Err(Refusal(400, "the request line is not understood"));
        }
        let path = target.split(['?', '#']).next().unwrap_or_default();
        let mut read = Self {
            request: HttpRequest {
                method: method.to_owned(),
                path: path.to_owned(),
                ..HttpRequest::default()
            },
            length: BodyLength::Exact(0),
        };
        for line in lines {
            let (name, value) = line
                .split_once(':')
                .ok_or(Refusal(400, "a header is not understood"))?;
            read.field(name.to_ascii_lowercase(), value.trim(), most_body)?;
        }
        Ok(read)
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

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

const TOO_LARGE: Refusal = Refusal(413, "the request's body is too large");
const END_OF_HEAD: &[u8] = b"\r\n\r\n";
const MAX_HEAD_BYTES: usize = 16 * 1024;
const MAX_LINE_BYTES: usize = 1024;

#[cfg(test)]
mod tests;
