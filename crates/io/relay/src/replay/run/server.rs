//! The servers of a replay: one after another, the requests of a connection are answered.

use super::super::ReplayError;
use super::super::outside::Outside;
use super::super::script::{After, Transfer};
use super::super::wake::{Tag, Wake};
use super::Run;
use model::Side;

impl<O: Outside> Run<'_, O> {
    pub(super) fn request_arrived(&mut self, tag: Tag) {
        let Some(progress) = self.progress(tag) else {
            return;
        };
        progress.arrived = true;
        self.release(tag, After::RequestArrived);
        let node = &self.script.nodes[tag.node as usize];
        if !node.has_reply {
            return;
        }
        match node.transfer {
            Transfer::Timed { .. } => self.answer_timed(tag),
            Transfer::Handshake(channel) | Transfer::Greeting(channel) | Transfer::Data(channel) => {
                if let Some(slot) = self.slot(tag, channel) {
                    if let Some(channel) = self.wires.channel(slot) {
                        channel.server_waiting.push_back(tag);
                    }
                    self.serve_next(slot);
                }
            }
        }
    }

    fn answer_timed(&mut self, tag: Tag) {
        if !self.is_held(tag) {
            let before = self.script.nodes[tag.node as usize].server_before;
            self.note_in(before, Wake::Reply(tag));
        }
    }

    /// Starts a server's next answer if the server is free and the answer waits for no other node.
    fn serve_next(&mut self, slot: u32) {
        let Some(channel) = self.wires.channel(slot) else {
            return;
        };
        let Some(tag) = channel.server_waiting.front().copied() else {
            return;
        };
        if channel.server_busy || self.is_held(tag) {
            return;
        }
        if let Some(channel) = self.wires.channel(slot) {
            channel.server_waiting.pop_front();
            channel.server_busy = true;
        }
        let before = self.script.nodes[tag.node as usize].server_before;
        self.note_in(before, Wake::Reply(tag));
    }

    fn is_held(&mut self, tag: Tag) -> bool {
        let script = self.script;
        let mut waited_for = script.nodes[tag.node as usize].reply_after.iter();
        waited_for.any(|node| !self.is_completed(Tag { node: *node, ..tag }))
    }

    pub(super) fn reply(&mut self, tag: Tag) -> Result<(), ReplayError> {
        let Some(progress) = self.progress(tag) else {
            return Ok(());
        };
        progress.replying = true;
        let node = &self.script.nodes[tag.node as usize];
        match node.transfer {
            Transfer::Timed { reply, .. } => {
                self.note_in(reply + node.inside[Side::Server], Wake::Complete(tag))
            }
            Transfer::Handshake(channel) | Transfer::Greeting(channel) | Transfer::Data(channel) => {
                self.send(tag, channel, Side::Server)?;
                self.note_in(node.inside[Side::Server], Wake::Free(tag));
            }
        }
        Ok(())
    }

    pub(super) fn free(&mut self, tag: Tag) {
        let Some(slot) = self.slot_of(tag) else { return };
        if let Some(channel) = self.wires.channel(slot) {
            channel.server_busy = false;
        }
        self.serve_next(slot);
    }

    fn slot_of(&self, tag: Tag) -> Option<u32> {
        match self.script.nodes[tag.node as usize].transfer {
            Transfer::Handshake(channel) | Transfer::Greeting(channel) | Transfer::Data(channel) => {
                self.slot(tag, channel)
            }
            Transfer::Timed { .. } => None,
        }
    }

    pub(super) fn let_go(&mut self, tag: Tag) {
        let Some(progress) = self.progress(tag).copied() else {
            return;
        };
        if !progress.arrived || progress.replying {
            return;
        }
        match self.slot_of(tag) {
            Some(slot) => self.serve_next(slot),
            None => self.answer_timed(tag),
        }
    }
}
