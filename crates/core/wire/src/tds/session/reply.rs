//! Converts the server's packets to messages, one for each token.

use super::{MAXIMUM_HANDLES, Part, Session};
use crate::decoding::decoder::MessageSink;
use crate::decoding::fault::fault;
use crate::decoding::framing::{Frame, HeaderFault};
use crate::tds::calls::{Handle, Returns};
use crate::tds::messages::packet;
use crate::tds::tokens::{Done, Token};
use crate::tds::{LAST_PACKET, answer};
use model::{Content, Direction, Message, Phase, Protocol, Role, TransactionState};

impl Session {
    pub(in crate::tds) fn server_sent(
        &mut self,
        frame: &Frame<'_>,
        sink: &mut MessageSink<'_>,
    ) -> Result<(), HeaderFault> {
        let [kind, status] = [0, 1].map(|place| frame.header.get(place).copied().unwrap_or(0));
        if kind == packet::PRELOGIN {
            return Err(fault("messages in plain", "TLS".to_owned()));
        }
        self.reply.add(frame);
        let is_last = status & LAST_PACKET != 0;
        if self
            .pending
            .front()
            .is_some_and(|pending_reply| pending_reply.is_prelogin)
        {
            if is_last {
                self.emit_prelogin(frame, sink);
            }
            return Ok(());
        }
        if frame.holed {
            self.tokens.desync();
        }
        let mut tokens = std::mem::take(&mut self.tokens);
        let mut last_done = None;
        tokens.process_body(frame.body, |token, behind| {
            let ends = is_last && behind == 0;
            last_done = if let Token::Done(done) = &token {
                Some(*done)
            } else {
                None
            };
            self.emit_token(&token, behind as u64, ends, frame, sink);
        });
        let is_over = self.reply.bytes == 0;
        if is_last && !is_over {
            let done = tokens.last_done(frame.body).filter(|_| tokens.is_lost());
            let token = done.map_or(Token::Other, Token::Done);
            self.emit_token(&token, 0, true, frame, sink);
        } else if tokens.is_lost() && !is_over {
            self.emit_token(&Token::Other, 0, false, frame, sink);
        }
        if is_last {
            tokens.restart();
        }
        self.tokens = tokens;
        Ok(())
    }

    fn emit_prelogin(&mut self, frame: &Frame<'_>, sink: &mut MessageSink<'_>) {
        self.pending.pop();
        let answer = answer::options(frame.body).ok();
        let version = answer.and_then(|answer| answer.version);
        let version = version.map(|version| format!("SQL Server {version}"));
        let content = version
            .as_ref()
            .map_or(Content::Other, |version| Content::ServerVersion {
                text: version.as_bytes(),
            });
        self.emit_reply(frame, 0, Role::Reply, Phase::Login, content, sink);
    }

    fn emit_token(
        &mut self,
        token: &Token,
        behind: u64,
        ends: bool,
        frame: &Frame<'_>,
        sink: &mut MessageSink<'_>,
    ) {
        let pending_reply = self.pending.front().copied();
        let phase = pending_reply.map_or(Phase::Work, |pending_reply| pending_reply.phase);
        let mut role = if pending_reply.is_some() {
            Role::ReplyPart
        } else {
            Role::Notice
        };
        if ends && pending_reply.is_some() {
            let answers_stop = matches!(token, Token::Done(done) if done.is_attention);
            if !self.stops || answers_stop {
                role = Role::Reply;
                self.stops = false;
            }
        }
        self.record_token(token);
        let code;
        let content = match token {
            Token::Other | Token::Returned { .. } | Token::Transaction(_) => Content::Other,
            Token::Row => Content::Row,
            Token::Done(done) => self.done(*done),
            Token::Error { number, text } => {
                code = number.to_string();
                Content::Error {
                    code: code.as_bytes(),
                    text: text.as_bytes(),
                }
            }
            Token::Accepted { version } => Content::ServerVersion {
                text: version.as_bytes(),
            },
        };
        self.emit_reply(frame, behind, role, phase, content, sink);
        if role == Role::Reply {
            self.pending.pop();
        }
    }

    fn done(&self, done: Done) -> Content<'static> {
        Content::Done {
            rows: done.rows,
            transaction: self.transaction.filter(|_| !done.has_more),
        }
    }

    fn record_token(&mut self, token: &Token) {
        match token {
            Token::Transaction(state) => self.transaction = Some(*state),
            Token::Accepted { .. } => self.transaction = Some(TransactionState::Idle),
            Token::Returned { value } => self.returned(*value),
            Token::Other | Token::Row | Token::Done(_) | Token::Error { .. } => {}
        }
    }

    fn returned(&mut self, value: Option<u32>) {
        let Some(pending_reply) = self.pending.front_mut() else {
            return;
        };
        let (handle, next): (fn(u32) -> Handle, Returns) = match pending_reply.returns {
            Returns::Nothing => return,
            Returns::Prepared => (Handle::Prepared, Returns::Nothing),
            Returns::Cursor => (Handle::Cursor, Returns::Nothing),
            Returns::PreparedAndCursor => (Handle::Prepared, Returns::Cursor),
        };
        pending_reply.returns = next;
        if let Some((handle, statement)) = value.map(handle).zip(pending_reply.statement)
            && (self.handles.len() < MAXIMUM_HANDLES || self.handles.contains_key(&handle))
        {
            self.handles.insert(handle, statement);
        }
    }

    /// Emits the response up to `behind` bytes before its end.
    fn emit_reply(
        &mut self,
        frame: &Frame<'_>,
        behind: u64,
        role: Role,
        phase: Phase,
        content: Content<'_>,
        sink: &mut MessageSink<'_>,
    ) {
        let bytes = self.reply.bytes.saturating_sub(behind);
        let started = self.reply.started;
        self.reply = Part {
            bytes: self.reply.bytes - bytes,
            started: frame.started,
            is_holed: false,
        };
        sink(&Message {
            stream: 0,
            protocol: Protocol::Tds,
            direction: Direction::ServerToClient,
            started,
            ended: frame.ended,
            bytes,
            role,
            phase,
            content,
        });
    }
}
