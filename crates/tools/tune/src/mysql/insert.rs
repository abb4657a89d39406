//! Ways of inserting rows.

use super::messages::{bulk_row, execute_row, types};
use super::{Conversation, prepare, query};
use crate::Error;
use crate::native::content::Row;
use crate::native::method::Work;
use crate::native::text_rows;
use client::mysql::{self, ExpectedAnswer, packet};

pub fn row_by_row(talk: &mut Conversation<'_>, work: &Work<'_>) -> Result<(), Error> {
    statements(talk, work, "inserted", 1)
}

pub fn multi_row(talk: &mut Conversation<'_>, work: &Work<'_>) -> Result<(), Error> {
    statements(talk, work, "inserted", work.value)
}

/// Inserts into `table` with a fixed number of rows per statement.
pub fn statements(
    talk: &mut Conversation<'_>,
    work: &Work<'_>,
    table: &str,
    rows_a_statement: u64,
) -> Result<(), Error> {
    talk.doing = INSERTING;
    for keys in work.blocks(rows_a_statement) {
        mysql::query(&mut talk.out, |text| work.insert(text, table, keys, |_| b"'"));
        talk.replies.expect(ExpectedAnswer::Answer);
        talk.send_request()?;
    }
    Ok(())
}

pub fn prepared_row_by_row(talk: &mut Conversation<'_>, work: &Work<'_>) -> Result<(), Error> {
    executed(talk, work, 1)
}

/// Prepared once, then executed with a limited number of requests in flight.
pub fn pipeline(talk: &mut Conversation<'_>, work: &Work<'_>) -> Result<(), Error> {
    executed(talk, work, work.value)
}

fn executed(talk: &mut Conversation<'_>, work: &Work<'_>, depth: u64) -> Result<(), Error> {
    let statement = prepare_insert(talk, work)?;
    let columns = work.content.columns();
    let mut row = Row::default();
    for key in 1..=work.rows {
        talk.make_room(depth)?;
        work.content.write(key, &mut row);
        execute_row(&mut talk.out, statement, &row, columns);
        talk.replies.expect(ExpectedAnswer::Answer);
        if talk.out.len() >= PIECE {
            talk.say()?;
        }
    }
    talk.send_request()
}

/// Prepared once, then one `COM_STMT_BULK_EXECUTE` for several rows.
pub fn in_bulk(talk: &mut Conversation<'_>, work: &Work<'_>) -> Result<(), Error> {
    let statement = prepare_insert(talk, work)?;
    let types = types(work.content.columns());
    let mut row = Row::default();
    for keys in work.blocks(work.value) {
        mysql::bulk(&mut talk.out, statement, &types, |body| {
            for key in keys {
                work.content.write(key, &mut row);
                bulk_row(body, &row);
            }
        });
        talk.replies.expect(ExpectedAnswer::Answer);
        talk.send_request()?;
    }
    Ok(())
}

fn prepare_insert(talk: &mut Conversation<'_>, work: &Work<'_>) -> Result<u32, Error> {
    talk.doing = INSERTING;
    let values = vec!["?"; work.content.columns()].join(", ");
    prepare(
        talk,
        &format!("insert into {}.inserted values ({values})", work.scratch),
    )
}

/// `LOAD DATA LOCAL`, in packets of the chosen size.
pub fn load_data(talk: &mut Conversation<'_>, work: &Work<'_>) -> Result<(), Error> {
    talk.doing = INSERTING;
    let statement = format!(
        "load data local infile 'longwire' into table {}.inserted character set utf8mb4",
        work.scratch
    );
    query(talk, statement.as_bytes())?;
    let buffer = usize::try_from(work.value).unwrap_or(usize::MAX);
    // The server's file request was packet 1 of its reply.
    let mut number = 2_u8;
    let lines = text_rows::pieces(work, buffer, |piece| {
        packet(&mut talk.out, number, |body| body.extend_from_slice(piece));
        number = number.wrapping_add(1);
        talk.say()
    })?;
    if !lines.is_empty() {
        packet(&mut talk.out, number, |body| body.extend_from_slice(&lines));
        number = number.wrapping_add(1);
    }
    packet(&mut talk.out, number, |_| {});
    talk.replies.expect(ExpectedAnswer::Answer);
    talk.send_request()
}

const INSERTING: &str = "inserting";
/// Bytes per write while pipelining.
const PIECE: usize = 64 * 1024;
