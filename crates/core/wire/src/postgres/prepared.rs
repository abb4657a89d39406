//! Names of prepared statements and portals.

use super::messages::NAME_LIMIT;
use model::StatementId;
use std::collections::{HashMap, HashSet};

/// Prepared statements and portals of one connection. Names beyond the limits are not stored: their
/// executions are of unknown statements.
#[derive(Debug, Default)]
pub(super) struct Prepared {
    issued: u32,
    unnamed_statement: Option<StatementId>,
    statements: HashMap<Box<[u8]>, Named>,
    unshaped: HashSet<StatementId>,
    unnamed_portal: Portal,
    portals: HashMap<Box<[u8]>, Portal>,
}

#[derive(Debug, Clone, Copy)]
struct Named {
    statement: StatementId,
    is_announced: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Announced {
    /// `Parse` was not seen.
    Unseen(StatementId),
    /// `Parse` was seen and assigned a name.
    Named(StatementId),
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Portal {
    pub(super) statement: Option<StatementId>,
    /// It ran already, so another run requests more of its rows.
    pub(super) executed: bool,
}

impl Prepared {
    pub(super) fn parse(&mut self, name: &[u8]) -> StatementId {
        let statement = StatementId(self.issued);
        self.issued = self.issued.wrapping_add(1);
        if name.is_empty() {
            self.unnamed_statement = Some(statement);
        } else {
            let named = Named {
                statement,
                is_announced: false,
            };
            if let Some(before) = self.statements.get(name) {
                self.unshaped.remove(&before.statement);
            }
            remember(&mut self.statements, MAXIMUM_STATEMENTS, name, named);
        }
        statement
    }

    pub(super) fn bind(&mut self, portal: &[u8], name: &[u8]) -> Option<Announced> {
        let (statement, announced) = self.statement(name);
        if let Some(Announced::Unseen(new) | Announced::Named(new)) = announced
            && self.unshaped.len() < MAXIMUM_STATEMENTS
        {
            self.unshaped.insert(new);
        }
        let bound = Portal {
            statement,
            executed: false,
        };
        if portal.is_empty() {
            self.unnamed_portal = bound;
        } else {
            remember(&mut self.portals, MAXIMUM_PORTALS, portal, bound);
        }
        announced
    }

    fn statement(&mut self, name: &[u8]) -> (Option<StatementId>, Option<Announced>) {
        if name.is_empty()
            && let Some(known) = self.unnamed_statement
        {
            return (Some(known), None);
        }
        if let Some(named) = self.statements.get_mut(name) {
            let known = named.statement;
            let is_first = !std::mem::replace(&mut named.is_announced, true);
            return (Some(known), is_first.then_some(Announced::Named(known)));
        }
        if name.len() > NAME_LIMIT || self.statements.len() >= MAXIMUM_STATEMENTS {
            return (None, None);
        }
        let unseen = self.parse(name);
        if let Some(named) = self.statements.get_mut(name) {
            named.is_announced = true;
        }
        (Some(unseen), Some(Announced::Unseen(unseen)))
    }

    pub(super) fn is_unshaped(&self, statement: StatementId) -> bool {
        self.unshaped.contains(&statement)
    }

    pub(super) fn shaped(&mut self, statement: StatementId) {
        self.unshaped.remove(&statement);
    }

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

    pub(super) fn close_statement(&mut self, name: &[u8]) {
        let closed = match name {
            b"" => self.unnamed_statement.take(),
            name => self.statements.remove(name).map(|named| named.statement),
        };
        if let Some(closed) = closed {
            self.unshaped.remove(&closed);
        }
    }

    fn close_named(&mut self) {
        self.statements.clear();
        self.unshaped.clear();
    }

    pub(super) fn close_portal(&mut self, name: &[u8]) {
        if name.is_empty() {
            self.unnamed_portal = Portal::default();
        } else {
            self.portals.remove(name);
        }
    }

    pub(super) fn close_portals(&mut self) {
        if !self.portals.is_empty() {
            self.portals.clear();
        }
    }

    /// Tracks statements that drop prepared ones: `DEALLOCATE [PREPARE] {name | ALL}` and `DISCARD
    /// ALL`.
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
                self.close_named();
            } else if let Some(quoted) = name.strip_prefix(b"\"").and_then(|name| name.strip_suffix(b"\"")) {
                self.close_statement(quoted);
            } else {
                self.close_statement(name.to_ascii_lowercase().as_slice());
            }
        } else if command.eq_ignore_ascii_case(b"DISCARD") && name.eq_ignore_ascii_case(b"ALL") {
            self.close_named();
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
        assert_eq!(prepared.bind(b"p", b"s"), Some(Announced::Named(statement)));
        assert_eq!(prepared.bind(b"p", b"s"), None);
        assert!(!prepared.execute(b"p").executed);
        let again = prepared.execute(b"p");
        assert!(again.executed);
        assert_eq!(again.statement, Some(statement));
    }

    #[test]
    fn a_statement_that_was_not_parsed_in_sight_is_one_statement_until_it_is_parsed() {
        let mut prepared = Prepared::default();
        let Some(Announced::Unseen(unseen)) = prepared.bind(b"", b"S_1") else {
            panic!("it was not parsed");
        };
        assert_eq!(prepared.execute(b"").statement, Some(unseen));
        assert_eq!(prepared.bind(b"", b"S_1"), None);
        assert_eq!(prepared.execute(b"").statement, Some(unseen));
        assert!(matches!(prepared.bind(b"", b""), Some(Announced::Unseen(id)) if id != unseen));
        let seen = prepared.parse(b"S_1");
        assert_eq!(prepared.bind(b"", b"S_1"), Some(Announced::Named(seen)));
        assert_eq!(prepared.execute(b"").statement, Some(seen));
    }

    #[test]
    fn columns_are_wanted_once_for_each_statement() {
        let mut prepared = Prepared::default();
        let statement = prepared.parse(b"s");
        assert!(!prepared.is_unshaped(statement), "nobody has used it");
        prepared.bind(b"", b"s");
        assert!(prepared.is_unshaped(statement));
        prepared.shaped(statement);
        prepared.bind(b"", b"s");
        assert!(!prepared.is_unshaped(statement));
        prepared.bind(b"", b"t");
        prepared.follow(b"DEALLOCATE ALL");
        assert!(prepared.unshaped.is_empty());
    }
}
