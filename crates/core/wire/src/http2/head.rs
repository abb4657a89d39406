//! The header fields that are used.

use crate::http::dialects::{Clues, ReplyClues, RequestHead, is_clue};
use crate::http::{self, Identifiers};
use model::Direction;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    Method,
    Path,
    Status,
    ContentType,
    GrpcStatus,
    Traceparent,
    RequestId,
    Authority,
    /// May tell a store behind HTTP.
    Clue,
    /// Only one side sends it.
    Of(Direction),
    Other,
}

impl Field {
    /// The only side that sends the field (RFC 9113 section 8.3, RFC 9110, gRPC over HTTP/2).
    fn sender(self) -> Option<Direction> {
        match self {
            Self::Method | Self::Path | Self::Authority => Some(Direction::ClientToServer),
            Self::Status | Self::GrpcStatus => Some(Direction::ServerToClient),
            Self::Of(sender) => Some(sender),
            Self::ContentType | Self::Traceparent | Self::RequestId | Self::Clue | Self::Other => None,
        }
    }

    pub(super) fn from_name(name: &[u8]) -> Self {
        match name {
            b":method" => Self::Method,
            b":path" => Self::Path,
            b":status" => Self::Status,
            b"content-type" => Self::ContentType,
            b"grpc-status" => Self::GrpcStatus,
            b"traceparent" => Self::Traceparent,
            b"x-request-id" => Self::RequestId,
            b":authority" => Self::Authority,
            b":scheme" | b"te" | b"grpc-timeout" => Self::Of(Direction::ClientToServer),
            b"grpc-message" => Self::Of(Direction::ServerToClient),
            _ if is_clue(name) => Self::Clue,
            _ => Self::Other,
        }
    }
}

/// Used fields of one header block.
#[derive(Debug, Default)]
pub(super) struct Head {
    pub(super) method: Vec<u8>,
    pub(super) path: Vec<u8>,
    pub(super) status: Option<u16>,
    pub(super) is_grpc: bool,
    pub(super) grpc_status: Option<u16>,
    pub(super) identifiers: Identifiers,
    /// By the fields that only one side sends.
    pub(super) sender: Option<Direction>,
    /// Some fields are unknown.
    pub(super) is_cut: bool,
    /// As lines of HTTP/1, and where each of them ends.
    clues: Vec<u8>,
    ends: Vec<usize>,
}

impl Head {
    pub(super) fn set(&mut self, field: Field, name: &[u8], value: &[u8]) {
        self.sender = field.sender().or(self.sender);
        match field {
            Field::Method => self.method = kept(value),
            Field::Path => self.path = kept(value),
            Field::Status => self.status = number(value).filter(|status| (100..600).contains(status)),
            Field::ContentType => {
                self.is_grpc = is_grpc(value);
                self.add_clue(b"content-type", value);
            }
            Field::Authority => self.add_clue(b"host", value),
            Field::Clue => self.add_clue(name, value),
            Field::GrpcStatus => self.grpc_status = number(value),
            Field::Traceparent => self.identifiers.process_field(b"traceparent", value),
            Field::RequestId => self.identifiers.process_field(b"x-request-id", value),
            Field::Of(_) | Field::Other => {}
        }
    }

    fn add_clue(&mut self, name: &[u8], value: &[u8]) {
        if self.ends.len() < MAX_CLUES {
            for part in [name, b":", value] {
                self.clues.extend_from_slice(&part[..part.len().min(MAX_CLUE)]);
            }
            self.ends.push(self.clues.len());
        }
    }

    fn each_clue<'a>(&'a self, mut process: impl FnMut(http::Field<'a>)) {
        let mut begin = 0;
        for &end in &self.ends {
            http::Field::new(&self.clues[begin..end]).map(&mut process);
            begin = end;
        }
    }

    pub(super) fn reply_clues(&self) -> ReplyClues {
        let mut clues = ReplyClues::default();
        self.each_clue(|field| clues.process_field(field));
        clues
    }

    pub(super) fn request(&self) -> RequestHead<'_> {
        let mut clues = Clues::default();
        self.each_clue(|field| clues.process_field(field));
        RequestHead {
            method: &self.method,
            target: &self.path,
            clues,
            id: self.identifiers.id(),
            span: self.identifiers.span(),
        }
    }

    pub(super) fn is_interim(&self) -> bool {
        self.status.is_some_and(|status| status < 200)
    }
}

fn kept(value: &[u8]) -> Vec<u8> {
    value[..value.len().min(MAX_KEPT)].to_vec()
}

/// `application/grpc`, `application/grpc+proto`, not `application/grpc-web`.
fn is_grpc(value: &[u8]) -> bool {
    let rest = value.strip_prefix(b"application/grpc");
    rest.is_some_and(|rest| matches!(rest.first(), None | Some(b'+' | b';' | b' ')))
}

fn number(value: &[u8]) -> Option<u16> {
    std::str::from_utf8(value).ok()?.parse().ok()
}

const MAX_KEPT: usize = 8192;
const MAX_CLUE: usize = 1024;
const MAX_CLUES: usize = 16;
