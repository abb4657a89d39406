//! State of the conversation, apart from unfinished records.

use super::params::{Params, RequestLine};
use super::record::{Header, Kind};
use super::reply::Head;
use crate::decoding::decoder::MessageSink;
use crate::decoding::fault::fault;
use crate::decoding::framing::{Frame, HeaderFault};
use model::{Content, Direction, Message, PendingReplies, Phase, Protocol, Role, Timestamp};

#[derive(Debug, Default)]
pub(super) struct Session {
    sending: Option<Sending>,
    rest: Option<Rest>,
    pending: PendingReplies<PendingReply, MAXIMUM_OWED>,
    unasked: Head,
    line: RequestLine,
}

#[derive(Debug)]
struct Sending {
    request: u16,
    params: Params,
    last: Kind,
    ended: Timestamp,
}

#[derive(Debug)]
struct Rest {
    request: u16,
    last: Kind,
    part: Option<Part>,
}

#[derive(Debug, Clone, Copy)]
struct Part {
    started: Timestamp,
    ended: Timestamp,
    bytes: u64,
}

#[derive(Debug)]
struct PendingReply {
    /// Request number, or 0 for a question about the application.
    request: u16,
    head: Head,
    /// Part of the reply that arrived while an earlier reply is incomplete.
    early: Option<Early>,
}

#[derive(Debug, Clone, Copy)]
struct Early {
    part: Part,
    said: Content<'static>,
    is_whole: bool,
}

impl Session {
    pub(super) fn admit(&self, header: Header) -> Result<(), HeaderFault> {
        let number = || header.request.to_string();
        match header.kind {
            Kind::AbortRequest => Ok(()),
            Kind::BeginRequest | Kind::GetValues if self.sending.is_some() => {
                Err(fault("the rest of a request", "another one"))
            }
            Kind::BeginRequest | Kind::GetValues if self.pending.check().is_err() => {
                self.pending.check().map_err(HeaderFault::from)
            }
            Kind::BeginRequest if self.request_index(header.request).is_some() => {
                Err(fault("a number that no open request has", number()))
            }
            Kind::BeginRequest | Kind::GetValues => Ok(()),
            Kind::Params | Kind::Stdin | Kind::Data => {
                let request = self.sending.as_ref().map(|sending| sending.request);
                let rest = self.rest.as_ref().map(|rest| rest.request);
                match request.or(rest) {
                    Some(known) if known == header.request => Ok(()),
                    _ => Err(fault("a record of the request that was begun", number())),
                }
            }
            Kind::EndRequest | Kind::Stdout | Kind::Stderr | Kind::GetValuesResult | Kind::UnknownType => {
                let sending = self.sending.as_ref().map(|sending| sending.request);
                let is_asked =
                    self.request_index(header.request).is_some() || sending == Some(header.request);
                match is_asked || (self.pending.is_empty() && sending.is_none()) {
                    true => Ok(()),
                    false => Err(fault("a reply to an open request", number())),
                }
            }
        }
    }

    pub(super) fn wanted(&self, header: Header) -> usize {
        let most = match header.kind {
            Kind::BeginRequest | Kind::EndRequest => usize::from(header.content),
            Kind::Params => self.sending.as_ref().map_or(0, |sending| sending.params.room()),
            Kind::Stdout => match self
                .request_index(header.request)
                .and_then(|place| self.pending.get(place))
            {
                Some(pending) => pending.head.room(),
                None => self.unasked.room(),
            },
            Kind::AbortRequest
            | Kind::Stdin
            | Kind::Stderr
            | Kind::Data
            | Kind::GetValues
            | Kind::GetValuesResult
            | Kind::UnknownType => 0,
        };
        most.min(usize::from(header.content))
    }

    pub(super) fn client(&mut self, header: Header, frame: &Frame<'_>, sink: &mut MessageSink<'_>) {
        let part = Part::from_frame(frame);
        if let Some(rest) = self.rest.as_mut().filter(|rest| rest.request == header.request)
            && header.kind != Kind::BeginRequest
        {
            let is_last =
                header.content == 0 && header.kind == rest.last || header.kind == Kind::AbortRequest;
            rest.part = Some(rest.part.map_or(part, |before| before.with(part)));
            if is_last {
                self.pass_rest(sink);
            }
            return;
        }
        let (role, phase) = match header.kind {
            Kind::BeginRequest => {
                self.pass_rest(sink);
                self.sending = Some(Sending::new(header.request, frame));
                (Role::RequestPart, Phase::Work)
            }
            Kind::GetValues => {
                self.owe(header.request);
                (Role::Request, Phase::Login)
            }
            kind @ (Kind::AbortRequest
            | Kind::EndRequest
            | Kind::Params
            | Kind::Stdin
            | Kind::Stdout
            | Kind::Stderr
            | Kind::Data
            | Kind::GetValuesResult
            | Kind::UnknownType) => match self
                .sending
                .as_mut()
                .filter(|sending| sending.request == header.request)
            {
                Some(sending) => {
                    sending.ended = frame.ended;
                    let is_last = header.content == 0 && kind == sending.last;
                    let is_told =
                        kind == Kind::Params && sending.process_frame(header, frame, &mut self.line);
                    return self.part_of_request(part, is_last || kind == Kind::AbortRequest, is_told, sink);
                }
                None => (Role::OneWay, Phase::Work),
            },
        };
        sink(&part.message(Direction::ClientToServer, role, phase, Content::Other));
    }

    fn part_of_request(&mut self, part: Part, is_last: bool, is_told: bool, sink: &mut MessageSink<'_>) {
        let role = match self.sending.take_if(|_| is_last) {
            Some(sending) => {
                self.owe(sending.request);
                if sending.last == Kind::Params {
                    self.rest = Some(sending.rest());
                }
                Role::Request
            }
            None => Role::RequestPart,
        };
        let content = match is_told {
            true => Content::HttpRequest {
                method: &self.line.method,
                target: &self.line.target,
                request: self.line.id,
                span: self.line.span,
            },
            false => Content::Other,
        };
        sink(&part.message(Direction::ClientToServer, role, Phase::Work, content));
    }

    pub(super) fn server(&mut self, header: Header, frame: &Frame<'_>, sink: &mut MessageSink<'_>) {
        if let Some(sending) = self.sending.take_if(|sending| sending.request == header.request) {
            let so_far = Part::at(sending.ended);
            sink(&so_far.message(
                Direction::ClientToServer,
                Role::Request,
                Phase::Work,
                Content::Other,
            ));
            self.owe(sending.request);
            self.rest = Some(sending.rest());
        }
        let place = self.request_index(header.request);
        let head = match place.and_then(|place| self.pending.get_mut(place)) {
            Some(pending) => &mut pending.head,
            None => &mut self.unasked,
        };
        let (said, is_whole) = parse_content(header, frame, head);
        let part = Part::from_frame(frame);
        match place {
            None => sink(&reply(part, header.request, said, is_whole)),
            Some(0) => {
                sink(&reply(part, header.request, said, is_whole));
                if is_whole {
                    self.pending.pop();
                    self.pass_early(sink);
                }
            }
            Some(place) => {
                if let Some(pending) = self.pending.get_mut(place) {
                    let early = pending.early.map_or(part, |early| early.part.with(part));
                    let before = pending.early.map_or(Content::Other, |early| early.said);
                    pending.early = Some(Early {
                        part: early,
                        said: if said == Content::Other { before } else { said },
                        is_whole,
                    });
                }
            }
        }
    }

    fn pass_early(&mut self, sink: &mut MessageSink<'_>) {
        while let Some(pending) = self.pending.front_mut() {
            let Some(early) = pending.early.take() else { return };
            sink(&reply(early.part, pending.request, early.said, early.is_whole));
            if !early.is_whole {
                return;
            }
            self.pending.pop();
        }
    }

    fn pass_rest(&mut self, sink: &mut MessageSink<'_>) {
        if let Some(part) = self.rest.take().and_then(|rest| rest.part) {
            sink(&part.message(
                Direction::ClientToServer,
                Role::OneWay,
                Phase::Work,
                Content::Other,
            ));
        }
    }

    fn owe(&mut self, request: u16) {
        self.pending.push(PendingReply::new(request)).ok();
    }

    fn request_index(&self, request: u16) -> Option<usize> {
        self.pending.iter().position(|pending| pending.request == request)
    }

    pub(super) fn unread(&self) -> u64 {
        let part = self.rest.as_ref().and_then(|rest| rest.part);
        part.map_or(0, |part| part.bytes)
    }

    pub(super) fn early(&self) -> u64 {
        let early = self.pending.iter().filter_map(|pending| pending.early);
        early.map(|early| early.part.bytes).sum()
    }

    pub(super) fn lose_request(&mut self) {
        self.sending = None;
        self.rest = None;
    }

    pub(super) fn lose_replies(&mut self) {
        self.unasked = Head::default();
        for pending in self.pending.iter_mut() {
            *pending = PendingReply::new(pending.request);
        }
    }

    pub(super) fn has_pending_reply(&self) -> bool {
        !self.pending.is_empty()
    }

    pub(super) fn clear_pending(&mut self) {
        self.pending.clear();
    }
}

impl Sending {
    fn new(request: u16, frame: &Frame<'_>) -> Self {
        let role = frame.body.get(1).copied();
        Self {
            request,
            params: Params::default(),
            last: match role {
                Some(AUTHORIZER) => Kind::Params,
                Some(FILTER) => Kind::Data,
                _ => Kind::Stdin,
            },
            ended: frame.ended,
        }
    }

    fn process_frame(&mut self, header: Header, frame: &Frame<'_>, line: &mut RequestLine) -> bool {
        self.params.add(frame.body, header.content);
        header.content == 0 && std::mem::take(&mut self.params).read_request(line)
    }

    fn rest(self) -> Rest {
        Rest {
            request: self.request,
            // Web servers end the input of an authorizer too, which has none.
            last: if self.last == Kind::Data {
                Kind::Data
            } else {
                Kind::Stdin
            },
            part: None,
        }
    }
}

impl PendingReply {
    fn new(request: u16) -> Self {
        Self {
            request,
            head: Head::default(),
            early: None,
        }
    }
}

impl Part {
    const fn from_frame(frame: &Frame<'_>) -> Self {
        Self {
            started: frame.started,
            ended: frame.ended,
            bytes: frame.bytes,
        }
    }

    const fn at(at: Timestamp) -> Self {
        Self {
            started: at,
            ended: at,
            bytes: 0,
        }
    }

    const fn with(self, next: Self) -> Self {
        Self {
            started: self.started,
            ended: next.ended,
            bytes: self.bytes + next.bytes,
        }
    }

    const fn message(
        self,
        direction: Direction,
        role: Role,
        phase: Phase,
        content: Content<'_>,
    ) -> Message<'_> {
        Message {
            stream: 0,
            protocol: Protocol::Fastcgi,
            direction,
            started: self.started,
            ended: self.ended,
            bytes: self.bytes,
            role,
            phase,
            content,
        }
    }
}

fn parse_content(header: Header, frame: &Frame<'_>, head: &mut Head) -> (Content<'static>, bool) {
    let told = |status| Content::HttpResponse { status };
    match header.kind {
        Kind::Stdout => {
            let status = head.add(frame.body, header.content);
            (status.map_or(Content::Other, told), false)
        }
        Kind::EndRequest => {
            let status = head.finish();
            let refusal = frame.body.get(4).and_then(|&state| refusal(state));
            let code = refusal.map(|code| Content::Error { code, text: b"" });
            (code.or(status.map(told)).unwrap_or(Content::Other), true)
        }
        Kind::GetValuesResult | Kind::UnknownType => (Content::Other, true),
        Kind::BeginRequest
        | Kind::AbortRequest
        | Kind::Params
        | Kind::Stdin
        | Kind::Stderr
        | Kind::Data
        | Kind::GetValues => (Content::Other, false),
    }
}

const fn refusal(state: u8) -> Option<&'static [u8]> {
    match state {
        1 => Some(b"FCGI_CANT_MPX_CONN"),
        2 => Some(b"FCGI_OVERLOADED"),
        3 => Some(b"FCGI_UNKNOWN_ROLE"),
        _ => None,
    }
}

const fn reply(part: Part, request: u16, said: Content<'static>, is_whole: bool) -> Message<'static> {
    let role = if is_whole { Role::Reply } else { Role::ReplyPart };
    let phase = if request == 0 { Phase::Login } else { Phase::Work };
    part.message(Direction::ServerToClient, role, phase, said)
}

const MAXIMUM_OWED: usize = 64;
const AUTHORIZER: u8 = 2;
const FILTER: u8 = 3;
