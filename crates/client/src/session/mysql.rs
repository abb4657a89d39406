//! MySQL and MariaDB: login and text queries.
//!
//! Source: MySQL 8.4 source documentation, "Client/Server Protocol".

mod challenge;
mod method;
mod proving;
mod rsa;

use super::SessionError;
use super::error::without_values;
use super::opening::LoginContext;
use challenge::Greeting;
use method::Method;
use model::Phase;
use proving::Proving;
use sys::error::LiveError;
use wire::tls_request::{OFFERS_TLS, lower_capabilities, tls_request};

/// `COM_QUIT`.
pub const GOODBYE: &[u8] = &[1, 0, 0, 0, 1];
/// The same in a block.
pub const GOODBYE_IN_BLOCK: &[u8] = &[5, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1];
/// An empty packet, the second of its reply: there is no file to send.
pub const REFUSAL: &[u8] = &[0, 0, 0, 2];

/// Appends a `COM_QUERY` with the statement that `text` writes, in as many packets as it needs.
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

/// Puts packets into blocks, as a server wants them that was asked to compress. They are stored as they are: requests are short.
pub fn in_blocks(request: &mut Vec<u8>) {
    let packets = std::mem::take(request);
    for (number, content) in (0_u8..).zip(packets.chunks(LONGEST_PACKET)) {
        let [low, middle, high, ..] = (content.len() as u32).to_le_bytes();
        request.extend_from_slice(&[low, middle, high, number, 0, 0, 0]);
        request.extend_from_slice(content);
    }
}

/// Agrees on TLS where the target asks for it, and logs in.
pub(super) fn log_in<'o, 'a>(
    mut opening: LoginContext<'o, 'a>,
) -> Result<LoginContext<'o, 'a>, SessionError> {
    let (_, greeting) = packet(&mut opening)?;
    opening.leg("greeting", Phase::Connect);
    if greeting.first() == Some(&ERROR) {
        return Err(refused(&greeting));
    }
    let Greeting {
        challenge,
        connection,
        mariadb_offers,
    } = Greeting::read(&greeting).ok_or_else(unknown)?;
    opening.process = Some(connection);
    opening.takes_bulk = opening.loading && mariadb_offers & BULK != 0;
    let offers = lower_capabilities(&mut framed(0, &greeting))
        .copied()
        .unwrap_or_default();
    if opening.compression && offers[0] & OFFERS_COMPRESSION == 0 {
        return Err(SessionError::NoCompression);
    }
    // The server's own method is tried first, so that an account that uses it needs no other exchange.
    let method = Method::named(&challenge.method)
        .filter(|method| *method != Method::Clear)
        .unwrap_or(Method::Native);
    let proof = method.answer(proving::password(&opening), &challenge.nonce);
    let mut response = framed(1, &login(&opening, method, &proof));
    let offered = offers[1] & OFFERS_TLS != 0;
    if let Some(config) = opening
        .tls
        .take()
        .filter(|_| offered || opening.security.mode.insists())
    {
        let request = tls_request(&mut response).filter(|_| offered);
        let request = request.ok_or_else(|| LiveError::ServerWithoutTls {
            server: opening.target.server(),
        })?;
        // Sent without waiting: the handshake follows it at once.
        opening.send_unshown(&request)?;
        opening = opening.encrypted(config)?;
    }
    opening.send(&response)?;
    authenticate(&mut opening, method, challenge.nonce)?;
    Ok(opening)
}

/// Answers the server until it lets the user in.
fn authenticate(
    opening: &mut LoginContext<'_, '_>,
    method: Method,
    nonce: Vec<u8>,
) -> Result<(), SessionError> {
    let mut proving = Proving::begin(method, nonce);
    loop {
        let (number, body) = packet(opening)?;
        match body.as_slice() {
            // OK follows without being asked for.
            FAST_SUCCESS => continue,
            [ERROR, ..] => return Err(refusal(opening, &body)),
            _ => {}
        }
        proving.end_leg(opening);
        match proving.answer(opening, &body)? {
            None => return Ok(()),
            Some(answer) => opening.send(&framed(number.wrapping_add(1), &answer))?,
        }
    }
}

/// `HandshakeResponse41`.
fn login(opening: &LoginContext<'_, '_>, method: Method, proof: &[u8]) -> Vec<u8> {
    let database = opening.target.database.as_deref().filter(|name| !name.is_empty());
    let mut flags =
        LONG_PASSWORD | PROTOCOL_41 | TRANSACTIONS | SECURE_CONNECTION | MULTI_RESULTS | PLUGIN_AUTH;
    if database.is_some() {
        flags |= CONNECT_WITH_DB;
    }
    if opening.compression {
        flags |= COMPRESS;
    }
    if opening.loading {
        flags |= LOCAL_FILES;
    }
    let mut reserved = [0; 23];
    if opening.takes_bulk {
        // A client that says it is none of MySQL's has MariaDB's own flags at the end of what is reserved.
        flags &= !LONG_PASSWORD;
        if let Some(extended) = reserved.last_chunk_mut() {
            *extended = BULK.to_le_bytes();
        }
    }
    let mut body = flags.to_le_bytes().to_vec();
    body.extend_from_slice(&(1_u32 << 24).to_le_bytes());
    body.push(UTF8MB4);
    body.extend_from_slice(&reserved);
    body.extend_from_slice(opening.user.as_bytes());
    body.push(0);
    body.push(proof.len() as u8);
    body.extend_from_slice(proof);
    for text in [database, Some(method.name())].into_iter().flatten() {
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
fn packet(opening: &mut LoginContext<'_, '_>) -> Result<(u8, Vec<u8>), SessionError> {
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

/// Why the login was refused: for want of a password, when there was none to prove.
fn refusal(opening: &LoginContext<'_, '_>, body: &[u8]) -> SessionError {
    match refused(body) {
        SessionError::Login { code, .. } if code == ACCESS_DENIED && opening.password.is_none() => {
            opening.no_password()
        }
        refused => refused,
    }
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

fn unknown() -> SessionError {
    SessionError::NotTheProtocol {
        protocol: "MySQL",
        found: "a packet of another length or content",
    }
}

const COM_QUERY: u8 = 3;
const OK: u8 = 0;
const MORE: u8 = 1;
const ERROR: u8 = 0xff;
const SWITCH: u8 = 0xfe;
/// `caching_sha2_password`: the server knew the password; OK follows.
const FAST_SUCCESS: &[u8] = &[MORE, 3];
const ACCESS_DENIED: &str = "1045";
const LONGEST_PACKET: usize = 0xff_ffff;
/// Of a packet during login.
const LONGEST_LOGIN: usize = 64 * 1024;
const UTF8MB4: u8 = 45;
const LONG_PASSWORD: u32 = 1;
const CONNECT_WITH_DB: u32 = 1 << 3;
const COMPRESS: u32 = 1 << 5;
/// In the lower byte of a greeting's capabilities.
const OFFERS_COMPRESSION: u8 = COMPRESS as u8;
/// The server may ask for data.
const LOCAL_FILES: u32 = 1 << 7;
/// `MARIADB_CLIENT_STMT_BULK_OPERATIONS`, of MariaDB's own flags.
const BULK: u32 = 1 << 2;
const PROTOCOL_41: u32 = 1 << 9;
const TRANSACTIONS: u32 = 1 << 13;
const SECURE_CONNECTION: u32 = 1 << 15;
const MULTI_RESULTS: u32 = 1 << 17;
const PLUGIN_AUTH: u32 = 1 << 19;
