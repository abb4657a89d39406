//! Counts result columns of prepared statements, one statement at a time, by the first row
//! returned.

use super::prepared::Prepared;
use super::reply_queue::ReplyQueue;
use crate::decoding::reader::Reader;
use model::{Content, StatementId};

#[derive(Debug, Default)]
pub(super) struct Columns {
    inspected: Option<Inspected>,
}

#[derive(Debug, Clone, Copy)]
struct Inspected {
    statement: StatementId,
    before: usize,
}

impl Columns {
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

    pub(super) fn bytes_of_row(&self) -> usize {
        match self.inspected {
            Some(Inspected { before: 0, .. }) => 2,
            Some(_) | None => 0,
        }
    }

    pub(super) fn row(&mut self, body: &[u8], prepared: &mut Prepared) -> Option<Content<'static>> {
        let inspected = self.inspected.filter(|inspected| inspected.before == 0)?;
        let count = Reader::new(body).u16_be()?;
        Some(self.found(inspected.statement, count, prepared))
    }

    /// Ends an execution, with its tag if there is one. A write that returned no row has no
    /// columns.
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

    pub(super) fn skip(&mut self) {
        self.inspected = None;
    }

    fn found(&mut self, statement: StatementId, count: u16, prepared: &mut Prepared) -> Content<'static> {
        self.inspected = None;
        prepared.shaped(statement);
        Content::Columns { statement, count }
    }
}

const WRITES: [&[u8]; 4] = [b"INSERT ", b"UPDATE ", b"DELETE ", b"MERGE "];
