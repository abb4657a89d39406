//! Messages without a tag: start-up, requests for encryption, cancelling.

use super::codes::encryption;
use super::reply_queue::PendingReply;
use super::shape::{CANCEL_REQUEST, GSSENC_REQUEST, SSL_REQUEST};
use super::{Session, message};
use crate::decoding::decoder::MessageSink;
use crate::decoding::framing::Frame;
use crate::decoding::reader::Reader;
use model::{Content, Direction, Message, Phase, Role};

impl Session {
    pub(super) fn startup(&mut self, frame: &Frame<'_>, sink: &mut MessageSink<'_>) {
        let client = Direction::ClientToServer;
        let code = frame.header.last_chunk().copied().map(u32::from_be_bytes);
        match code {
            Some(CANCEL_REQUEST) => {
                sink(&message(frame, client, Role::OneWay, Phase::Work, Content::Other));
            }
            Some(SSL_REQUEST | GSSENC_REQUEST) => {
                self.pending.push(PendingReply::Leg);
                self.shapes.negotiating = true;
                self.shapes.encryption_asked = true;
                self.phase = Phase::Login;
                sink(&message(frame, client, Role::Request, Phase::Tls, Content::Other));
            }
            _ => {
                self.pending.push(PendingReply::Leg);
                self.phase = Phase::Login;
                self.parameters(frame, sink);
            }
        }
    }

    /// Emits each parameter with its share of the bytes, then the rest of the message.
    fn parameters(&mut self, frame: &Frame<'_>, sink: &mut MessageSink<'_>) {
        let mut reader = Reader::new(frame.body);
        let mut rest = frame.bytes;
        while let (Some(name @ [_, ..]), Some(value)) = (reader.cstr(), reader.cstr()) {
            if COMPRESSION.contains(&name) && value != b"0" {
                self.shapes.compression_announced = true;
            }
            let share = name.len() as u64 + value.len() as u64 + 2;
            rest = rest.saturating_sub(share);
            sink(&Message {
                bytes: share,
                ..message(
                    frame,
                    Direction::ClientToServer,
                    Role::RequestPart,
                    self.phase,
                    match name {
                        b"application_name" => Content::Client { text: value },
                        _ => Content::Parameter { name, value },
                    },
                )
            });
        }
        sink(&Message {
            bytes: rest,
            ..message(
                frame,
                Direction::ClientToServer,
                Role::Request,
                self.phase,
                Content::Other,
            )
        });
    }

    pub(super) fn answer(&mut self, frame: &Frame<'_>, sink: &mut MessageSink<'_>) {
        self.pending.resolve_reply(PendingReply::Leg);
        self.shapes.negotiating = false;
        match frame.header {
            [encryption::TLS] => self.tls_follows = true,
            [encryption::GSS] => self.shapes.gss_encrypted = true,
            _ => {}
        }
        sink(&message(
            frame,
            Direction::ServerToClient,
            Role::Reply,
            Phase::Tls,
            Content::Other,
        ));
    }
}

/// Start-up parameters with which KingbaseES drivers 8.6 and 9.0 announce compression.
pub(super) const COMPRESSION: [&[u8]; 2] = [b"comm_compress", b"compress_level"];
