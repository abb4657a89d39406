//! Prepared statements of a connection: the server's numbers, which it may reuse, and our
//! identifiers.

use model::StatementId;
use std::collections::{HashMap, HashSet, VecDeque};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Statement {
    pub id: StatementId,
    /// Parameters of one set; `None` until the text or the server has shown them.
    pub parameters: Option<u16>,
}

#[derive(Debug, Default)]
pub(super) struct Statements {
    known: HashMap<u32, Statement>,
    next: u32,
    last: Option<Statement>,
    highest: u32,
    unnumbered: VecDeque<Statement>,
    unshaped: HashSet<StatementId>,
}

impl Statements {
    /// `whole` means that `text` is not truncated.
    pub fn prepare(&mut self, text: &[u8], whole: bool) -> StatementId {
        let id = StatementId(self.next);
        self.next = self.next.saturating_add(1);
        let parameters = whole
            .then(|| u16::try_from(count_placeholders(text)).ok())
            .flatten();
        self.last = Some(Statement { id, parameters });
        id
    }

    pub fn unanswered(&mut self, id: StatementId) {
        let known = self.last.filter(|last| last.id == id);
        let parameters = known.and_then(|last| last.parameters);
        if self.unnumbered.len() < MAX_UNNUMBERED {
            self.unnumbered.push_back(Statement { id, parameters });
        }
    }

    /// Finds the statement with the server's `number`. Numbers increase, so a new highest one
    /// belongs to the statement with an unseen number.
    pub fn find_or_number(&mut self, number: u32) -> Option<Statement> {
        let found = self.find(number);
        if found.is_some() || number <= self.highest || number == LAST_PREPARED {
            return found;
        }
        let statement = self.unnumbered.pop_front()?;
        self.highest = number;
        if self.known.len() < MAX_STATEMENTS {
            self.known.insert(number, statement);
        }
        Some(statement)
    }

    pub fn unseen(&mut self, number: u32) -> Option<Statement> {
        if number == LAST_PREPARED || self.known.len() >= MAX_STATEMENTS {
            return None;
        }
        let id = StatementId(self.next);
        self.next = self.next.saturating_add(1);
        let statement = Statement { id, parameters: None };
        self.known.insert(number, statement);
        self.unshaped.insert(id);
        Some(statement)
    }

    pub fn prepared(&mut self, id: StatementId, number: u32, parameters: u16) {
        let statement = Statement {
            id,
            parameters: Some(parameters),
        };
        if self.last.is_some_and(|last| last.id == id) {
            self.last = Some(statement);
        }
        self.highest = self.highest.max(number);
        if self.known.len() < MAX_STATEMENTS || self.known.contains_key(&number) {
            self.known.insert(number, statement);
        }
    }

    /// Finds the statement with the server's `number`; MariaDB's -1 is the one prepared last.
    pub fn find(&self, number: u32) -> Option<Statement> {
        if number == LAST_PREPARED {
            self.last
        } else {
            self.known.get(&number).copied()
        }
    }

    pub fn close(&mut self, number: u32) {
        if let Some(closed) = self.known.remove(&number) {
            self.unshaped.remove(&closed.id);
        }
    }

    pub fn is_unshaped(&self, statement: StatementId) -> bool {
        self.unshaped.contains(&statement)
    }

    pub fn shaped(&mut self, statement: StatementId) {
        self.unshaped.remove(&statement);
    }

    pub fn forget(&mut self) {
        self.known.clear();
        self.unshaped.clear();
        self.unnumbered.clear();
        self.last = None;
    }
}

fn count_placeholders(text: &[u8]) -> usize {
    let mut count = 0;
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        rest = match byte {
            b'\'' | b'"' | b'`' => after_quoted(after, byte),
            b'#' => after_line(after),
            b'-' if after.starts_with(b"- ") => after_line(after),
            b'/' if after.starts_with(b"*") && !after.starts_with(b"*!") => after_comment(after),
            b'?' => {
                count += 1;
                after
            }
            _ => after,
        };
    }
    count
}

fn after_quoted(text: &[u8], quote: u8) -> &[u8] {
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        rest = match byte {
            b'\\' if quote != b'`' => after.get(1..).unwrap_or_default(),
            _ if byte == quote => return after,
            _ => after,
        };
    }
    rest
}

fn after_line(text: &[u8]) -> &[u8] {
    let end = text.iter().position(|&byte| byte == b'\n').unwrap_or(text.len());
    text.get(end..).unwrap_or_default()
}

fn after_comment(text: &[u8]) -> &[u8] {
    let end = text
        .windows(2)
        .skip(1)
        .position(|pair| pair == b"*/")
        .map_or(text.len(), |place| place + 3);
    text.get(end..).unwrap_or_default()
}

const MAX_STATEMENTS: usize = 16_384;
const MAX_UNNUMBERED: usize = 64;
const LAST_PREPARED: u32 = u32::MAX;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_in_quotes_and_comments_do_not_count() {
        for (text, count) in [
            ("insert into t values (?, ?)", 2),
            ("select '?', \"?\", `?`, ?", 1),
            ("select 'it''s ?', 'a\\'?', ?", 1),
            ("select ? /* ? */, /*! ? */ ? -- ?\n, ? # ?\n", 4),
            ("select ?-1, /**/ ?", 2),
            ("select 'unclosed ?", 0),
            ("select ? /* ?", 1),
            ("", 0),
        ] {
            assert_eq!(count_placeholders(text.as_bytes()), count, "{text}");
        }
    }

    #[test]
    fn a_number_that_was_not_given_in_sight_is_one_statement_until_it_is_given() {
        let mut statements = Statements::default();
        assert_eq!(statements.find_or_number(17), None);
        let unseen = statements.unseen(17);
        assert!(unseen.is_some());
        assert_eq!(statements.find_or_number(17), unseen);
        assert_ne!(statements.unseen(18), unseen);
        let seen = statements.prepare(b"select ?", true);
        statements.prepared(seen, 17, 1);
        assert_eq!(statements.find(17).map(|found| found.id), Some(seen));
        assert_eq!(statements.unseen(LAST_PREPARED), None);
    }

    #[test]
    fn a_number_used_again_names_the_new_statement() {
        let mut statements = Statements::default();
        let first = statements.prepare(b"select ?", true);
        statements.prepared(first, 1, 1);
        statements.close(1);
        assert_eq!(statements.find(1), None);
        let second = statements.prepare(b"select 1", true);
        assert_ne!(first, second);
        assert_eq!(statements.find(LAST_PREPARED).map(|found| found.id), Some(second));
        statements.prepared(second, 1, 0);
        assert_eq!(
            statements.find(1),
            Some(Statement {
                id: second,
                parameters: Some(0)
            })
        );
        statements.forget();
        assert_eq!(statements.find(1), None);
        assert_eq!(statements.find(LAST_PREPARED), None);
    }
}
