//! The header of a message, and the lengths it can have.

use crate::decoding::fault::{HeaderFault, fault};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Header {
    /// Bytes behind the header.
    pub(super) body: u32,
    pub(super) id: i32,
    pub(super) responds_to: i32,
    pub(super) opcode: u32,
}

impl Header {
    pub(super) fn from_bytes(bytes: &[u8; HEADER]) -> Result<Self, HeaderFault> {
        let word = |at: usize| [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
        let [length, id, responds_to, opcode] = [word(0), word(4), word(8), word(12)];
        let opcode = u32::from_le_bytes(opcode);
        let Some((_, least)) = OPCODES.iter().find(|(known, _)| *known == opcode) else {
            return Err(fault("an operation code of MongoDB", opcode.to_string()));
        };
        let length = u32::from_le_bytes(length);
        if length < *least || length > MAXIMUM_MESSAGE {
            return Err(fault("a length that this message can have", length.to_string()));
        }
        Ok(Self {
            body: length - HEADER as u32,
            id: i32::from_le_bytes(id),
            responds_to: i32::from_le_bytes(responds_to),
            opcode,
        })
    }
}

pub(super) const OP_REPLY: u32 = 1;
pub(super) const OP_UPDATE: u32 = 2001;
pub(super) const OP_INSERT: u32 = 2002;
pub(super) const OP_QUERY: u32 = 2004;
pub(super) const OP_GET_MORE: u32 = 2005;
pub(super) const OP_DELETE: u32 = 2006;
pub(super) const OP_KILL_CURSORS: u32 = 2007;
pub(super) const OP_COMPRESSED: u32 = 2012;
pub(super) const OP_MSG: u32 = 2013;

/// With the length of the shortest message.
const OPCODES: [(u32, u32); 9] = [
    (OP_MSG, 26),
    (OP_COMPRESSED, 25),
    (OP_QUERY, 34),
    (OP_REPLY, 36),
    (OP_UPDATE, 30),
    (OP_INSERT, 27),
    (OP_GET_MORE, 34),
    (OP_DELETE, 30),
    (OP_KILL_CURSORS, 24),
];

pub(super) const HEADER: usize = 16;

/// The longest message that servers allow (`maxMessageSizeBytes`).
pub(super) const MAXIMUM_MESSAGE: u32 = 48_000_000;

/// Unknown flags in the lower 16 bits of `OP_MSG` are errors.
pub(super) const CHECKSUM_PRESENT: u32 = 1;
pub(super) const MORE_TO_COME: u32 = 1 << 1;
pub(super) const EXHAUST_ALLOWED: u32 = 1 << 16;
