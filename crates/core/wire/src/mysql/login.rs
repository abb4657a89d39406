//! Greeting, handshake response, and the legs of authentication.

use super::attributes;
use super::capabilities::{COMPRESS, COMPRESS_ZSTD, Capabilities, DEPRECATE_EOF, MYSQL, PROTOCOL_41, SSL};
use super::conversation::{Conversation, ConversationPhase, Part, PendingReply};
use super::endings::{OkFields, error_content};
use super::messages::PROTOCOL_VERSION;
use super::messages::reply::{AUTH_MORE_DATA, ERR, OK};
use super::unit::Unit;
use super::wrong_byte;
use crate::decoding::fault::fault;
use crate::decoding::framing::HeaderFault;
use crate::decoding::reader::Reader;
use model::{Content, Phase, Role};

impl Conversation {
    pub(super) fn greeting<'a>(
        &mut self,
        unit: &Unit<'a>,
        code: &'a mut [u8; 11],
    ) -> Result<Part<'a>, HeaderFault> {
        if unit.opening.sequence != 0 {
            return Err(wrong_byte("a greeting", unit.opening.first));
        }
        let content = match unit.opening.first {
            Some(ERR) => error_content(unit.head, code),
            Some(PROTOCOL_VERSION) => {
                let (version, capabilities) = greeting_fields(unit.head)
                    .ok_or_else(|| fault("a greeting with its fields", "a shorter one"))?;
                self.capabilities = capabilities;
                self.stage = ConversationPhase::Greeted;
                Content::ServerVersion { text: version }
            }
            other => return Err(wrong_byte("a greeting of protocol version 10", other)),
        };
        Ok(Part::new(Role::Greeting, Phase::Connect, content))
    }

    /// A message of the client before login: handshake response, TLS request, or a further leg of
    /// authentication.
    pub(super) fn login_leg<'a>(&mut self, unit: &Unit<'a>) -> Result<Part<'a>, HeaderFault> {
        let mut content = Content::Other;
        if matches!(self.stage, ConversationPhase::Start | ConversationPhase::Greeted) {
            let server = if self.stage == ConversationPhase::Start {
                Capabilities::ALL
            } else {
                self.capabilities
            };
            let response = handshake_response(unit.head)
                .ok_or_else(|| fault("a handshake response with its fields", "a shorter one"))?;
            if !response.capabilities.has(PROTOCOL_41) {
                return Err(fault("a client of protocol 4.1", "an older one"));
            }
            self.capabilities = server.and(response.capabilities);
            if unit.length == SSL_REQUEST_LENGTH && self.capabilities.has(SSL) {
                self.has_tls = true;
                return Ok(Part::new(Role::RequestPart, Phase::Tls, Content::Other));
            }
            self.omits_eof = Some(self.capabilities.has(DEPRECATE_EOF));
            self.stage = ConversationPhase::Login;
            self.introduced = attributes::client(response.rest, response.capabilities);
            if let Some(value) = response.user {
                content = Content::Parameter { name: b"user", value };
            }
        }
        self.owe(PendingReply::Login);
        Ok(Part::new(Role::Request, Phase::Login, content))
    }

    pub(super) fn login_reply<'a>(&mut self, unit: &Unit<'a>, code: &'a mut [u8; 11]) -> Part<'a> {
        let (role, content) = match unit.opening.first {
            Some(OK) if unit.length >= OkFields::MIN_LEN => {
                if self.stage == ConversationPhase::Login {
                    self.stage = ConversationPhase::Work;
                    self.has_compression = self.capabilities.has(COMPRESS | COMPRESS_ZSTD);
                }
                let state = OkFields::parse(unit.head).map(|ok| Content::Ready(ok.transaction()));
                (Role::Reply, state.unwrap_or(Content::Other))
            }
            Some(ERR) => (Role::Reply, error_content(unit.head, code)),
            Some(AUTH_MORE_DATA) if unit.head == FAST_SUCCESS => (Role::ReplyPart, Content::Other),
            // A demand for another method or more data: the client answers with another leg.
            Some(_) | None => (Role::Reply, Content::Other),
        };
        if role == Role::Reply {
            self.resolve_reply();
        }
        Part::new(role, Phase::Login, content)
    }
}

fn greeting_fields(head: &[u8]) -> Option<(&[u8], Capabilities)> {
    let mut fields = Reader::new(head);
    fields.u8()?;
    let version = fields.cstr()?;
    fields.take_bytes(4 + 8 + 1)?; // connection number, first part of the challenge, filler
    let low = fields.u16_le()?;
    let Some((high, mariadb)) = greeting_extension(fields) else {
        return Some((version, Capabilities::new(u32::from(low), 0)));
    };
    let flags = u32::from(low) | u32::from(high) << 16;
    let mariadb = if u64::from(flags) & MYSQL == 0 { mariadb } else { 0 };
    Some((version, Capabilities::new(flags, mariadb)))
}

/// High half of the capabilities and MariaDB's own ones; servers before 4.1 send neither.
fn greeting_extension(mut fields: Reader<'_>) -> Option<(u16, u32)> {
    fields.take_bytes(1 + 2)?; // character set, status
    let high = fields.u16_le()?;
    fields.take_bytes(1 + 6)?; // length of the challenge, filler
    Some((high, fields.u32_le()?))
}

struct HandshakeResponse<'a> {
    capabilities: Capabilities,
    user: Option<&'a [u8]>,
    rest: Reader<'a>,
}

fn handshake_response(head: &[u8]) -> Option<HandshakeResponse<'_>> {
    let mut fields = Reader::new(head);
    let flags = fields.u32_le()?;
    fields.take_bytes(4 + 1 + 19)?; // longest message, character set, filler
    let mariadb = fields.u32_le()?;
    let mariadb = if u64::from(flags) & MYSQL == 0 { mariadb } else { 0 };
    Some(HandshakeResponse {
        capabilities: Capabilities::new(flags, mariadb),
        user: fields.cstr(),
        rest: fields,
    })
}

const SSL_REQUEST_LENGTH: u64 = 32;
/// In `caching_sha2_password` the server knew the password, so OK follows without another leg.
const FAST_SUCCESS: &[u8] = &[AUTH_MORE_DATA, 0x03];
