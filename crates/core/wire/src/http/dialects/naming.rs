//! The name of a request, for any version of HTTP.

use super::{Call, Clues, Dialect, Fit, Reads, push_words};
use model::{CallSyntax, Content, Protocol, RequestId, SpanId};

/// The part of a request's head that dialects read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RequestHead<'a> {
    pub(crate) method: &'a [u8],
    pub(crate) target: &'a [u8],
    pub(crate) clues: Clues<'a>,
    pub(crate) id: Option<RequestId>,
    pub(crate) span: Option<SpanId>,
}

impl<'a> RequestHead<'a> {
    pub(crate) const fn content(&self) -> Content<'a> {
        Content::HttpRequest {
            method: self.method,
            target: self.target,
            request: self.id,
            span: self.span,
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct BodyStart<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) is_whole: bool,
}

#[derive(Debug)]
pub(crate) struct NamedRequest<'a> {
    pub(crate) content: Content<'a>,
    pub(crate) protocol: Protocol,
    /// How its reply is read.
    pub(crate) reads: Reads,
}

/// `None` if the request is another one after all. `known` becomes the connection's dialect.
pub(crate) fn name_request<'a>(
    (dialect, fit): (&'static Dialect, Fit),
    known: &mut Option<&'static Dialect>,
    request: &RequestHead<'a>,
    body: BodyStart<'a>,
    name: &'a mut Vec<u8>,
) -> Option<NamedRequest<'a>> {
    name.clear();
    let opened = request.clues.encoding.open(body.bytes);
    let syntax = match (dialect.name)(&Call::new(request, &opened), name) {
        Some(syntax) if !name.is_empty() => syntax,
        _ if fit == Fit::IfBody || !dialect.protocol.is_database() => return None,
        _ => {
            name.clear();
            push_words(name, &[request.method, request.target]);
            CallSyntax::Target
        }
    };
    if known.is_none_or(|known| !known.protocol.is_database()) {
        *known = Some(dialect);
    }
    Some(NamedRequest {
        protocol: dialect.protocol,
        reads: dialect.reads.of_request(name),
        content: Content::Call {
            text: name,
            syntax,
            identity: body.is_whole.then_some([request.target, body.bytes]),
            request: request.id,
            span: request.span,
        },
    })
}
