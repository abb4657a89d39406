//! PostgreSQL: a portal of many rows, executed row by row.
//!
//! `Parse`, `Bind`, `Flush`; then for each row `Execute` with a limit of one row, and `Flush`. The server answers each pair with one
//! `DataRow` and `PortalSuspended`, behind the last row too, in one send.
//!
//! Source: PostgreSQL manual, "Message Formats".

use super::RowsError;
use super::wire_line::WireLine;
use client::session::without_values;

/// `DataRow`'s tag and length, number of columns, length of the value; `PortalSuspended`.
pub(super) const OVERHEAD: usize = 5 + 2 + 4 + PORTAL_SUSPENDED.len();

pub(super) fn ask_for_much(line: &mut WireLine<'_>, bytes: usize) -> Result<(), RowsError> {
    let query = format!("select repeat('x', {bytes})\0");
    line.send_all(&message(b'Q', query.as_bytes()))?;
    skip_to(line, b'Z')
}

pub(super) fn prepare(line: &mut WireLine<'_>, rows: u64, filler: usize) -> Result<Vec<u8>, RowsError> {
    // Inside a subquery the rows are made one by one; as a table function they would all be made first.
    let query = format!("\0select repeat('x', {filler}) from (select generate_series(1, {rows})) rows\0\0\0");
    let bind = [0; 8];
    let request = [
        message(b'P', query.as_bytes()),
        message(b'B', &bind),
        message(b'H', b""),
    ];
    line.send_all(&request.concat())?;
    skip_to(line, b'2')?;
    let one_row = [&b"\0"[..], &1_u32.to_be_bytes()].concat();
    Ok([message(b'E', &one_row), message(b'H', b"")].concat())
}

pub(super) fn finish(line: &mut WireLine<'_>) -> Result<(), RowsError> {
    line.send_all(&message(b'S', b""))?;
    skip_to(line, b'Z')
}

pub(super) fn check(packet: &[u8]) -> Result<(), RowsError> {
    if packet.starts_with(b"D") && packet.ends_with(PORTAL_SUSPENDED) {
        return Ok(());
    }
    Err(RowsError::OutOfStep {
        found: "something else",
    })
}

/// An `ErrorResponse` that is there as a whole.
pub(super) fn refusal(begun: &[u8]) -> Option<RowsError> {
    let &[b'E', a, b, c, d, ..] = begun else {
        return None;
    };
    let end = u32::from_be_bytes([a, b, c, d]) as usize + 1;
    begun.get(5..end).map(refused)
}

/// Reads messages up to the one with this tag.
fn skip_to(line: &mut WireLine<'_>, wanted: u8) -> Result<(), RowsError> {
    loop {
        let &[tag, a, b, c, d] = line.take(5)? else {
            return Err(OUT_OF_STEP);
        };
        let length = u32::from_be_bytes([a, b, c, d]) as usize;
        if !(4..=LONGEST).contains(&length) {
            return Err(OUT_OF_STEP);
        }
        let body = line.take(length - 4)?;
        if tag == b'E' {
            return Err(refused(body));
        }
        if tag == wanted {
            return Ok(());
        }
    }
}

fn refused(body: &[u8]) -> RowsError {
    let field = |wanted: u8| {
        body.split(|byte| *byte == 0)
            .find_map(|field| field.strip_prefix(&[wanted]))
            .unwrap_or_default()
    };
    RowsError::Statement {
        code: String::from_utf8_lossy(field(b'C')).into_owned(),
        text: without_values(field(b'M')),
    }
}

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u32 + 4).to_be_bytes();
    [&[tag], &length[..], body].concat()
}

const PORTAL_SUSPENDED: &[u8] = b"s\0\0\0\x04";
const LONGEST: usize = 1 << 20;
const OUT_OF_STEP: RowsError = RowsError::OutOfStep {
    found: "no message of its protocol",
};
