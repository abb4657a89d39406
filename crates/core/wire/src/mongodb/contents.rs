//! Finds commands in messages.

use super::bson::document_length;
use super::compression::inflate;
use super::half::MAX_COMPRESSED;
use super::header::{
    OP_COMPRESSED, OP_DELETE, OP_GET_MORE, OP_INSERT, OP_KILL_CURSORS, OP_MSG, OP_QUERY, OP_UPDATE,
};
use super::text::{self, Command};
use super::walk::Walk;

/// Opens compressed content, and reads it as the message it was.
pub(super) fn opened<'a>(
    opcode: u32,
    body: &'a [u8],
    is_holed: bool,
    walk: &mut Walk,
    inflated: &'a mut Vec<u8>,
) -> (u32, &'a [u8]) {
    if opcode != OP_COMPRESSED {
        return (opcode, body);
    }
    // The operation code, the length, and the compressor.
    let original = document_length(body).map_or(0, i32::unsigned_abs);
    let content = body
        .split_at_checked(9)
        .filter(|_| !is_holed && body.len() < MAX_COMPRESSED);
    let content = content.and_then(|(fixed, content)| inflate(fixed[8], content));
    match content {
        Some(content) => {
            *inflated = content;
            walk.begin(original, inflated.len() as u64);
            walk.feed(inflated);
        }
        None => walk.lose(),
    }
    (original, inflated)
}

/// The command of a message; `None` if it has none, or too little of it is there.
pub(super) fn command(opcode: u32, body: &[u8]) -> Option<Command<'_>> {
    match opcode {
        OP_MSG => command_of_sections(body.get(4..)?),
        OP_QUERY => {
            let (name, behind) = collection(body)?;
            let document = behind.get(8..)?;
            name.ends_with(b".$cmd").then_some(Command {
                body: document,
                first_write: None,
            })
        }
        _ => None,
    }
}

fn command_of_sections(mut sections: &[u8]) -> Option<Command<'_>> {
    let (mut body, mut first_write) = (None, None);
    while let Some((&section, rest)) = sections.split_first() {
        let Some(length) = document_length(rest).and_then(|length| usize::try_from(length).ok()) else {
            break;
        };
        match section {
            0 => body = body.or(Some(rest)),
            1 => {
                let name = rest.get(4..)?.iter().position(|&byte| byte == 0);
                let documents = name.and_then(|name| rest.get(4 + name + 1..));
                first_write = first_write.or(documents);
            }
            _ => break,
        }
        sections = rest.get(length..).unwrap_or_default();
    }
    Some(Command {
        body: body?,
        first_write,
    })
}

/// The collection in a legacy message, and the bytes behind it.
fn collection(body: &[u8]) -> Option<(&[u8], &[u8])> {
    let behind = body.get(4..)?;
    let end = behind.iter().position(|&byte| byte == 0)?;
    Some((behind.get(..end)?, behind.get(end + 1..)?))
}

/// Operations of old clients, which new servers refuse.
pub(super) fn legacy(opcode: u32, body: &[u8], text: &mut Vec<u8>) {
    let name = match opcode {
        OP_QUERY => "find",
        OP_GET_MORE => "getMore",
        OP_INSERT => "insert",
        OP_UPDATE => "update",
        OP_DELETE => "delete",
        OP_KILL_CURSORS => "killCursors",
        _ => return,
    };
    text.extend_from_slice(name.as_bytes());
    let full = collection(body).filter(|_| opcode != OP_KILL_CURSORS);
    let behind_dot = |name: &[u8]| name.iter().position(|&byte| byte == b'.').map(|dot| dot + 1);
    if let Some((full, _)) = full {
        text.push(b' ');
        text::word(
            full.get(behind_dot(full).unwrap_or(0)..).unwrap_or_default(),
            text,
        );
    }
}
