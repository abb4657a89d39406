//! Requests that a dialect names.

use super::HttpDecoder;
use super::body::Body;
use super::dialects::{self, BodyStart, Dialect, Fit, Kept, KeptReply, RequestHead};
use super::head::{self, Request, Response};
use super::lines::Lines;
use crate::decoding::decoder::MessageSink;
use crate::decoding::framing::Input;
use model::{Content, Direction, Role};

impl HttpDecoder {
    /// Emits the head of a request, named if a dialect names it by its head.
    pub(super) fn emit_request(
        &mut self,
        request: &Request<'_>,
        head: &[u8],
        role: Role,
        input: &mut Input<'_>,
        sink: &mut MessageSink<'_>,
    ) {
        let has_body = role == Role::RequestPart;
        match dialects::recognise(&request.head(), has_body, self.dialect) {
            Some(found @ (_, Fit::InBody | Fit::IfBody)) => {
                self.emit_message(Direction::ClientToServer, role, Content::Other, sink);
                match self.take_whole_body(request, input) {
                    Some(body) => self.emit_call(found, request, body, Role::Request, sink),
                    None => self.kept = Some(Box::new(Kept::new(found, head.to_vec()))),
                }
            }
            Some(found) => {
                let body = BodyStart {
                    bytes: b"",
                    is_whole: request.body.is_none(),
                };
                self.emit_call(found, request, body, role, sink);
            }
            None => self.emit_plain(request, role, sink),
        }
    }

    fn take_whole_body<'a>(&mut self, request: &Request<'_>, input: &mut Input<'a>) -> Option<BodyStart<'a>> {
        let length = request.body.and_then(Body::known_length)?;
        if length > dialects::MAX_BODY || input.bytes().len() < length {
            return None;
        }
        let half = &mut self.halves[Direction::ClientToServer];
        (half.body, half.started) = (None, input.at());
        half.taken += length as u64;
        Some(BodyStart {
            bytes: input.take_bytes(length),
            is_whole: true,
        })
    }

    /// Emits the end of a request, with its name if its body has it.
    pub(super) fn emit_request_end(&mut self, role: Role, is_whole: bool, sink: &mut MessageSink<'_>) {
        let kept = self.kept.take();
        let request = kept
            .as_deref()
            .map(|kept| (kept, head::request(&mut Lines::new(&kept.head))));
        match request {
            Some((kept, Ok(request))) => {
                self.emit_call(kept.found, &request, kept.body(is_whole), role, sink)
            }
            _ => self.emit_message(Direction::ClientToServer, role, Content::Other, sink),
        }
    }

    fn emit_call(
        &mut self,
        found: (&'static Dialect, Fit),
        request: &Request<'_>,
        body: BodyStart<'_>,
        role: Role,
        sink: &mut MessageSink<'_>,
    ) {
        let mut name = std::mem::take(&mut self.name);
        match dialects::name_request(found, &mut self.dialect, &request.head(), body, &mut name) {
            Some(asked) => {
                if let Some(waiting) = self.waiting.back_mut() {
                    (waiting.protocol, waiting.reads) = (asked.protocol, asked.reads);
                }
                self.emit_message(Direction::ClientToServer, role, asked.content, sink);
            }
            None => self.emit_plain(request, role, sink),
        }
        self.name = name;
    }

    pub(super) fn keep_reply(&mut self, response: &Response) {
        let reads = self.waiting.front().map(|waiting| waiting.reads);
        let may_fail = reads.filter(|_| response.status < 400 && response.body.is_some());
        match may_fail.filter(|&reads| KeptReply::is_needed(reads, response.clues)) {
            Some(reads) => self.reply.get_or_insert_default().begin(reads, response.clues),
            None => {
                if let Some(reply) = &mut self.reply {
                    reply.close();
                }
            }
        }
    }

    /// Emits the end of a reply, with its error or rows.
    pub(super) fn emit_reply_end(&mut self, sink: &mut MessageSink<'_>) {
        let outcome = self.reply.as_deref_mut().map(KeptReply::end).unwrap_or_default();
        self.emit_message(Direction::ServerToClient, Role::Reply, outcome.content(), sink);
    }

    fn emit_plain(&mut self, request: &Request<'_>, role: Role, sink: &mut MessageSink<'_>) {
        self.emit_message(Direction::ClientToServer, role, request.head().content(), sink);
    }
}

impl Request<'_> {
    pub(super) fn head(&self) -> RequestHead<'_> {
        RequestHead {
            method: self.method_name,
            target: self.target,
            clues: self.clues,
            id: self.id,
            span: self.span,
        }
    }
}
