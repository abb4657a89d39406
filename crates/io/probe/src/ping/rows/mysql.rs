//! A MySQL or MariaDB cursor of many rows, fetched row by row.
//!
//! Sends `COM_STMT_PREPARE`, then `COM_STMT_EXECUTE` with a read-only cursor, then a
//! `COM_STMT_FETCH` per row. The server answers each with a row packet and an EOF packet, in one
//! send. It stores all rows in a temporary table when it opens the cursor.
//!
//! See MySQL 8.4 source documentation, "Prepared Statements" and "Binary Protocol Resultset".

use super::RowsError;
use super::wire_line::WireLine;
use client::mysql::{ExpectedAnswer, MysqlReplies, close, fetch, open_cursor, query};
use wire::mysql::messages::reply;

/// The row's header, marker, NULL bitmap and value length; header and body of EOF.
pub(super) const OVERHEAD: usize = 4 + 1 + 1 + 3 + EOF;

pub(super) fn ask_for_much(line: &mut WireLine<'_>, bytes: usize) -> Result<(), RowsError> {
    let mut request = Vec::new();
    query(&mut request, |text| {
        text.extend_from_slice(format!("select repeat('x', {bytes})").as_bytes());
    });
    send_request(line, &request, ExpectedAnswer::Answer).map(|_| ())
}

pub(super) fn prepare(line: &mut WireLine<'_>, rows: u64, filler: usize) -> Result<Vec<u8>, RowsError> {
    let text = format!(
        "select repeat('x', {filler}) from {} limit {rows}",
        factors(rows).join(", ")
    );
    let mut request = Vec::new();
    client::mysql::prepare(&mut request, &text);
    let statement = send_request(line, &request, ExpectedAnswer::Statement)?.statement();
    request.clear();
    open_cursor(&mut request, statement);
    if !send_request(line, &request, ExpectedAnswer::Answer)?.has_more() {
        return Err(RowsError::NoCursor);
    }
    request.clear();
    fetch(&mut request, statement, 1);
    Ok(request)
}

/// Closes the statement of `one_row`; the server does not answer.
pub(super) fn finish(line: &mut WireLine<'_>, one_row: &[u8]) -> Result<(), RowsError> {
    let statement = one_row.get(5..).and_then(<[u8]>::first_chunk);
    let mut request = Vec::new();
    close(
        &mut request,
        statement.map_or(0, |number| u32::from_le_bytes(*number)),
    );
    line.send_all(&request)
}

pub(super) fn is_row(packet: &[u8]) -> bool {
    let mark = packet.len().checked_sub(EOF).and_then(|at| packet.get(at..));
    let ends = matches!(mark, Some([5, 0, 0, 2, reply::EOF, ..]));
    ends && packet.get(3..5) == Some(&[1, 0])
}

/// Tables of ten rows with a product of at least `rows`: no series function exists in all servers.
fn factors(rows: u64) -> Vec<String> {
    let ten: Vec<String> = (0..10).map(|number| format!("select {number}")).collect();
    let ten = ten.join(" union all ");
    let mut product = 1;
    let mut tables = Vec::new();
    while product < rows {
        tables.push(format!("({ten}) t{}", tables.len()));
        product *= 10;
    }
    tables
}

fn send_request(
    line: &mut WireLine<'_>,
    request: &[u8],
    answer: ExpectedAnswer,
) -> Result<MysqlReplies, RowsError> {
    let mut replies = MysqlReplies::default();
    replies.expect(answer);
    line.send_request(request, &mut replies)?;
    Ok(replies)
}

/// Header and body of an EOF packet.
const EOF: usize = 4 + 5;
