//! Statements that connections prepared in earlier operations.

use foldhash::{HashMap, HashSet};
use model::{ConnectionId, Exchange, RequestId};

#[derive(Debug, Default)]
pub(super) struct Preparations {
    clients: HashMap<ConnectionId, Keeping>,
    statements: HashMap<(ConnectionId, u32), Preparation>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Keeping {
    prepared: u64,
    closed: u64,
    has_rerun: bool,
}

#[derive(Debug, Clone, Copy)]
struct Preparation {
    request: Option<RequestId>,
    has_run: bool,
}

/// From this many open prepared statements, the client counts as keeping them.
pub(super) const MIN_OPEN_STATEMENTS: u64 = 3;

pub(super) const MAX_PREPARATIONS: usize = 65_536;

impl Preparations {
    pub(super) fn close(&mut self, exchange: &Exchange) {
        if let Some(keeping) = self.clients.get_mut(&exchange.connection) {
            keeping.closed += u64::from(exchange.asked.closes);
        }
    }

    /// `code` is that of the statement's text.
    pub(super) fn is_defeated(&mut self, code: u32, exchange: &Exchange, has_own_turn: bool) -> bool {
        let asked = &exchange.asked;
        if asked.prepares + asked.prepared_executions == 0 {
            return false;
        }
        let key = (exchange.connection, code);
        let is_known = self.statements.contains_key(&key) && self.clients.contains_key(&key.0);
        if !is_known && self.clients.len().max(self.statements.len()) >= MAX_PREPARATIONS {
            return false;
        }
        let keeping = self.clients.entry(key.0).or_default();
        if asked.prepares == 0 {
            if let Some(known) = self.statements.get_mut(&key) {
                keeping.has_rerun |= known.has_run;
                known.has_run = true;
            }
            return false;
        }
        keeping.prepared += u64::from(asked.prepares);
        let request = exchange.tags.as_ref().and_then(|tags| tags.request);
        let now = Preparation {
            request,
            has_run: exchange.executions > 0,
        };
        let before = self.statements.insert(key, now).and_then(|before| before.request);
        let differs = before.zip(request).is_some_and(|(before, now)| before != now);
        differs && keeping.keeps(has_own_turn)
    }
}

impl Keeping {
    /// An unnamed statement is prepared with each run and never closed: only a re-run proves that
    /// it is kept.
    fn keeps(self, has_own_turn: bool) -> bool {
        let leaves_open = self.prepared >= self.closed + MIN_OPEN_STATEMENTS;
        self.has_rerun || (has_own_turn && leaves_open)
    }
}

#[derive(Debug, Default)]
pub(super) struct PreparedBefore(HashSet<(ConnectionId, u32)>);

pub(super) const MAX_PREPARED: usize = 65_536;

impl PreparedBefore {
    pub(super) fn again(&mut self, connection: ConnectionId, code: u32) -> bool {
        let key = (connection, code);
        if self.0.len() >= MAX_PREPARED {
            return self.0.contains(&key);
        }
        !self.0.insert(key)
    }
}
