//! Requests that a dialect names.

use super::HttpDecoder;
use super::body::Body;
use super::dialects::{self, Dialect, Fit, Kept, KeptReply};
use super::head::{self, Request, Response};
use super::lines::Lines;
use crate::decoding::decoder::MessageSink;
use crate::decoding::framing::Input;
use model::{Content, Direction, Role};

#[derive(Clone, Copy)]
struct BodyStart<'a> {
    bytes: &'a [u8],
    is_whole: bool,
}

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
        match dialects::recognise(request, self.dialect) {
            Some((dialect, fit @ (Fit::InBody | Fit::IfBody))) if role == Role::RequestPart => {
                self.emit_message(Direction::ClientToServer, role, Content::Other, sink);
                match self.take_whole_body(request, input) {
                    Some(body) => self.emit_call((dialect, fit), request, body, Role::Request, sink),
                    None => self.kept = Some(Box::new(Kept::new(dialect, fit, head))),
                }
            }
            Some((dialect, fit @ (Fit::Named | Fit::InBody))) => {
                let body = BodyStart {
                    bytes: b"",
                    is_whole: request.body.is_none(),
                };
                self.emit_call((dialect, fit), request, body, role, sink);
            }
            Some((_, Fit::IfBody | Fit::No)) | None => self.emit_plain(request, role, sink),
        }
    }

    /// The body, if it came with the head: it is read without a copy.
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
        let Some((kept, Ok(request))) = request else {
            return self.emit_message(Direction::ClientToServer, role, Content::Other, sink);
        };
        let body = BodyStart {
            bytes: &kept.body.bytes,
            is_whole: is_whole && !kept.body.is_cut,
        };
        self.emit_call((kept.dialect, kept.fit), &request, body, role, sink);
    }

    fn emit_call(
        &mut self,
        (dialect, fit): (&'static Dialect, Fit),
        request: &Request<'_>,
        body: BodyStart<'_>,
        role: Role,
        sink: &mut MessageSink<'_>,
    ) {
        let mut name = std::mem::take(&mut self.name);
        let opened = request.clues.encoding.open(body.bytes);
        let syntax = match dialects::write_name(dialect, request, &opened, &mut name) {
            Some(syntax) => syntax,
            None if fit == Fit::IfBody || !dialect.protocol.is_database() => {
                return self.emit_plain(request, role, sink);
            }
            None => dialects::write_target(request, &mut name),
        };
        if self.dialect.is_none_or(|known| !known.protocol.is_database()) {
            self.dialect = Some(dialect);
        }
        if let Some(waiting) = self.waiting.back_mut() {
            waiting.protocol = dialect.protocol;
            waiting.reads = dialect.reads.of_request(&name);
        }
        let content = Content::Call {
            text: &name,
            syntax,
            identity: body.is_whole.then_some([request.target, body.bytes]),
            request: request.id,
            span: request.span,
        };
        self.emit_message(Direction::ClientToServer, role, content, sink);
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
        let content = match (&outcome.error, outcome.rows) {
            (Some(code), _) => Content::Error { code, text: b"" },
            (None, Some(rows)) => Content::Done {
                rows: Some(rows),
                transaction: None,
            },
            (None, None) => Content::Other,
        };
        self.emit_message(Direction::ServerToClient, Role::Reply, content, sink);
    }

    fn emit_plain(&mut self, request: &Request<'_>, role: Role, sink: &mut MessageSink<'_>) {
        let content = Content::HttpRequest {
            method: request.method_name,
            target: request.target,
            request: request.id,
            span: request.span,
        };
        self.emit_message(Direction::ClientToServer, role, content, sink);
    }
}
