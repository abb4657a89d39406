//! A connection made, and logged in, repeatedly.
//!
//! A connection counts when an earlier one of the same client host to the same server had been closed before it was opened, and it
//! did little ([`MOST_WORK`]). Connections that were refused, themselves or before, do not count. Saved are all its turns of connect, tls and login: a pool keeps connections.

use super::ledger::Waste;
use super::look::Look;
use model::{ConnectionId, FindingKind, Phase, Protocol};

/// Turns of work that justify a connection of their own.
const MOST_WORK: u64 = 50;

pub(super) fn look(look: &mut Look<'_>) {
    let mut made: Vec<Made> = Vec::new();
    // Mostly the next step is on the same connection.
    let mut last: Option<(ConnectionId, bool)> = None;
    let steps = look
        .operation
        .steps
        .iter()
        .filter(|step| step.protocol.is_database());
    for step in steps {
        let exchange = &step.exchange;
        let is_reopened = match last {
            Some((connection, is_reopened)) if connection == exchange.connection => is_reopened,
            _ => look.clients.is_reopened(exchange.connection),
        };
        last = Some((exchange.connection, is_reopened));
        if !is_reopened {
            continue;
        }
        let place = made
            .iter()
            .rposition(|made| made.connection == exchange.connection);
        match (place, exchange.phase) {
            (Some(place), Phase::Work) => made[place].work += u64::from(exchange.turns),
            (Some(place), Phase::Connect | Phase::Tls | Phase::Login) => {
                made[place].setup += u64::from(exchange.turns);
                made[place].is_refused |= exchange.error.is_some();
            }
            (None, Phase::Connect | Phase::Tls | Phase::Login) if made.len() < MOST_MADE => made.push(Made {
                connection: exchange.connection,
                protocol: step.protocol,
                setup: u64::from(exchange.turns),
                work: 0,
                is_refused: exchange.error.is_some(),
            }),
            _ => {}
        }
    }
    for made in made
        .iter()
        .filter(|made| made.work <= MOST_WORK && !made.is_refused)
    {
        look.note(Waste {
            count: 1,
            turns: made.setup,
            saves_turns: made.setup,
            ..Waste::of(FindingKind::Reconnect, made.connection, made.protocol)
        });
    }
}

/// A connection that was made in the operation.
struct Made {
    connection: ConnectionId,
    protocol: Protocol,
    setup: u64,
    work: u64,
    /// The server refused the login: a pool would have nothing to keep.
    is_refused: bool,
}

/// Connections of one operation that are examined.
const MOST_MADE: usize = 256;
