//! Streams: which frames are a request, which a reply.

use super::flow::StreamFlow;
use super::head::Head;
use model::{Direction, PerDirection, Timestamp};
use std::collections::BTreeMap;

/// One stream, from its first frame until both sides have ended it.
#[derive(Debug, Default)]
pub(super) struct StreamState {
    /// When the last frame of each side had passed.
    pub(super) passed: PerDirection<Timestamp>,
    /// By sender.
    pub(super) flows: PerDirection<StreamFlow>,
    pub(super) is_grpc: bool,
    /// The request is complete, or answered before its end.
    pub(super) asked: bool,
    pub(super) replied: bool,
    pub(super) client_ended: bool,
    pub(super) server_ended: bool,
    /// Path of a call, for requests after its first reply.
    pub(super) path: Box<[u8]>,
}

/// The part of a frame in the exchange of its stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FrameRole {
    RequestPart,
    Request,
    /// The client asks again on the stream of a call that was answered.
    NextRequestPart,
    NextRequest,
    ReplyPart,
    Reply,
    /// As the two above, before the end of the request.
    EarlyReplyPart,
    EarlyReply,
    /// The client needs no reply any more.
    Cancel,
    /// Of no exchange.
    Aside,
}

impl FrameRole {
    /// Whether another frame of the same exchange can be before this one.
    pub(super) fn may_wait(self) -> bool {
        !matches!(
            self,
            Self::Aside | Self::EarlyReply | Self::EarlyReplyPart | Self::Cancel
        )
    }
}

impl StreamState {
    pub(super) fn from_head(head: &Head) -> Self {
        Self {
            is_grpc: head.is_grpc,
            ..Self::default()
        }
    }

    /// For replies to an unseen request.
    pub(super) fn unseen() -> Self {
        Self {
            asked: true,
            client_ended: true,
            ..Self::default()
        }
    }

    pub(super) fn client_sends(&mut self, ends: bool) -> FrameRole {
        self.client_ended |= ends;
        let is_next = self.asked && self.replied && self.is_grpc && !self.server_ended;
        if self.asked && !is_next {
            return FrameRole::Aside;
        }
        (self.asked, self.replied) = (ends, false);
        match (is_next, ends) {
            (true, true) => FrameRole::NextRequest,
            (true, false) => FrameRole::NextRequestPart,
            (false, true) => FrameRole::Request,
            (false, false) => FrameRole::RequestPart,
        }
    }

    pub(super) fn client_resets(&mut self) -> FrameRole {
        (self.client_ended, self.server_ended) = (true, true);
        match self.replied {
            true => FrameRole::Aside,
            false => FrameRole::Cancel,
        }
    }

    pub(super) fn server_sends(&mut self, is_head: bool, ends: bool) -> FrameRole {
        self.server_ended |= ends;
        // Metadata of a call, before its end, is no answer; neither is an event after one.
        let is_metadata = self.is_grpc && !self.asked && is_head && !ends;
        if self.replied || is_metadata {
            return FrameRole::Aside;
        }
        let is_early = !std::mem::replace(&mut self.asked, true);
        // The call's client may go on: each message is a reply.
        self.replied = ends || (self.is_grpc && !self.client_ended);
        match (is_early, self.replied) {
            (true, true) => FrameRole::EarlyReply,
            (true, false) => FrameRole::EarlyReplyPart,
            (false, true) => FrameRole::Reply,
            (false, false) => FrameRole::ReplyPart,
        }
    }
}

/// At most [`MAX_STREAMS`]; beyond, the oldest is forgotten.
#[derive(Debug, Default)]
pub(super) struct Streams {
    open: BTreeMap<u32, StreamState>,
}

impl Streams {
    pub(super) fn get(&mut self, id: u32) -> Option<&mut StreamState> {
        self.open.get_mut(&id)
    }

    pub(super) fn insert(&mut self, id: u32, state: StreamState) -> &mut StreamState {
        if self.open.len() >= MAX_STREAMS {
            self.open.pop_first();
        }
        self.open.entry(id).or_insert(state)
    }

    pub(super) fn forget_ended(&mut self, id: u32) {
        if self
            .open
            .get(&id)
            .is_some_and(|state| state.client_ended && state.server_ended)
        {
            self.open.remove(&id);
        }
    }

    pub(super) fn is_reply_expected(&self) -> bool {
        self.open.values().any(|state| state.asked && !state.replied)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    pub(super) fn resize_windows(&mut self, sender: Direction, difference: i64) {
        for state in self.open.values_mut() {
            state.flows[sender].resize(difference);
        }
    }

    pub(super) fn clear(&mut self) {
        self.open.clear();
    }
}

const MAX_STREAMS: usize = 1024;
