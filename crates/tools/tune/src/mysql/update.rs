//! Ways of reading and updating rows. Server cursors are read-only, so updates are by key.

use super::messages::execute_with_key;
use super::{Conversation, prepare, query, select};
use crate::Error;
use crate::native::method::Work;
use crate::native::{COUNTER, KEY};
use client::ReplyReader;
use client::mysql::{self, ExpectedAnswer};

/// Reads all rows, then updates them one by one.
pub fn by_key(talk: &mut Conversation<'_>, work: &Work<'_>) -> Result<(), Error> {
    let keys = read_keys(talk, work)?;
    let statement = prepare(talk, &by_its_key(work))?;
    update(talk, statement, &keys, 1)
}

/// Reads one block from a cursor, then updates its rows one by one.
pub fn cursor_by_key(talk: &mut Conversation<'_>, work: &Work<'_>) -> Result<(), Error> {
    talk.doing = UPDATING;
    let cursor = select::open(talk, &for_update(work))?;
    let statement = prepare(talk, &by_its_key(work))?;
    talk.replies.keep_keys();
    let mut keys = Vec::new();
    loop {
        talk.holds_replies = true;
        let more = select::fetched(talk, cursor, work)?;
        talk.holds_replies = false;
        talk.replies.take_keys(&mut keys);
        update(talk, statement, &keys, 1)?;
        if !more {
            return Ok(());
        }
    }
}

/// Reads all rows, then pipelines the updates.
pub fn pipeline(talk: &mut Conversation<'_>, work: &Work<'_>) -> Result<(), Error> {
    let keys = read_keys(talk, work)?;
    let statement = prepare(talk, &by_its_key(work))?;
    update(talk, statement, &keys, work.value)
}

/// Reads all rows, then updates lists of keys.
pub fn by_list(talk: &mut Conversation<'_>, work: &Work<'_>) -> Result<(), Error> {
    let keys = read_keys(talk, work)?;
    let head = format!("{} where {KEY} in (", raise(work));
    for keys in keys.chunks(usize::try_from(work.value).unwrap_or(usize::MAX)) {
        let list: Vec<String> = keys.iter().map(u64::to_string).collect();
        mysql::query(&mut talk.out, |text| {
            text.extend_from_slice(head.as_bytes());
            text.extend_from_slice(list.join(",").as_bytes());
            text.push(b')');
        });
        talk.replies.expect(ExpectedAnswer::Answer);
        talk.send_request()?;
    }
    Ok(())
}

pub fn one_statement(talk: &mut Conversation<'_>, work: &Work<'_>) -> Result<(), Error> {
    talk.doing = UPDATING;
    query(talk, raise(work).as_bytes())
}

fn read_keys(talk: &mut Conversation<'_>, work: &Work<'_>) -> Result<Vec<u64>, Error> {
    talk.doing = UPDATING;
    talk.holds_replies = true;
    talk.replies.keep_keys();
    query(talk, for_update(work).as_bytes())?;
    talk.holds_replies = false;
    let mut keys = Vec::new();
    talk.replies.take_keys(&mut keys);
    Ok(keys)
}

/// With at most `depth` updates in flight.
fn update(talk: &mut Conversation<'_>, statement: u32, keys: &[u64], depth: u64) -> Result<(), Error> {
    for key in keys {
        talk.make_room(depth)?;
        execute_with_key(&mut talk.out, statement, *key);
        talk.replies.expect(ExpectedAnswer::Answer);
        if talk.out.len() >= PIECE {
            talk.say()?;
        }
    }
    if talk.replies.expected_replies() > 0 {
        talk.send_request()?;
    }
    Ok(())
}

fn for_update(work: &Work<'_>) -> String {
    format!("select * from {}.updated for update", work.scratch)
}

fn by_its_key(work: &Work<'_>) -> String {
    format!("{} where {KEY} = ?", raise(work))
}

fn raise(work: &Work<'_>) -> String {
    format!("update {}.updated set {COUNTER} = {COUNTER} + 1", work.scratch)
}

const UPDATING: &str = "updating";
/// Bytes per write while pipelining.
const PIECE: usize = 64 * 1024;
