//! MySQL, after its source documentation, "Client/Server Protocol".

use super::Message;
use super::connection::{read_head, read_rest};
use std::io::{self, Read};
use wire::mysql::messages::COMMANDS;

const LOGIN: &str = "HandshakeResponse41";
const SSL_REQUEST: &str = "SSLRequest";
const AUTHENTICATION: &str = "AuthSwitchResponse";

pub(super) fn names() -> Vec<&'static str> {
    let commands = COMMANDS.rows().iter().map(|row| row.name);
    commands.chain([LOGIN, SSL_REQUEST, AUTHENTICATION]).collect()
}

pub(super) fn receive(stream: &mut dyn Read, before: &[Message]) -> io::Result<Option<Message>> {
    let Some(head) = read_head::<4>(stream)? else {
        return Ok(None);
    };
    let [low, middle, high, sequence] = head;
    let length = u32::from_le_bytes([low, middle, high, 0]) as usize;
    let bytes = read_rest(stream, &head, head.len() + length)?;
    let command = bytes.get(4).and_then(|command| COMMANDS.find(*command));
    let name = match (sequence, length) {
        (0, _) => command.map_or("an unknown command", |row| row.name),
        (_, 32) => SSL_REQUEST,
        _ if before.iter().any(|message| message.name == LOGIN) => AUTHENTICATION,
        _ => LOGIN,
    };
    Ok(Some(Message::new(name, bytes)))
}

fn packet(name: &'static str, sequence: u8, payload: &[u8]) -> Message {
    let [low, middle, high, _] = (payload.len() as u32).to_le_bytes();
    Message::new(name, [&[low, middle, high, sequence], payload].concat())
}

/// The greeting of MySQL 8.4 with these capabilities, low half first.
pub fn handshake_v10(capabilities: [u16; 2], plugin: &str) -> Message {
    let [low, high] = capabilities.map(u16::to_le_bytes);
    let payload = [
        b"\x0a8.4.0\0".as_slice(),
        &8_u32.to_le_bytes(),
        b"12345678\0",
        &low,
        b"\x2d\x02\0",
        &high,
        b"\x15",
        &[0; 10],
        b"abcdefghijkl\0",
        plugin.as_bytes(),
        b"\0",
    ];
    packet("HandshakeV10", 0, &payload.concat())
}

pub fn auth_switch_request(sequence: u8, plugin: &str, data: &[u8]) -> Message {
    let payload = [b"\xfe", plugin.as_bytes(), b"\0", data].concat();
    packet("AuthSwitchRequest", sequence, &payload)
}

pub fn auth_more_data(sequence: u8, data: &[u8]) -> Message {
    packet("AuthMoreData", sequence, &[b"\x01", data].concat())
}

pub fn ok_packet(sequence: u8) -> Message {
    packet("OK_Packet", sequence, &[0, 0, 0, 2, 0, 0, 0])
}
