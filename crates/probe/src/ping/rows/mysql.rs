//! MySQL and MariaDB: a cursor of many rows, fetched row by row.
//!
//! `COM_STMT_PREPARE`, `COM_STMT_EXECUTE` with a read-only cursor; then for each row `COM_STMT_FETCH` of one row. The server answers
//! each with the row's packet and an EOF packet, in one send. It makes all rows when it opens the cursor, and keeps them in a
//! temporary table.
//!
//! Source: MySQL 8.4 source documentation, "Prepared Statements" and "Binary Protocol Resultset".

use super::RowsError;
use super::wire_line::WireLine;
use client::session::without_values;

/// The row's header, mark, bitmap of NULLs and length of the value; header and body of EOF.
pub(super) const OVERHEAD: usize = 4 + 1 + 1 + 3 + EOF;

pub(super) fn ask_for_much(line: &mut WireLine<'_>, bytes: usize) -> Result<(), RowsError> {
    let query = format!("select repeat('x', {bytes})");
    line.send_all(&command(COM_QUERY, query.as_bytes()))?;
    let columns = count(packet(line)?)?;
    for _ in 0..columns {
        packet(line)?;
    }
    // EOF behind the columns, and behind the rows.
    for _ in 0..2 {
        while !is_eof(packet(line)?) {}
    }
    Ok(())
}

pub(super) fn prepare(line: &mut WireLine<'_>, rows: u64, filler: usize) -> Result<Vec<u8>, RowsError> {
    let query = format!(
        "select repeat('x', {filler}) from {} limit {rows}",
        factors(rows).join(", ")
    );
    line.send_all(&command(COM_STMT_PREPARE, query.as_bytes()))?;
    let &[0, a, b, c, d, low, high, ..] = packet(line)? else {
        return Err(OUT_OF_STEP);
    };
    let (statement, columns) = ([a, b, c, d], u16::from_le_bytes([low, high]));
    for _ in 0..=columns {
        packet(line)?;
    }
    let execute = [&statement[..], &[CURSOR_READ_ONLY, 1, 0, 0, 0]].concat();
    line.send_all(&command(COM_STMT_EXECUTE, &execute))?;
    let columns = count(packet(line)?)?;
    for _ in 0..columns {
        packet(line)?;
    }
    let &[_, _, _, status, _] = packet(line)? else {
        return Err(RowsError::NoCursor);
    };
    if status & CURSOR_EXISTS == 0 {
        return Err(RowsError::NoCursor);
    }
    let one_row = [&statement[..], &1_u32.to_le_bytes()].concat();
    Ok(command(COM_STMT_FETCH, &one_row))
}

/// Closes the statement that `request` asked for a row of; the server does not answer.
pub(super) fn finish(line: &mut WireLine<'_>, request: &[u8]) -> Result<(), RowsError> {
    let statement = request.get(5..9).unwrap_or_default();
    line.send_all(&command(COM_STMT_CLOSE, statement))
}

pub(super) fn check(packet: &[u8]) -> Result<(), RowsError> {
    let mark = packet.len().checked_sub(EOF).and_then(|at| packet.get(at..));
    let ends = matches!(mark, Some([5, 0, 0, 2, 0xfe, ..]));
    if ends && packet.get(3..5) == Some(&[1, 0]) {
        return Ok(());
    }
    Err(RowsError::OutOfStep {
        found: "something else",
    })
}

/// An ERR packet that is there as a whole.
pub(super) fn refusal(begun: &[u8]) -> Option<RowsError> {
    let &[low, middle, high, _, ERROR, ..] = begun else {
        return None;
    };
    let end = u32::from_le_bytes([low, middle, high, 0]) as usize + 4;
    begun.get(4..end).map(refused)
}

/// Tables of ten rows whose product has at least `rows`: there is no series in the SQL that all servers know.
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

/// The body of the next packet.
fn packet<'a>(line: &'a mut WireLine<'_>) -> Result<&'a [u8], RowsError> {
    let &[low, middle, high, _] = line.take(4)? else {
        return Err(OUT_OF_STEP);
    };
    let length = u32::from_le_bytes([low, middle, high, 0]) as usize;
    let body = line.take(length)?;
    if body.first() == Some(&ERROR) {
        return Err(refused(body));
    }
    Ok(body)
}

/// The number of columns that the first packet of a result says.
fn count(body: &[u8]) -> Result<u8, RowsError> {
    match body {
        [count @ 1..=250] => Ok(*count),
        _ => Err(OUT_OF_STEP),
    }
}

fn is_eof(body: &[u8]) -> bool {
    body.len() == 5 && body.first() == Some(&0xfe)
}

fn refused(body: &[u8]) -> RowsError {
    let code = match body {
        [_, low, high, ..] => u16::from_le_bytes([*low, *high]),
        _ => 0,
    };
    let text = body.get(3..).unwrap_or_default();
    // `#` and an SQLSTATE come before the text.
    let text = text
        .strip_prefix(b"#")
        .map_or(text, |rest| rest.get(5..).unwrap_or_default());
    RowsError::Statement {
        code: code.to_string(),
        text: without_values(text),
    }
}

fn command(code: u8, body: &[u8]) -> Vec<u8> {
    let [low, middle, high, ..] = (body.len() as u32 + 1).to_le_bytes();
    [&[low, middle, high, 0, code], body].concat()
}

/// Header and body of an EOF packet.
const EOF: usize = 4 + 5;
const ERROR: u8 = 0xff;
const COM_QUERY: u8 = 3;
const COM_STMT_PREPARE: u8 = 0x16;
const COM_STMT_EXECUTE: u8 = 0x17;
const COM_STMT_CLOSE: u8 = 0x19;
const COM_STMT_FETCH: u8 = 0x1c;
const CURSOR_READ_ONLY: u8 = 1;
/// `SERVER_STATUS_CURSOR_EXISTS`, in the lower byte of the status.
const CURSOR_EXISTS: u8 = 0x40;
const OUT_OF_STEP: RowsError = RowsError::OutOfStep {
    found: "no packet of its protocol",
};
