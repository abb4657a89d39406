//! A PostgreSQL portal of many rows, executed row by row.
//!
//! Sends `Parse`, `Bind`, `Flush`, then per row `Execute` with a limit of one and `Flush`. The
//! server answers each pair with one `DataRow` and `PortalSuspended`, in one send, also after the
//! last row.
//!
//! See PostgreSQL manual, "Message Formats".

use super::RowsError;
use super::wire_line::WireLine;
use client::postgres::{FLUSH, PostgresReplies, SYNC, bind, execute, parse, query};
use wire::postgres::messages::backend;

/// `DataRow`'s tag and length, column count and value length, then `PortalSuspended`.
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
    // A subquery produces rows one by one; a table function would first produce all of them.
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
    packet.starts_with(&[backend::DATA_ROW]) && packet.ends_with(PORTAL_SUSPENDED)
}

const PORTAL_SUSPENDED: &[u8] = &[backend::PORTAL_SUSPENDED, 0, 0, 0, 4];
