//! Name-value pairs of a request. Only method, target and request identifier are inspected.

use crate::decoding::reader::Reader;
use crate::http::Identifiers;
use model::{RequestId, SpanId};

#[derive(Debug, Default)]
pub(super) struct Params {
    bytes: Vec<u8>,
    is_cut: bool,
}

impl Params {
    pub(super) fn room(&self) -> usize {
        match self.is_cut {
            true => 0,
            false => super::MAXIMUM_PARAMS - self.bytes.len(),
        }
    }

    pub(super) fn add(&mut self, kept: &[u8], content: u16) {
        let taken = kept.get(..usize::from(content)).unwrap_or(kept);
        if self.room() > 0 {
            self.bytes.extend_from_slice(taken);
        }
        self.is_cut |= taken.len() < usize::from(content);
    }

    /// Fills `request`. Returns whether both method and target are known.
    pub(super) fn read_request(&self, request: &mut RequestLine) -> bool {
        let (mut method, mut uri, mut script, mut query) = (None, None, None, None);
        let mut identifiers = Identifiers::default();
        let mut rest = Reader::new(&self.bytes);
        while let Some((name, value)) = pair(&mut rest) {
            match name {
                b"REQUEST_METHOD" => method = Some(value),
                b"REQUEST_URI" => uri = Some(value),
                b"SCRIPT_NAME" => script = Some(value),
                b"QUERY_STRING" => query = Some(value),
                b"HTTP_TRACEPARENT" => identifiers.process_field(b"traceparent", value),
                b"HTTP_X_REQUEST_ID" => identifiers.process_field(b"x-request-id", value),
                _ => {}
            }
        }
        request.id = identifiers.id();
        request.span = identifiers.span();
        request.method.clear();
        request.target.clear();
        request.method.extend_from_slice(method.unwrap_or_default());
        if let Some(uri) = uri.filter(|uri| !uri.is_empty()) {
            request.target.extend_from_slice(uri);
        } else {
            request.target.extend_from_slice(script.unwrap_or_default());
            if let Some(query) = query.filter(|query| !query.is_empty()) {
                request.target.push(b'?');
                request.target.extend_from_slice(query);
            }
        }
        !request.method.is_empty() && !request.target.is_empty()
    }
}

#[derive(Debug, Default)]
pub(super) struct RequestLine {
    pub(super) method: Vec<u8>,
    pub(super) target: Vec<u8>,
    pub(super) id: Option<RequestId>,
    pub(super) span: Option<SpanId>,
}

pub(super) fn pair<'a>(rest: &mut Reader<'a>) -> Option<(&'a [u8], &'a [u8])> {
    let name = length(rest)?;
    let value = length(rest)?;
    Some((rest.take_bytes(name)?, rest.take_bytes(value)?))
}

/// One byte below 128, or four with the first bit set.
fn length(rest: &mut Reader<'_>) -> Option<usize> {
    let mut ahead = *rest;
    let first = ahead.u8()?;
    if first < 0x80 {
        *rest = ahead;
        return Some(usize::from(first));
    }
    let long = rest.u32_be()? & 0x7fff_ffff;
    usize::try_from(long).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(pairs: &[(&str, &str)]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (name, value) in pairs {
            bytes.push(name.len() as u8);
            bytes.extend_from_slice(&(value.len() as u32 | 0x8000_0000).to_be_bytes());
            bytes.extend_from_slice(name.as_bytes());
            bytes.extend_from_slice(value.as_bytes());
        }
        bytes
    }

    fn parse_pieces(bytes: &[u8], pieces: usize) -> Option<(String, String)> {
        let mut params = Params::default();
        for piece in bytes.chunks(pieces) {
            let kept = piece.get(..params.room()).unwrap_or(piece);
            params.add(kept, piece.len() as u16);
        }
        let mut line = RequestLine::default();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        params
            .read_request(&mut line)
            .then(|| (text(&line.method), text(&line.target)))
    }

    #[test]
    fn the_target_is_the_uri_or_the_script_with_its_query() {
        let told = |method: &str, target: &str| Some((method.to_owned(), target.to_owned()));
        let both = [
            ("SCRIPT_NAME", "/index.php"),
            ("REQUEST_METHOD", "POST"),
            ("REQUEST_URI", "/a/b"),
        ];
        assert_eq!(parse_pieces(&pairs(&both), 3), told("POST", "/a/b"));
        let script = [
            ("REQUEST_METHOD", "GET"),
            ("QUERY_STRING", "a=1"),
            ("SCRIPT_NAME", "/p.php"),
        ];
        assert_eq!(parse_pieces(&pairs(&script), 1), told("GET", "/p.php?a=1"));
        assert_eq!(parse_pieces(&pairs(&both[..1]), 100), None, "no method");
    }

    #[test]
    fn an_identifier_comes_from_the_fields_of_the_request() {
        let id = |pairs_of: &[(&str, &str)]| {
            let mut params = Params::default();
            let bytes = pairs(pairs_of);
            params.add(&bytes, bytes.len() as u16);
            let mut line = RequestLine::default();
            params.read_request(&mut line);
            line.id
        };
        assert_eq!(id(&[("HTTP_X_REQUEST_ID", "a1")]), RequestId::of_text(b"a1"));
        assert_eq!(id(&[("X_REQUEST_ID", "a1")]), None);
        let both = [("HTTP_X_REQUEST_ID", "a1"), ("HTTP_X_REQUEST_ID", "a2")];
        assert_eq!(id(&both), None);
    }

    #[test]
    fn lengths_that_claim_much_end_the_reading() {
        let line = [("REQUEST_METHOD", "GET"), ("REQUEST_URI", "/")];
        for hostile in [&b"\xff\xff\xff\xff\xff\xff\xff\xffA"[..], b"\x80", b"\x05\x05AB"] {
            let bytes = [&pairs(&line), hostile].concat();
            assert_eq!(parse_pieces(&bytes, 7), Some(("GET".to_owned(), "/".to_owned())));
            assert_eq!(parse_pieces(hostile, 7), None);
        }
    }

    #[test]
    fn what_is_beyond_the_bound_is_not_looked_at() {
        let long = "x".repeat(60_000);
        let line = [
            ("REQUEST_METHOD", "GET"),
            ("COOKIE", long.as_str()),
            ("ACCEPT", long.as_str()),
            ("REQUEST_URI", "/"),
        ];
        assert_eq!(parse_pieces(&pairs(&line), 65_000), None);
    }
}
