//! Ways of selecting rows.

use super::{Conversation, prepare, query};
use crate::Error;
use crate::native::method::Work;
use client::mysql::{ExpectedAnswer, fetch, open_cursor};

pub fn whole(talk: &mut Conversation<'_>, work: &Work<'_>) -> Result<(), Error> {
    talk.doing = SELECTING;
    talk.holds_replies = true;
    query(talk, statement(work).as_bytes())
}

/// A server-side cursor, fetched in blocks until its end.
pub fn cursor(talk: &mut Conversation<'_>, work: &Work<'_>) -> Result<(), Error> {
    talk.doing = SELECTING;
    talk.holds_replies = true;
    let opened = open(talk, &statement(work))?;
    while fetched(talk, opened, work)? {}
    Ok(())
}

pub fn open(talk: &mut Conversation<'_>, statement: &str) -> Result<u32, Error> {
    let statement = prepare(talk, statement)?;
    open_cursor(&mut talk.out, statement);
    talk.replies.expect(ExpectedAnswer::Answer);
    talk.send_request()?;
    Ok(statement)
}

/// Returns false at the end of the cursor.
pub fn fetched(talk: &mut Conversation<'_>, statement: u32, work: &Work<'_>) -> Result<bool, Error> {
    if !talk.replies.has_more() {
        return Ok(false);
    }
    fetch(
        &mut talk.out,
        statement,
        u32::try_from(work.value).unwrap_or(u32::MAX),
    );
    talk.replies.expect(ExpectedAnswer::Fetched);
    talk.send_request()?;
    Ok(talk.replies.has_more())
}

fn statement(work: &Work<'_>) -> String {
    format!("select * from {}.selected", work.scratch)
}

const SELECTING: &str = "selecting";
