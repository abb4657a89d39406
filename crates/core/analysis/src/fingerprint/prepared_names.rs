//! Names of prepared statements: matches those prepared before the capture, and finds their texts
//! by later preparations.
//!
//! 1. Statements of one name are equal unless the numbers of parameters or result columns contradict.
//! 2. A statement has the text that its name gets later on the same connection, if the shapes agree and no
//!    other text matches.
//! 3. A name chosen by the program, or derived from the text, means the same on every connection. A driver's
//!    counter (`S_1`, `17`) does not: rule 2 then applies only to its own connection.

use foldhash::HashMap;
use model::{
    ConnectionId, Fingerprint, RecognisedStatement, TextSource, unseen_fingerprint,
    unseen_fingerprint_with_shape,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StatementShape {
    pub parameters: Option<u16>,
    /// Columns of the result; 0 for a write that returns none.
    pub columns: Option<u16>,
}

impl StatementShape {
    fn agrees(self, other: Self) -> bool {
        let agree = |one: Option<u16>, other: Option<u16>| one.is_none() || other.is_none() || one == other;
        agree(self.parameters, other.parameters) && agree(self.columns, other.columns)
    }

    fn add(&mut self, other: Self) {
        self.parameters = self.parameters.or(other.parameters);
        self.columns = self.columns.or(other.columns);
    }
}

/// Bounded by [`MAXIMUM_STATEMENTS`] and [`MAXIMUM_CONNECTIONS`] for each.
#[derive(Debug, Default)]
pub(super) struct PreparedNames {
    names: HashMap<Box<[u8]>, Vec<Statement>>,
    count: usize,
    recorded: Vec<RecognisedStatement>,
}

#[derive(Debug)]
struct Statement {
    shape: StatementShape,
    fingerprint: Fingerprint,
    is_seen: bool,
    connections: Vec<ConnectionId>,
}

impl PreparedNames {
    /// Placeholder for an unseen preparation. Called again when more of the shape is known.
    pub(super) fn unseen(
        &mut self,
        connection: ConnectionId,
        name: &[u8],
        shape: StatementShape,
    ) -> Fingerprint {
        let plain = unseen_fingerprint(name, shape.parameters);
        let known = self.names.get_mut(name).map_or(&mut [][..], |known| known);
        let place = place_of(known, connection, |known| {
            !known.is_seen && known.shape.agrees(shape)
        });
        for (other, statement) in known.iter_mut().enumerate().filter(|(_, known)| !known.is_seen) {
            if Some(other) != place && shape.columns.is_some() {
                statement.connections.retain(|known| *known != connection);
            }
        }
        if let Some(statement) = place.and_then(|place| known.get_mut(place)) {
            statement.add(connection, shape);
            return statement.fingerprint.clone();
        }
        let is_taken = known.iter().any(|known| *known.fingerprint == *plain);
        let label = match is_taken {
            true => unseen_fingerprint_with_shape(name, shape.parameters, shape.columns),
            false => plain,
        };
        self.insert(connection, name, shape, label.into(), false)
    }

    /// Records a seen preparation. Called again when more of the shape is known.
    pub(super) fn seen(
        &mut self,
        connection: ConnectionId,
        name: &[u8],
        shape: StatementShape,
        fingerprint: &Fingerprint,
    ) {
        let known = self.names.get_mut(name).map_or(&mut [][..], |known| known);
        let same = known
            .iter_mut()
            .find(|known| known.is_seen && known.fingerprint == *fingerprint && known.shape.agrees(shape));
        match same {
            Some(statement) => statement.add(connection, shape),
            None => {
                self.insert(connection, name, shape, fingerprint.clone(), true);
            }
        }
    }

    fn insert(
        &mut self,
        connection: ConnectionId,
        name: &[u8],
        shape: StatementShape,
        fingerprint: Fingerprint,
        is_seen: bool,
    ) -> Fingerprint {
        if self.count < MAXIMUM_STATEMENTS {
            self.count += 1;
            let of_name = self.names.entry(name.into()).or_default();
            of_name.push(Statement {
                shape,
                fingerprint: fingerprint.clone(),
                is_seen,
                connections: vec![connection],
            });
        }
        fingerprint
    }

    pub(super) fn recognise(&mut self, found: RecognisedStatement) {
        if self.recorded.len() < MAXIMUM_STATEMENTS {
            self.recorded.push(found);
        }
    }

    pub(super) fn recognised(&self) -> Vec<RecognisedStatement> {
        let mut found: Vec<_> = self
            .names
            .iter()
            .flat_map(|(name, statements)| {
                let unseen = statements.iter().filter(|statement| !statement.is_seen);
                unseen.filter_map(|unseen| recognise(name, unseen, statements))
            })
            .chain(self.recorded.iter().cloned())
            .collect();
        found.sort_by(|one, other| one.unseen.cmp(&other.unseen));
        found
    }
}

impl Statement {
    fn add(&mut self, connection: ConnectionId, shape: StatementShape) {
        self.shape.add(shape);
        if !self.connections.contains(&connection) && self.connections.len() <= MAXIMUM_CONNECTIONS {
            self.connections.push(connection);
        }
    }

    fn is_on_connections_of(&self, seen: &Self) -> bool {
        self.connections.len() <= MAXIMUM_CONNECTIONS
            && self
                .connections
                .iter()
                .all(|connection| seen.connections.contains(connection))
    }
}

fn place_of(
    known: &[Statement],
    connection: ConnectionId,
    fits: impl Fn(&Statement) -> bool,
) -> Option<usize> {
    let of_connection = |known: &Statement| known.connections.contains(&connection);
    known
        .iter()
        .position(|known| fits(known) && of_connection(known))
        .or_else(|| known.iter().position(fits))
}

/// The text of `unseen` if exactly one text seen under its name matches.
fn recognise(name: &[u8], unseen: &Statement, all: &[Statement]) -> Option<RecognisedStatement> {
    let mut candidates = all
        .iter()
        .filter(|seen| seen.is_seen && seen.shape.agrees(unseen.shape));
    let text = candidates.next()?;
    let is_only = candidates.all(|other| other.fingerprint == text.fingerprint);
    let same_connection = unseen.is_on_connections_of(text);
    let is_known = is_only && (same_connection || !is_counted(name));
    is_known.then(|| RecognisedStatement {
        unseen: unseen.fingerprint.clone(),
        text: text.fingerprint.clone(),
        source: match same_connection {
            true => TextSource::SameConnection,
            false => TextSource::AnotherConnection,
        },
    })
}

/// Whether a driver counts the name up per connection: it ends in a number too short for a digest.
/// Numbers of PgBouncer and PgCat are equal on all their connections.
fn is_counted(name: &[u8]) -> bool {
    if OF_POOLERS.iter().any(|prefix| name.starts_with(prefix)) {
        return false;
    }
    let name = name.trim_ascii_end();
    let name = name.strip_suffix(b"__").unwrap_or(name);
    let digits = name
        .iter()
        .rev()
        .take_while(|byte| byte.is_ascii_hexdigit())
        .count();
    let ends_in_digit = name.last().is_none_or(u8::is_ascii_digit);
    name.is_empty() || name.starts_with(ASYNCPG) || (ends_in_digit && digits < LENGTH_OF_DIGEST)
}

/// Prefixes of names that a pooler uses on all connections.
const OF_POOLERS: [&[u8]; 2] = [b"PGBOUNCER_", b"PGCAT_"];

/// asyncpg counts in hexadecimal digits.
const ASYNCPG: &[u8] = b"__asyncpg_stmt_";

/// Minimum hexadecimal digits of a digest: pgx has 48, others at least 16.
const LENGTH_OF_DIGEST: usize = 16;

const MAXIMUM_STATEMENTS: usize = 20_000;

/// A statement with more connections matches none of them.
const MAXIMUM_CONNECTIONS: usize = 64;

#[cfg(test)]
mod tests;
