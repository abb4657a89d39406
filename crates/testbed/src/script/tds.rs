//! SQL Server, after MS-TDS.

use super::Message;
use super::connection::{read_head, read_rest};
use std::io::{self, Read};
use wire::tds::messages::PACKETS;

pub(super) fn names() -> Vec<&'static str> {
    PACKETS.rows().iter().map(|row| row.name).collect()
}

pub(super) fn receive(stream: &mut dyn Read) -> io::Result<Option<Message>> {
    let Some(head) = read_head::<8>(stream)? else {
        return Ok(None);
    };
    let [kind, _, high, low, ..] = head;
    let bytes = read_rest(stream, &head, usize::from(u16::from_be_bytes([high, low])))?;
    let name = PACKETS.find(kind).map_or("an unknown packet", |row| row.name);
    Ok(Some(Message::new(name, bytes)))
}

/// The server's answer to `PreLogin` in section 4.3, of SQL Server 8.0.341.
pub fn prelogin() -> Message {
    let bytes = b"\x04\x01\0\x2b\0\0\x01\0\0\0\x1a\0\x06\x01\0\x20\0\x01\x02\0\x21\0\x01\x03\0\x22\0\0\x04\0\x22\0\x01\xff\
        \x08\0\x01\x55\0\0\x02\0\0";
    Message::new("PreLogin", bytes.to_vec())
}
