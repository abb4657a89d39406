//! Names of prepared statements and portals, and what they stand for.

use super::shape::NAME_LIMIT;
use model::StatementId;
use std::collections::HashMap;

/// Prepared statements and portals of one connection. Names beyond the limits are not remembered: what uses them is
/// an execution of an unknown statement.
#[derive(Debug, Default)]
pub(super) struct Prepared {
    issued: u32,
    unnamed_statement: Option<StatementId>,
    statements: HashMap<Box<[u8]>, StatementId>,
    unnamed_portal: Portal,
    portals: HashMap<Box<[u8]>, Portal>,
}

/// A statement with its parameters, ready to run.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Portal {
    pub(super) statement: Option<StatementId>,
    /// It ran already: running it again asks for more of its rows.
    pub(super) executed: bool,
}

impl Prepared {
    /// `Parse` gives `name` a statement.
    pub(super) fn parse(&mut self, name: &[u8]) -> StatementId {
        let statement = StatementId(self.issued);
        self.issued = self.issued.wrapping_add(1);
        if name.is_empty() {
            self.unnamed_statement = Some(statement);
        } else {
            remember(&mut self.statements, MAXIMUM_STATEMENTS, name, statement);
        }
        statement
    }

    /// `Bind` makes a portal of a statement. Returns the statement's number where it is used for the first time and `Parse` was not seen.
    pub(super) fn bind(&mut self, portal: &[u8], name: &[u8]) -> Option<StatementId> {
        let known = match name {
            b"" => self.unnamed_statement,
            name => self.statements.get(name).copied(),
        };
        let is_storable = name.len() <= NAME_LIMIT && self.statements.len() < MAXIMUM_STATEMENTS;
        let unseen = (known.is_none() && is_storable).then(|| self.parse(name));
        let statement = known.or(unseen);
        let bound = Portal {
            statement,
            executed: false,
        };
        if portal.is_empty() {
            self.unnamed_portal = bound;
        } else {
            remember(&mut self.portals, MAXIMUM_PORTALS, portal, bound);
        }
        unseen
    }

    /// `Execute` runs a portal; gives it as it was before.
    pub(super) fn execute(&mut self, name: &[u8]) -> Portal {
        let portal = match name {
            b"" => Some(&mut self.unnamed_portal),
            name => self.portals.get_mut(name),
        };
        portal.map_or_else(Portal::default, |portal| {
            let before = *portal;
            portal.executed = true;
            before
        })
    }

    /// `Close` of a statement, or `DEALLOCATE`.
    pub(super) fn close_statement(&mut self, name: &[u8]) {
        if name.is_empty() {
            self.unnamed_statement = None;
        } else {
            self.statements.remove(name);
        }
    }

    /// `Close` of a portal.
    pub(super) fn close_portal(&mut self, name: &[u8]) {
        if name.is_empty() {
            self.unnamed_portal = Portal::default();
        } else {
            self.portals.remove(name);
        }
    }

    /// The transaction ended, and its portals with it.
    pub(super) fn close_portals(&mut self) {
        if !self.portals.is_empty() {
            self.portals.clear();
        }
    }

    /// Follows the statements that drop prepared ones: `DEALLOCATE [PREPARE] {name | ALL}` and `DISCARD ALL`.
    pub(super) fn follow(&mut self, text: &[u8]) {
        let text = text.trim_ascii_start();
        if !matches!(text.first(), Some(b'd' | b'D')) {
            return;
        }
        let mut words = text
            .split(|byte| byte.is_ascii_whitespace() || *byte == b';')
            .filter(|word| !word.is_empty());
        let command = words.next().unwrap_or_default();
        let mut name = words.next().unwrap_or_default();
        if command.eq_ignore_ascii_case(b"DEALLOCATE") {
            if name.eq_ignore_ascii_case(b"PREPARE") {
                name = words.next().unwrap_or_default();
            }
            if name.eq_ignore_ascii_case(b"ALL") {
                self.statements.clear();
            } else if let Some(quoted) = name.strip_prefix(b"\"").and_then(|name| name.strip_suffix(b"\"")) {
                self.statements.remove(quoted);
            } else {
                self.statements.remove(name.to_ascii_lowercase().as_slice());
            }
        } else if command.eq_ignore_ascii_case(b"DISCARD") && name.eq_ignore_ascii_case(b"ALL") {
            self.statements.clear();
            self.unnamed_statement = None;
            self.close_portals();
        }
    }
}

fn remember<T>(names: &mut HashMap<Box<[u8]>, T>, limit: usize, name: &[u8], value: T) {
    if let Some(place) = names.get_mut(name) {
        *place = value;
    } else if names.len() < limit && name.len() <= NAME_LIMIT {
        names.insert(name.into(), value);
    }
}

const MAXIMUM_STATEMENTS: usize = 8192;
const MAXIMUM_PORTALS: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_bounded() {
        let mut prepared = Prepared::default();
        for number in 0..MAXIMUM_STATEMENTS + 10 {
            prepared.parse(format!("s{number}").as_bytes());
        }
        prepared.parse(&[b'x'; NAME_LIMIT + 1]);
        assert_eq!(prepared.statements.len(), MAXIMUM_STATEMENTS);
    }

    #[test]
    fn deallocate_follows_the_rules_of_identifiers() {
        let mut prepared = Prepared::default();
        for name in [b"one".as_slice(), b"Two", b"three", b"four"] {
            prepared.parse(name);
        }
        prepared.follow(b" deallocate ONE;");
        prepared.follow(b"DEALLOCATE PREPARE \"Two\"");
        prepared.follow(b"DELETE FROM three");
        assert_eq!(prepared.statements.len(), 2);
        prepared.follow(b"DISCARD ALL");
        assert!(prepared.statements.is_empty());
    }

    #[test]
    fn a_portal_runs_first_and_then_fetches() {
        let mut prepared = Prepared::default();
        let statement = prepared.parse(b"s");
        assert_eq!(prepared.bind(b"p", b"s"), None);
        assert!(!prepared.execute(b"p").executed);
        let again = prepared.execute(b"p");
        assert!(again.executed);
        assert_eq!(again.statement, Some(statement));
    }

    #[test]
    fn a_statement_that_was_not_parsed_in_sight_is_one_statement_until_it_is_parsed() {
        let mut prepared = Prepared::default();
        let unseen = prepared.bind(b"", b"S_1");
        assert!(unseen.is_some());
        assert_eq!(prepared.execute(b"").statement, unseen);
        assert_eq!(prepared.bind(b"", b"S_1"), None);
        assert_eq!(prepared.execute(b"").statement, unseen);
        let unnamed = prepared.bind(b"", b"");
        assert!(unnamed.is_some_and(|id| Some(id) != unseen));
        let seen = prepared.parse(b"S_1");
        assert_eq!(prepared.bind(b"", b"S_1"), None);
        assert_eq!(prepared.execute(b"").statement, Some(seen));
    }
}
