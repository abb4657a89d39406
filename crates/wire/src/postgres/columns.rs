//! How many columns the results of prepared statements have: of one statement at a time, from the first row
//! that comes back.

use super::prepared::Prepared;
use super::reply_queue::ReplyQueue;
use decoding::reader::Reader;
use model::{Content, StatementId};

/// The execution whose reply is inspected.
#[derive(Debug, Default)]
pub(super) struct Columns {
    inspected: Option<Inspected>,
}

#[derive(Debug, Clone, Copy)]
struct Inspected {
    statement: StatementId,
    /// Executions that are answered before it.
    before: usize,
}

impl Columns {
    /// A statement is about to be executed behind what is `owed`.
    pub(super) fn executes(
        &mut self,
        statement: Option<StatementId>,
        prepared: &Prepared,
        pending: &ReplyQueue,
    ) {
        let Some(statement) = statement.filter(|_| self.inspected.is_none()) else {
            return;
        };
        if prepared.is_unshaped(statement)
            && let Some(before) = pending.executions()
        {
            self.inspected = Some(Inspected { statement, before });
        }
    }

    /// How much of the next row is inspected.
    pub(super) fn bytes_of_row(&self) -> usize {
        match self.inspected {
            Some(Inspected { before: 0, .. }) => 2,
            Some(_) | None => 0,
        }
    }

    /// A row has come: its columns, if they were inspected.
    pub(super) fn row(&mut self, body: &[u8], prepared: &mut Prepared) -> Option<Content<'static>> {
        let inspected = self.inspected.filter(|inspected| inspected.before == 0)?;
        let count = Reader::new(body).u16_be()?;
        Some(self.found(inspected.statement, count, prepared))
    }

    /// An execution is over, with a tag if it has one: what writes and has returned no row has no columns.
    pub(super) fn execution_ended(
        &mut self,
        tag: &[u8],
        prepared: &mut Prepared,
    ) -> Option<Content<'static>> {
        let inspected = self.inspected.as_mut()?;
        if let Some(before) = inspected.before.checked_sub(1) {
            inspected.before = before;
            return None;
        }
        let statement = inspected.statement;
        if WRITES.iter().any(|write| tag.starts_with(write)) {
            return Some(self.found(statement, 0, prepared));
        }
        self.inspected = None;
        None
    }

    /// The server skips what was sent: nothing is inspected.
    pub(super) fn skip(&mut self) {
        self.inspected = None;
    }

    fn found(&mut self, statement: StatementId, count: u16, prepared: &mut Prepared) -> Content<'static> {
        self.inspected = None;
        prepared.shaped(statement);
        Content::Columns { statement, count }
    }
}

/// How tags of writes begin.
const WRITES: [&[u8]; 4] = [b"INSERT ", b"UPDATE ", b"DELETE ", b"MERGE "];
