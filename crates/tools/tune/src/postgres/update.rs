//! Ways of reading and updating rows.

use super::messages::run;
use super::{Conversation, prepare, query};
use crate::Error;
use crate::native::method::Work;
use crate::native::{COUNTER, KEY};
use client::ReplyReader;
use client::postgres::SYNC;

/// One row of a cursor `for update`, then an update of the current row, repeatedly.
pub fn row_by_row(talk: &mut Conversation<'_>, work: &Work<'_>) -> Result<(), Error> {
    declare(talk, work)?;
    let update = format!("{} where current of longwire", raise(work));
    loop {
        let before = talk.replies.rows();
        query(talk, b"fetch 1 from longwire")?;
        if talk.replies.rows() == before {
            return Ok(());
        }
        query(talk, update.as_bytes())?;
    }
}

/// A block of rows from a cursor, then updates by key one by one.
pub fn by_key(talk: &mut Conversation<'_>, work: &Work<'_>) -> Result<(), Error> {
    in_blocks(talk, work, |talk, keys| {
        for key in keys {
            update(talk, *key);
            talk.out.extend_from_slice(SYNC);
            talk.replies.owe(1);
            talk.send_request()?;
        }
        Ok(())
    })
}

/// A block of rows from a cursor, then pipelined updates.
pub fn batch(talk: &mut Conversation<'_>, work: &Work<'_>) -> Result<(), Error> {
    in_blocks(talk, work, |talk, keys| {
        for key in keys {
            update(talk, *key);
        }
        talk.out.extend_from_slice(SYNC);
        talk.replies.owe(1);
        talk.send_request()
    })
}

pub fn one_statement(talk: &mut Conversation<'_>, work: &Work<'_>) -> Result<(), Error> {
    talk.doing = UPDATING;
    query(talk, raise(work).as_bytes())
}

/// Fetches blocks of rows and passes their keys to `update`.
fn in_blocks(
    talk: &mut Conversation<'_>,
    work: &Work<'_>,
    mut update: impl FnMut(&mut Conversation<'_>, &[u64]) -> Result<(), Error>,
) -> Result<(), Error> {
    declare(talk, work)?;
    prepare(talk, STATEMENT, &format!("{} where {KEY} = $1", raise(work)))?;
    talk.replies.keep_keys();
    let fetch = format!("fetch {} from longwire", work.value);
    let mut keys = Vec::new();
    loop {
        talk.holds_replies = true;
        query(talk, fetch.as_bytes())?;
        talk.holds_replies = false;
        talk.replies.take_keys(&mut keys);
        if !keys.is_empty() {
            update(talk, &keys)?;
        }
        if (keys.len() as u64) < work.value {
            return Ok(());
        }
    }
}

fn declare(talk: &mut Conversation<'_>, work: &Work<'_>) -> Result<(), Error> {
    talk.doing = UPDATING;
    let scratch = work.scratch;
    let declare = format!("declare longwire no scroll cursor for select * from {scratch}.updated for update");
    query(talk, declare.as_bytes())
}

fn update(talk: &mut Conversation<'_>, key: u64) {
    let key = key.to_string();
    run(&mut talk.out, STATEMENT, 1, std::iter::once(Some(key.as_bytes())));
}

fn raise(work: &Work<'_>) -> String {
    format!("update {}.updated set {COUNTER} = {COUNTER} + 1", work.scratch)
}

const UPDATING: &str = "updating";
const STATEMENT: &str = "longwire";
