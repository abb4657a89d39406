//! PostgreSQL: a portal of many rows, executed row by row.
//!
//! `Parse`, `Bind`, `Flush`; then for each row `Execute` with a limit of one row, and `Flush`. The server
//! answers each pair with one `DataRow` and `PortalSuspended`, behind the last row too, in one send.
//!
//! Source: PostgreSQL manual, "Message Formats".

use super::RowsError;
use super::wire_line::WireLine;
use client::postgres::{FLUSH, PostgresReplies, SYNC, bind, execute, parse, query};

/// `DataRow`'s tag and length, number of columns, length of the value; `PortalSuspended`.
pub(super) const OVERHEAD: usize = 5 + 2 + 4 + PORTAL_SUSPENDED.len();

pub(super) fn ask_for_much(line: &mut WireLine<'_>, bytes: usize) -> Result<(), RowsError> {
    let mut request = Vec::new();
    query(&mut request, |text| {
        text.extend_from_slice(format!("select repeat('x', {bytes})").as_bytes());
    });
    let mut replies = PostgresReplies::default();
    replies.owe(1);
    line.send_request(&request, &mut replies)
}

pub(super) fn prepare(line: &mut WireLine<'_>, rows: u64, filler: usize) -> Result<Vec<u8>, RowsError> {
    // Inside a subquery the rows are made one by one; as a table function they would all be made first.
    let text = format!("select repeat('x', {filler}) from (select generate_series(1, {rows})) rows");
    let mut request = Vec::new();
    parse(&mut request, "", &text);
    bind(&mut request, ["", ""], 0, |_, _| false, &[]);
    request.extend_from_slice(FLUSH);
    let mut replies = PostgresReplies::default();
    replies.owe_portal();
    line.send_request(&request, &mut replies)?;
    let mut one_row = Vec::new();
    execute(&mut one_row, "", 1);
    one_row.extend_from_slice(FLUSH);
    Ok(one_row)
}

pub(super) fn finish(line: &mut WireLine<'_>) -> Result<(), RowsError> {
    let mut replies = PostgresReplies::default();
    replies.owe(1);
    line.send_request(SYNC, &mut replies)
}

pub(super) fn is_row(packet: &[u8]) -> bool {
    packet.starts_with(b"D") && packet.ends_with(PORTAL_SUSPENDED)
}

const PORTAL_SUSPENDED: &[u8] = b"s\0\0\0\x04";
