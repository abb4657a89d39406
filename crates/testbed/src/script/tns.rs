//! Oracle Net, after Wireshark's dissector of TNS; checked with real drivers.

use super::Message;
use super::connection::{read_head, read_rest};
use std::io::{self, Read};
use wire::tns::messages::{PACKETS, packet};

pub(super) fn names() -> Vec<&'static str> {
    PACKETS.rows().iter().map(|row| row.name).collect()
}

pub(super) fn receive(stream: &mut dyn Read) -> io::Result<Option<Message>> {
    let Some(head) = read_head::<8>(stream)? else {
        return Ok(None);
    };
    let [high, low, _, _, kind, ..] = head;
    let bytes = read_rest(stream, &head, usize::from(u16::from_be_bytes([high, low])))?;
    let name = PACKETS.find(kind).map_or("an unknown packet", |row| row.name);
    Ok(Some(Message::new(name, bytes)))
}

fn message(name: &'static str, kind: u8, body: &[&[u8]]) -> Message {
    let body = body.concat();
    let length = (body.len() as u16 + 8).to_be_bytes();
    Message::new(name, [&length, [0, 0, kind, 0, 0, 0].as_slice(), &body].concat())
}

pub fn accept() -> Message {
    message("ACCEPT", packet::ACCEPT, &[b"\x01\x3f"])
}

/// Reasons of user and system, length of text, text.
pub fn refuse(text: &str) -> Message {
    let length = (text.len() as u16).to_be_bytes();
    let body = [b"\x22\0".as_slice(), &length, text.as_bytes()];
    message("REFUSE", packet::REFUSE, &body)
}

/// Refuses an unknown service, as Oracle 19 does.
pub fn refuse_service() -> Message {
    refuse("(DESCRIPTION=(TMP=)(VSNNUM=318767104)(ERR=12514)(ERROR_STACK=(ERROR=(CODE=12514)(EMFI=4))))")
}

pub fn redirect(text: &str) -> Message {
    let length = (text.len() as u16).to_be_bytes();
    message("REDIRECT", packet::REDIRECT, &[&length, text.as_bytes()])
}

pub fn resend() -> Message {
    message("RESEND", packet::RESEND, &[])
}
