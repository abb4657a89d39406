//! Writes packets as pcapng (draft-ietf-opsawg-pcapng), block by block.

use model::Timestamp;

/// The start of a file: a section header in this machine's byte order. Each file of a series has
/// one.
pub fn section() -> Vec<u8> {
    let mut body = Vec::from(0x1a2b_3c4d_u32.to_ne_bytes());
    body.extend(1_u16.to_ne_bytes());
    body.extend(0_u16.to_ne_bytes());
    // The section's length is unknown.
    body.extend(u64::MAX.to_ne_bytes());
    block(0x0a0d_0d0a, &body)
}

/// An interface with this link layer (<https://www.tcpdump.org/linktypes.html>) and nanosecond
/// times. Interfaces are numbered in order, from 0.
pub fn interface(name: &str, link_type: u16) -> Vec<u8> {
    let mut body = Vec::from(link_type.to_ne_bytes());
    body.extend([0; 2]);
    // The snap length is unlimited.
    body.extend(0_u32.to_ne_bytes());
    option(&mut body, 2, name.as_bytes());
    option(&mut body, 9, &[9]);
    option(&mut body, 0, &[]);
    block(1, &body)
}

/// A packet of an interface. `parts` are its captured bytes, `wire` its bytes on the wire.
pub fn packet(interface: u32, at: Timestamp, parts: [&[u8]; 2], wire: u32) -> Vec<u8> {
    let captured: usize = parts.iter().map(|part| part.len()).sum();
    let time = at.as_nanos();
    let mut body = Vec::with_capacity(captured + 24);
    for number in [interface, (time >> 32) as u32, time as u32, captured as u32, wire] {
        body.extend(number.to_ne_bytes());
    }
    parts.iter().for_each(|part| body.extend_from_slice(part));
    block(6, &body)
}

/// A block with its kind, its length at both ends, and its body padded to four bytes.
fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let padding = body.len().next_multiple_of(4) - body.len();
    let length = (body.len() + padding + 12) as u32;
    let mut block = Vec::with_capacity(length as usize);
    block.extend(kind.to_ne_bytes());
    block.extend(length.to_ne_bytes());
    block.extend_from_slice(body);
    block.resize(block.len() + padding, 0);
    block.extend(length.to_ne_bytes());
    block
}

fn option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    body.extend(code.to_ne_bytes());
    body.extend((value.len() as u16).to_ne_bytes());
    body.extend_from_slice(value);
    body.resize(body.len().next_multiple_of(4), 0);
}
