//! PostgreSQL, after its manual, section "Message Formats".

use super::Message;
use super::connection::{read_head, read_rest};
use std::io::{self, Read};
use wire::postgres::messages::frontend::MESSAGES;

const STARTUP: &str = "StartupMessage";
const REQUESTS: [(u32, &str); 3] = [
    (80_877_102, "CancelRequest"),
    (80_877_103, "SSLRequest"),
    (80_877_104, "GSSENCRequest"),
];

pub(super) fn names() -> Vec<&'static str> {
    let requests = REQUESTS.iter().map(|request| request.1);
    let tagged = MESSAGES.rows().iter().map(|row| row.name);
    requests.chain([STARTUP]).chain(tagged).collect()
}

pub(super) fn receive(stream: &mut dyn Read, before: &[Message]) -> io::Result<Option<Message>> {
    if before.iter().any(|message| message.name == STARTUP) {
        return receive_tagged(stream);
    }
    let Some(length) = read_head::<4>(stream)? else {
        return Ok(None);
    };
    let bytes = read_rest(stream, &length, u32::from_be_bytes(length) as usize)?;
    let code = bytes.get(4..8).and_then(|code| code.try_into().ok());
    let code = code.map(u32::from_be_bytes);
    let request = REQUESTS.iter().find(|request| Some(request.0) == code);
    let name = request.map_or(STARTUP, |request| request.1);
    Ok(Some(Message::new(name, bytes)))
}

fn receive_tagged(stream: &mut dyn Read) -> io::Result<Option<Message>> {
    let Some(head) = read_head::<5>(stream)? else {
        return Ok(None);
    };
    let [tag, length @ ..] = head;
    let bytes = read_rest(stream, &head, u32::from_be_bytes(length) as usize + 1)?;
    let name = MESSAGES.find(tag).map_or("an unknown message", |row| row.name);
    Ok(Some(Message::new(name, bytes)))
}

fn message(name: &'static str, tag: u8, body: &[&[u8]]) -> Message {
    let body = body.concat();
    let length = (body.len() as u32 + 4).to_be_bytes();
    Message::new(name, [&[tag], length.as_slice(), &body].concat())
}

/// The answer to `SSLRequest` and `GSSENCRequest`: `S` or `N`.
pub fn encryption(answer: u8) -> Message {
    Message::new("the answer to SSLRequest", vec![answer])
}

pub fn authentication_ok() -> Message {
    message("AuthenticationOk", b'R', &[&0_u32.to_be_bytes()])
}

pub fn authentication_md5_password(salt: [u8; 4]) -> Message {
    message("AuthenticationMD5Password", b'R', &[&5_u32.to_be_bytes(), &salt])
}

pub fn authentication_sasl(mechanism: &str) -> Message {
    let body = [&10_u32.to_be_bytes(), mechanism.as_bytes(), b"\0\0"];
    message("AuthenticationSASL", b'R', &body)
}

pub fn authentication_sasl_continue(data: &str) -> Message {
    let body = [&11_u32.to_be_bytes(), data.as_bytes()];
    message("AuthenticationSASLContinue", b'R', &body)
}

pub fn ready_for_query(transaction: u8) -> Message {
    message("ReadyForQuery", b'Z', &[&[transaction]])
}

/// Fields are their letter and value.
pub fn error_response(fields: &[(char, &str)]) -> Message {
    let fields: String = fields
        .iter()
        .map(|(letter, value)| format!("{letter}{value}\0"))
        .collect();
    message("ErrorResponse", b'E', &[fields.as_bytes(), b"\0"])
}
