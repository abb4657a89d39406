//! Requests that longwire sends itself.

use super::header::{HEADER, OP_MSG};

/// The cheapest command, which needs no login.
pub const PING: &str = "ping";

/// Appends a command of this name, without further fields, to the database `admin`.
pub fn write_command(id: i32, name: &str, out: &mut Vec<u8>) {
    let mut document = Vec::new();
    document.push(0x10);
    document.extend_from_slice(name.as_bytes());
    document.extend_from_slice(b"\0\x01\0\0\0\x02$db\0\x06\0\0\0admin\0\0");
    let length = HEADER + 5 + 4 + document.len();
    for word in [length as u32, id.cast_unsigned(), 0, OP_MSG, 0] {
        out.extend_from_slice(&word.to_le_bytes());
    }
    out.push(0);
    out.extend_from_slice(&(document.len() as u32 + 4).to_le_bytes());
    out.extend_from_slice(&document);
}
