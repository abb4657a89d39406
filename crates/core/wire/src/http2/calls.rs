//! Requests of stores, named by the dialects of HTTP as those of HTTP/1 are.

use super::Connection;
use super::emission::{Passed, message};
use super::frames::{self, FrameHeader, Kind};
use super::head::Head;
use super::streams::FrameRole;
use crate::decoding::decoder::MessageSink;
use crate::http::dialects::{
    self, BodyStart, Dialect, Fit, Kept, KeptBody, KeptReply, MAX_BODY, Outcome, Reads,
};
use model::{Content, Direction, Message, Protocol, Role, Timestamp};
use std::collections::BTreeMap;

/// Requests in progress, by stream: at most [`MAX_CALLS`], each with the beginnings of two bodies and
/// a head. Beyond, the oldest is forgotten.
#[derive(Debug, Default)]
pub(super) struct Calls {
    open: BTreeMap<u32, OpenCall>,
    dialect: Option<&'static Dialect>,
    pub(super) name: Vec<u8>,
}

#[derive(Debug, Default)]
struct OpenCall {
    protocol: Option<Protocol>,
    reads: Reads,
    request: Option<Box<Kept<Head>>>,
    reply: Option<Box<KeptReply>>,
}

impl Calls {
    pub(super) fn dialect(&self) -> Option<Protocol> {
        self.dialect.map(|dialect| dialect.protocol)
    }

    pub(super) fn protocol(&self, stream: u32) -> Protocol {
        let known = match self.open.get(&stream) {
            Some(call) => call.protocol,
            None => self.dialect(),
        };
        known.unwrap_or(Protocol::Http2)
    }

    pub(super) fn room(&self, direction: Direction, header: &[u8]) -> usize {
        let header = FrameHeader::parse(header).filter(|header| header.kind == Kind::Data);
        let call = header.and_then(|header| self.open.get(&header.stream));
        let is_kept = call.is_some_and(|call| match direction {
            Direction::ClientToServer => call.request.is_some(),
            Direction::ServerToClient => call.reply.is_some(),
        });
        if is_kept { MAX_BODY + 1 } else { 0 }
    }

    pub(super) fn add_body(&mut self, direction: Direction, header: FrameHeader, body: &[u8]) {
        let Some(call) = self.open.get_mut(&header.stream) else {
            return;
        };
        let kept = match direction {
            Direction::ClientToServer => call.request.as_deref_mut().map(|request| &mut request.body),
            Direction::ServerToClient => call.reply.as_deref_mut().and_then(KeptReply::body),
        };
        if let Some(kept) = kept {
            add(kept, header, body);
        }
    }

    pub(super) fn forget(&mut self, stream: u32) {
        self.open.remove(&stream);
    }

    pub(super) fn lose(&mut self, direction: Direction) {
        for call in self.open.values_mut() {
            match direction {
                Direction::ClientToServer => call.request = None,
                Direction::ServerToClient => call.reply = None,
            }
        }
    }

    pub(super) fn clear(&mut self) {
        self.open.clear();
    }

    /// [`Content::Other`] if the body names the request: then it is kept with the head. `None` if no
    /// dialect has it.
    pub(super) fn name_head<'a>(
        &mut self,
        header: FrameHeader,
        head: &'a mut Head,
        name: &'a mut Vec<u8>,
    ) -> Option<Content<'a>> {
        let has_body = !header.ends_stream();
        let store = self.dialect.filter(|known| known.protocol.is_database());
        let found = if head.is_grpc || head.path.is_empty() {
            None
        } else if head.is_cut {
            store.map(|known| (known, Fit::Named))
        } else {
            dialects::recognise(&head.request(), has_body, self.dialect)
        };
        let mut call = OpenCall::default();
        let content = match found {
            None => None,
            Some(found @ (_, Fit::InBody | Fit::IfBody)) => {
                call.request = Some(Box::new(Kept::new(found, std::mem::take(head))));
                Some(Content::Other)
            }
            Some(found) => {
                let body = BodyStart {
                    bytes: b"",
                    is_whole: !has_body,
                };
                let asked = dialects::name_request(found, &mut self.dialect, &head.request(), body, name);
                asked.map(|asked| {
                    (call.protocol, call.reads) = (Some(asked.protocol), asked.reads);
                    asked.content
                })
            }
        };
        if content.is_some() || self.dialect.is_some() {
            if self.open.len() >= MAX_CALLS {
                self.open.pop_first();
            }
            self.open.insert(header.stream, call);
        }
        content
    }

    fn name_end<'a>(
        &mut self,
        stream: u32,
        request: &'a Kept<Head>,
        is_whole: bool,
        name: &'a mut Vec<u8>,
    ) -> Content<'a> {
        let head = request.head.request();
        match dialects::name_request(
            request.found,
            &mut self.dialect,
            &head,
            request.body(is_whole),
            name,
        ) {
            Some(asked) => {
                if let Some(call) = self.open.get_mut(&stream) {
                    (call.protocol, call.reads) = (Some(asked.protocol), asked.reads);
                }
                asked.content
            }
            None => head.content(),
        }
    }

    fn take_request(&mut self, stream: u32) -> Option<Box<Kept<Head>>> {
        self.open.get_mut(&stream)?.request.take()
    }

    pub(super) fn keep_reply(&mut self, header: FrameHeader, status: u16, head: &Head) {
        let clues = head.reply_clues();
        self.dialect = self.dialect.or(clues.dialect);
        if let Some(call) = self.open.get_mut(&header.stream)
            && status < 400
            && !header.ends_stream()
            && KeptReply::is_needed(call.reads, clues)
        {
            call.reply.insert(Box::default()).begin(call.reads, clues);
        }
    }

    /// Errors and rows of a reply at its end.
    pub(super) fn take_outcome(&mut self, stream: u32, part: FrameRole) -> Outcome {
        let is_end = matches!(part, FrameRole::Reply | FrameRole::EarlyReply);
        let call = self.open.get_mut(&stream).filter(|_| is_end);
        let reply = call.and_then(|call| call.reply.take());
        reply.map(|mut reply| reply.end()).unwrap_or_default()
    }
}

impl Connection {
    /// Emits a frame of the client behind its head, with the name of the request that it ends.
    pub(super) fn emit_request(
        &mut self,
        header: FrameHeader,
        part: FrameRole,
        content: Content<'_>,
        passed: Passed,
        sink: &mut MessageSink<'_>,
    ) {
        let sender = (header.stream, Direction::ClientToServer);
        let ended = header
            .ends_stream()
            .then(|| self.calls.take_request(header.stream));
        let Some(request) = ended.flatten() else {
            return self.emit(sender, part, content, passed, sink);
        };
        let mut name = std::mem::take(&mut self.calls.name);
        let content = self.calls.name_end(header.stream, &request, true, &mut name);
        self.emit(sender, part, content, passed, sink);
        self.calls.name = name;
    }

    /// Emits the end of a request that is answered before it.
    pub(super) fn emit_answered(&mut self, stream: u32, at: Timestamp, sink: &mut MessageSink<'_>) {
        let nothing = Passed::nothing(at);
        let request = self.calls.take_request(stream);
        let mut name = std::mem::take(&mut self.calls.name);
        let content = match &request {
            Some(request) => self.calls.name_end(stream, request, false, &mut name),
            None => Content::Other,
        };
        let whole = message(stream, Direction::ClientToServer, Role::Request, content, nothing);
        sink(&Message {
            protocol: self.calls.protocol(stream),
            ..whole
        });
        self.calls.name = name;
    }
}

fn add(kept: &mut KeptBody, header: FrameHeader, body: &[u8]) {
    let is_whole = body.len() as u64 == header.length;
    match frames::fragment(header, body).filter(|_| is_whole) {
        Some(content) => kept.add(content, content.len() as u64),
        None if header.is_padded() => kept.add(&[], header.length),
        None => kept.add(body, header.length),
    }
}

const MAX_CALLS: usize = 128;

#[cfg(test)]
mod tests;
