//! Ways of selecting rows.

use super::{Conversation, query};
use crate::Error;
use crate::native::method::Work;
use client::ReplyReader;
use client::postgres::{SYNC, bind, execute, parse};

pub fn whole(talk: &mut Conversation<'_>, work: &Work<'_>) -> Result<(), Error> {
    talk.doing = SELECTING;
    talk.holds_replies = true;
    query(talk, statement(work).as_bytes())
}

/// A portal, executed repeatedly for blocks of rows.
pub fn portal(talk: &mut Conversation<'_>, work: &Work<'_>) -> Result<(), Error> {
    talk.doing = SELECTING;
    talk.holds_replies = true;
    let rows = u32::try_from(work.value).unwrap_or(u32::MAX);
    parse(&mut talk.out, "", &statement(work));
    bind(&mut talk.out, [PORTAL, ""], 0, |_, _| false, &[]);
    loop {
        execute(&mut talk.out, PORTAL, rows);
        talk.out.extend_from_slice(SYNC);
        talk.replies.owe(1);
        talk.send_request()?;
        if !talk.replies.is_suspended() {
            return Ok(());
        }
    }
}

/// An SQL cursor, fetched in blocks until its end.
pub fn cursor(talk: &mut Conversation<'_>, work: &Work<'_>) -> Result<(), Error> {
    talk.doing = SELECTING;
    talk.holds_replies = true;
    let declare = format!("declare longwire no scroll cursor for {}", statement(work));
    query(talk, declare.as_bytes())?;
    let fetch = format!("fetch {} from longwire", work.value);
    loop {
        let before = talk.replies.rows();
        query(talk, fetch.as_bytes())?;
        if talk.replies.rows() - before < work.value {
            return Ok(());
        }
    }
}

/// `COPY`, which drivers deliver row by row.
pub fn copy(talk: &mut Conversation<'_>, work: &Work<'_>) -> Result<(), Error> {
    talk.doing = SELECTING;
    query(
        talk,
        format!("copy {}.selected to stdout", work.scratch).as_bytes(),
    )
}

fn statement(work: &Work<'_>) -> String {
    format!("select * from {}.selected", work.scratch)
}

const SELECTING: &str = "selecting";
const PORTAL: &str = "longwire";
