//! MySQL and MariaDB: login by `mysql_native_password`, and text queries.
//!
//! Source: MySQL 8.4 source documentation, "Client/Server Protocol".

use super::SessionError;
use super::error::without_values;
use super::opening::Opening;
use crate::error::LiveError;
use crate::relay::negotiation::{OFFERS_TLS, lower_capabilities, tls_request};
use crate::target::Target;
use model::Phase;
use ring::digest::{Context, SHA1_FOR_LEGACY_USE_ONLY};

/// `COM_QUIT`.
pub const GOODBYE: &[u8] = &[1, 0, 0, 0, 1];
/// An empty packet, the second of its reply: there is no file to send.
pub const REFUSAL: &[u8] = &[0, 0, 0, 2];

/// A `COM_QUERY` with the statement that `text` writes, in as many packets as it needs.
pub fn query(request: &mut Vec<u8>, text: impl FnOnce(&mut Vec<u8>)) {
    let mut body = vec![COM_QUERY];
    text(&mut body);
    let mut rest = body.as_slice();
    for number in 0_u8.. {
        let (packet, behind) = rest.split_at(rest.len().min(LONGEST_PACKET));
        request.extend_from_slice(&framed(number, packet));
        rest = behind;
        // A packet of the greatest length says that another follows, be it empty.
        if packet.len() < LONGEST_PACKET {
            return;
        }
    }
}

/// Agrees on TLS where the target asks for it, and logs in.
pub(super) fn log_in<'o, 'a>(mut opening: Opening<'o, 'a>) -> Result<Opening<'o, 'a>, SessionError> {
    let (_, greeting) = packet(&mut opening)?;
    opening.leg("greeting", Phase::Connect);
    if greeting.first() == Some(&ERROR) {
        return Err(refused(&greeting));
    }
    let challenge = Challenge::of(&greeting).ok_or_else(unknown)?;
    let response = login(opening.target, &challenge.answer(opening.target)?);
    let mut response = framed(1, &response);
    if let Some(config) = opening.tls.take() {
        let offer =
            lower_capabilities(&mut framed(0, &greeting)).is_some_and(|flags| flags[1] & OFFERS_TLS != 0);
        let request =
            tls_request(&mut response)
                .filter(|_| offer)
                .ok_or_else(|| LiveError::ServerWithoutTls {
                    server: opening.target.server(),
                })?;
        // Sent without waiting: the handshake follows it at once.
        opening.send_unshown(&request)?;
        opening = opening.encrypted(config)?;
    }
    opening.send(&response)?;
    let mut leg = "login".to_owned();
    loop {
        let (number, body) = packet(&mut opening)?;
        match body.first() {
            Some(&OK) => {
                opening.leg(&leg, Phase::Login);
                return Ok(opening);
            }
            Some(&ERROR) => return Err(refused(&body)),
            Some(&SWITCH) => {
                opening.leg(&leg, Phase::Login);
                let challenge = Challenge::switched(&body).ok_or_else(|| method("an unknown method"))?;
                let answer = challenge.answer(opening.target)?;
                opening.send(&framed(number.wrapping_add(1), &answer))?;
                leg = format!("switch to {}", challenge.method);
            }
            _ => return Err(method("more than one exchange")),
        }
    }
}

/// How the server wants to be told the password.
struct Challenge {
    method: String,
    nonce: Vec<u8>,
}

impl Challenge {
    /// Of the server's greeting, protocol version 10.
    fn of(greeting: &[u8]) -> Option<Self> {
        let behind_version = greeting.strip_prefix(&[10])?;
        let end = behind_version.iter().position(|byte| *byte == 0)?;
        let fields = behind_version.get(end + 1..)?;
        // Connection number 4, nonce 8, filler 1, capabilities 2, character set 1, status 2, capabilities 2, length of
        // the nonce 1, reserved 10.
        let first = fields.get(4..12)?;
        let length = usize::from(*fields.get(20)?);
        let rest = fields.get(31..)?;
        let second_length = length.saturating_sub(8).max(13).min(rest.len());
        let (second, name) = rest.split_at(second_length);
        let mut nonce = [first, second].concat();
        nonce.truncate(NONCE);
        Some(Self {
            method: text(name),
            nonce,
        })
    }

    /// Of a request to use another method.
    fn switched(body: &[u8]) -> Option<Self> {
        let rest = body.get(1..)?;
        let end = rest.iter().position(|byte| *byte == 0)?;
        let mut nonce = rest.get(end + 1..)?.to_vec();
        nonce.truncate(NONCE);
        Some(Self {
            method: text(rest),
            nonce,
        })
    }

    /// `SHA1(password) XOR SHA1(nonce + SHA1(SHA1(password)))`; nothing for no password.
    fn answer(&self, target: &Target) -> Result<Vec<u8>, SessionError> {
        if !matches!(self.method.as_str(), NATIVE | "") {
            return Err(method(&self.method));
        }
        let Some(password) = target
            .password
            .as_ref()
            .filter(|password| !password.reveal().is_empty())
        else {
            return Ok(Vec::new());
        };
        let once = sha1(&[password.reveal().as_bytes()]);
        let twice = sha1(&[&once]);
        let mask = sha1(&[&self.nonce, &twice]);
        Ok(once.iter().zip(mask).map(|(one, other)| one ^ other).collect())
    }
}

fn sha1(parts: &[&[u8]]) -> Vec<u8> {
    let mut context = Context::new(&SHA1_FOR_LEGACY_USE_ONLY);
    parts.iter().for_each(|part| context.update(part));
    context.finish().as_ref().to_vec()
}

/// `HandshakeResponse41`.
fn login(target: &Target, answer: &[u8]) -> Vec<u8> {
    let database = target.database.as_deref().filter(|name| !name.is_empty());
    let mut flags =
        LONG_PASSWORD | PROTOCOL_41 | TRANSACTIONS | SECURE_CONNECTION | MULTI_RESULTS | PLUGIN_AUTH;
    if database.is_some() {
        flags |= CONNECT_WITH_DB;
    }
    let mut body = flags.to_le_bytes().to_vec();
    body.extend_from_slice(&(1_u32 << 24).to_le_bytes());
    body.push(UTF8MB4);
    body.extend_from_slice(&[0; 23]);
    body.extend_from_slice(target.user.as_deref().unwrap_or("root").as_bytes());
    body.push(0);
    body.push(answer.len() as u8);
    body.extend_from_slice(answer);
    for text in [database, Some(NATIVE)].into_iter().flatten() {
        body.extend_from_slice(text.as_bytes());
        body.push(0);
    }
    body
}

fn framed(number: u8, body: &[u8]) -> Vec<u8> {
    let [low, middle, high, ..] = (body.len() as u32).to_le_bytes();
    [&[low, middle, high, number], body].concat()
}

/// The server's next packet of the login: its number and its body.
fn packet(opening: &mut Opening<'_, '_>) -> Result<(u8, Vec<u8>), SessionError> {
    let head = opening.bytes(4)?;
    let [low, middle, high, number] = head[..] else {
        return Err(SessionError::Closed);
    };
    let length = u32::from_le_bytes([low, middle, high, 0]) as usize;
    if length > LONGEST_LOGIN {
        return Err(unknown());
    }
    Ok((number, opening.bytes(length)?))
}

fn refused(body: &[u8]) -> SessionError {
    let code = body
        .get(1..3)
        .map_or(0, |code| u16::from_le_bytes([code[0], code[1]]));
    let text = body.get(3..).unwrap_or_default();
    // `#` and an SQLSTATE come before the text, once the login has begun.
    let text = if text.first() == Some(&b'#') {
        text.get(6..).unwrap_or_default()
    } else {
        text
    };
    SessionError::Login {
        code: code.to_string(),
        text: without_values(text),
    }
}

fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).into_owned()
}

fn unknown() -> SessionError {
    SessionError::NotTheProtocol {
        protocol: "MySQL",
        found: "a packet of another length or content",
    }
}

fn method(name: &str) -> SessionError {
    SessionError::Authentication {
        method: name.to_owned(),
    }
}

const COM_QUERY: u8 = 3;
const OK: u8 = 0;
const ERROR: u8 = 0xff;
const SWITCH: u8 = 0xfe;
const NATIVE: &str = "mysql_native_password";
const NONCE: usize = 20;
const LONGEST_PACKET: usize = 0xff_ffff;
/// Of a packet during login.
const LONGEST_LOGIN: usize = 64 * 1024;
const UTF8MB4: u8 = 45;
const LONG_PASSWORD: u32 = 1;
const CONNECT_WITH_DB: u32 = 1 << 3;
const PROTOCOL_41: u32 = 1 << 9;
const TRANSACTIONS: u32 = 1 << 13;
const SECURE_CONNECTION: u32 = 1 << 15;
const MULTI_RESULTS: u32 = 1 << 17;
const PLUGIN_AUTH: u32 = 1 << 19;
