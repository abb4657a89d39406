//! Converts the server's packets to messages.

use super::packets::{BufferedPackets, FLAGS, Packet};
use super::{Asks, Cursor, MAXIMUM_CURSORS, PendingReply, Session, encrypted};
use crate::decoding::decoder::MessageSink;
use crate::decoding::framing::HeaderFault;
use crate::tns::answer::refusal;
use crate::tns::ending::{Age, Ending, NO_MORE_ROWS, Summary, TRANSACTION, ending, named_error};
use crate::tns::introduction;
use crate::tns::messages::packet;
use model::{Content, Direction, Phase, Role, TransactionState};

impl Session {
    pub(in crate::tns) fn server_sent(
        &mut self,
        packet: Packet<'_>,
        sink: &mut MessageSink<'_>,
    ) -> Result<(), HeaderFault> {
        let is_data = packet.kind == packet::DATA;
        if is_data && self.encrypted {
            return Err(encrypted());
        }
        if self.reply.packets > 0 {
            let role = if self.pending.is_empty() {
                Role::Notice
            } else {
                Role::ReplyPart
            };
            let held = std::mem::take(&mut self.reply);
            sink(&held.message(Direction::ServerToClient, role, self.phase(), Content::Other));
        }
        if packet.kind == packet::ACCEPT && !packet.is_holed {
            let version = packet
                .body
                .first_chunk()
                .map(|&version| u16::from_be_bytes(version));
            self.long_lengths = version.is_some_and(|version| version >= VERSION_WITH_LONG_LENGTHS);
            self.age = match version {
                Some(version) if version < VERSION_WITH_LONG_LENGTHS => Age::Before12,
                Some(_) | None => Age::Since12,
            };
        }
        self.reply.add(packet);
        self.answer(match packet.kind {
            packet::DATA => packet.body.get(FLAGS..).unwrap_or_default(),
            packet::REFUSE => packet.body.get(REFUSE_FIELDS..).unwrap_or_default(),
            _ => &[],
        });
        if self.reply.is_marked {
            self.marks_ends = true;
            self.reply_is_over(sink);
        }
        Ok(())
    }

    fn answer(&mut self, body: &[u8]) {
        let last = body.len().saturating_sub(KEPT_OF_ANSWER);
        let body = body.get(last..).unwrap_or_default();
        let surplus = (self.answered.len() + body.len()).saturating_sub(KEPT_OF_ANSWER);
        self.answered.drain(..surplus.min(self.answered.len()));
        self.answered.extend_from_slice(body);
    }

    /// The response is complete, unless the server waits for the client or for more requests.
    pub(super) fn reply_is_over(&mut self, sink: &mut MessageSink<'_>) {
        let held = std::mem::take(&mut self.reply);
        if held.packets == 0 {
            return;
        }
        let Some(pending_reply) = self.pending.front().copied() else {
            self.answered.clear();
            return sink(&held.reply(Role::Notice, Phase::Work, Content::Other));
        };
        if matches!(held.kind, packet::MARKER | packet::RESEND) {
            self.paused = true;
            self.answered.clear();
            return sink(&held.reply(Role::ReplyPause, pending_reply.phase, Content::Other));
        }
        if self.marks_ends && self.pending.len() > 1 && !held.is_marked {
            return sink(&held.reply(Role::ReplyPart, pending_reply.phase, Content::Other));
        }
        self.pending.pop();
        let answered = std::mem::take(&mut self.answered);
        self.emit_reply(&held, pending_reply, &answered, sink);
        self.answered = answered;
        self.answered.clear();
    }

    fn emit_reply(
        &mut self,
        held: &BufferedPackets,
        pending_reply: PendingReply,
        answered: &[u8],
        sink: &mut MessageSink<'_>,
    ) {
        match pending_reply.asks {
            Asks::Connection if held.kind != packet::ACCEPT => emit_refusal(held, answered, sink),
            Asks::Connection => sink(&held.reply(Role::Reply, pending_reply.phase, Content::Other)),
            Asks::Services => {
                self.encrypted = introduction::services_are_on(answered);
                sink(&held.reply(Role::Reply, pending_reply.phase, Content::Other));
            }
            Asks::Login | Asks::Rows | Asks::Other => self.emit_ending(held, pending_reply, answered, sink),
        }
    }

    fn emit_ending(
        &mut self,
        held: &BufferedPackets,
        pending_reply: PendingReply,
        answered: &[u8],
        sink: &mut MessageSink<'_>,
    ) {
        let reply = |content: Content<'_>, sink: &mut MessageSink<'_>| {
            sink(&held.reply(Role::Reply, pending_reply.phase, content))
        };
        let end = ending(answered, self.age);
        let failed = match end {
            Some(Ending { summary, .. }) => summary
                .filter(|summary| !matches!(summary.error, 0 | NO_MORE_ROWS))
                .map(|summary| (summary.error, summary.text)),
            None => named_error(answered).filter(|(number, _)| *number != NO_MORE_ROWS),
        };
        if let Some((number, text)) = failed {
            let code = format!("ORA-{number:05}");
            return reply(
                Content::Error {
                    code: code.as_bytes(),
                    text,
                },
                sink,
            );
        }
        if pending_reply.asks == Asks::Login {
            let version = introduction::server_version(answered);
            return match &version {
                Some(version) => reply(
                    Content::ServerVersion {
                        text: version.as_bytes(),
                    },
                    sink,
                ),
                None => reply(Content::Other, sink),
            };
        }
        let summary = end.and_then(|end| end.summary);
        let rows = summary.and_then(|summary| self.rows_of(pending_reply, &summary));
        let transaction = end.and_then(|end| transaction(end.status));
        if end.is_none() {
            return reply(Content::Other, sink);
        }
        reply(Content::Done { rows, transaction }, sink);
    }

    /// Rows of this response: the server counts those of the whole execution.
    fn rows_of(&mut self, pending_reply: PendingReply, summary: &Summary<'_>) -> Option<u64> {
        if pending_reply.asks != Asks::Rows {
            return None;
        }
        let cursor = if summary.cursor == 0 {
            pending_reply.cursor
        } else {
            u32::from(summary.cursor)
        };
        let known = self.cursors.get(&cursor).filter(|_| !pending_reply.begins);
        let is_untold = known.is_none() && !pending_reply.begins && self.lost;
        let before = known.map_or(0, |cursor| cursor.rows);
        let has_room = self.cursors.len() < MAXIMUM_CURSORS || self.cursors.contains_key(&cursor);
        if cursor != 0 && has_room && (pending_reply.statement.is_some() || self.lost) {
            let (statement, rows) = (pending_reply.statement, summary.rows);
            self.cursors.insert(cursor, Cursor { statement, rows });
        }
        if is_untold {
            return None;
        }
        summary.rows.checked_sub(before)
    }
}

fn emit_refusal(held: &BufferedPackets, answered: &[u8], sink: &mut MessageSink<'_>) {
    let told = refusal(&String::from_utf8_lossy(answered));
    let version = told.version.map(|version| version.to_string());
    match (told.error, &version) {
        (Some(number), _) if number != 0 => {
            let code = format!("ORA-{number:05}");
            let text = b"the listener refused the connection";
            sink(&held.reply(
                Role::Reply,
                Phase::Connect,
                Content::Error {
                    code: code.as_bytes(),
                    text,
                },
            ));
        }
        (_, Some(version)) => {
            let text = version.as_bytes();
            sink(&held.reply(Role::Reply, Phase::Connect, Content::ServerVersion { text }));
        }
        (_, None) => sink(&held.reply(Role::Reply, Phase::Connect, Content::Other)),
    }
}

/// The state of the transaction by a call's status; servers without it write 0.
fn transaction(status: u32) -> Option<TransactionState> {
    match status {
        0 => None,
        open if open & TRANSACTION != 0 => Some(TransactionState::Open),
        _ => Some(TransactionState::Idle),
    }
}

const REFUSE_FIELDS: usize = 4;
const VERSION_WITH_LONG_LENGTHS: u16 = 315;
const KEPT_OF_ANSWER: usize = 8 * 1024;
