//! Ways of inserting rows.

use super::messages::{opening, run};
use super::{Conversation, prepare, query};
use crate::Error;
use crate::native::content::Row;
use crate::native::method::Work;
use crate::native::text_rows;
use client::postgres::{self, COPY_DONE, SYNC, copy_data};

pub fn row_by_row(talk: &mut Conversation<'_>, work: &Work<'_>) -> Result<(), Error> {
    statements(talk, work, 1)
}

pub fn multi_row(talk: &mut Conversation<'_>, work: &Work<'_>) -> Result<(), Error> {
    statements(talk, work, work.value)
}

fn statements(talk: &mut Conversation<'_>, work: &Work<'_>, rows_a_statement: u64) -> Result<(), Error> {
    talk.doing = INSERTING;
    for keys in work.blocks(rows_a_statement) {
        postgres::query(&mut talk.out, |text| work.insert(text, "inserted", keys, opening));
        talk.replies.owe(1);
        talk.send_request()?;
    }
    Ok(())
}

pub fn prepared_row_by_row(talk: &mut Conversation<'_>, work: &Work<'_>) -> Result<(), Error> {
    batches(talk, work, 1)
}

/// Prepared once, then executed in batches with one wait each.
pub fn prepared_batch(talk: &mut Conversation<'_>, work: &Work<'_>) -> Result<(), Error> {
    batches(talk, work, work.value)
}

fn batches(talk: &mut Conversation<'_>, work: &Work<'_>, rows_a_batch: u64) -> Result<(), Error> {
    prepare_insert(talk, work)?;
    let mut row = Row::default();
    for keys in work.blocks(rows_a_batch) {
        for key in keys {
            insert(talk, work, key, &mut row);
            if talk.out.len() >= PIECE {
                talk.say()?;
            }
        }
        talk.out.extend_from_slice(SYNC);
        talk.replies.owe(1);
        talk.send_request()?;
    }
    Ok(())
}

/// Prepared once, then executed with a limited number of requests in flight.
pub fn pipeline(talk: &mut Conversation<'_>, work: &Work<'_>) -> Result<(), Error> {
    prepare_insert(talk, work)?;
    let mut row = Row::default();
    for key in 1..=work.rows {
        talk.make_room(work.value)?;
        insert(talk, work, key, &mut row);
        talk.out.extend_from_slice(SYNC);
        talk.replies.owe(1);
        if talk.out.len() >= PIECE {
            talk.say()?;
        }
    }
    talk.send_request()
}

fn prepare_insert(talk: &mut Conversation<'_>, work: &Work<'_>) -> Result<(), Error> {
    talk.doing = INSERTING;
    let values: Vec<String> = (1..=work.content.columns())
        .map(|number| format!("${number}"))
        .collect();
    let statement = format!(
        "insert into {}.inserted values ({})",
        work.scratch,
        values.join(", ")
    );
    prepare(talk, STATEMENT, &statement)
}

fn insert(talk: &mut Conversation<'_>, work: &Work<'_>, key: u64, row: &mut Row) {
    work.content.write(key, row);
    run(&mut talk.out, STATEMENT, work.content.columns(), row.values());
}

/// `COPY`, in pieces of the chosen size.
pub fn copy(talk: &mut Conversation<'_>, work: &Work<'_>) -> Result<(), Error> {
    copy_into(
        talk,
        work,
        "inserted",
        usize::try_from(work.value).unwrap_or(usize::MAX),
    )
}

/// Like [`copy`], for any table.
pub fn copy_into(
    talk: &mut Conversation<'_>,
    work: &Work<'_>,
    table: &str,
    buffer: usize,
) -> Result<(), Error> {
    talk.doing = INSERTING;
    query(
        talk,
        format!("copy {}.{table} from stdin", work.scratch).as_bytes(),
    )?;
    let lines = text_rows::pieces(work, buffer, |piece| {
        copy_data(&mut talk.out, piece);
        talk.say()
    })?;
    if !lines.is_empty() {
        copy_data(&mut talk.out, &lines);
    }
    talk.out.extend_from_slice(COPY_DONE);
    talk.replies.owe(1);
    talk.send_request()
}

const INSERTING: &str = "inserting";
const STATEMENT: &str = "longwire";
/// Bytes per write while pipelining.
const PIECE: usize = 64 * 1024;
