//! Evidence about a client of databases.

use super::closeness::{Span, Spans};
use super::server::{Near, Server};
use model::{Exchange, Timestamp};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

#[derive(Debug, Default)]
pub(super) struct Client {
    pub near: Near,
    pub identified: u64,
    pub statements: Asked,
    pub undecoded: Asked,
}

#[derive(Debug, Default)]
pub(super) struct Asked {
    pub by: BTreeMap<IpAddr, Explained>,
    pub spans: Spans,
    /// Number of spans at which responses are compared again.
    pub next_look: u64,
}

#[derive(Debug, Default)]
pub(super) struct Explained {
    pub inside: u64,
    /// Statements before the server was first seen count neither as inside nor outside.
    pub outside: u64,
    /// Busy times with a statement inside.
    pub busy_times: u64,
    pub last_busy_time: Option<u64>,
    pub last_ended: Option<Timestamp>,
    /// Shortest gap between a busy time's last statement and the next one's first.
    pub quiet: Option<Duration>,
    pub identified: u64,
}

impl Client {
    pub fn asked(&self, kind: Kind) -> &Asked {
        match kind {
            Kind::Statements => &self.statements,
            Kind::Undecoded => &self.undecoded,
        }
    }

    pub fn asked_mut(&mut self, kind: Kind) -> &mut Asked {
        match kind {
            Kind::Statements => &mut self.statements,
            Kind::Undecoded => &mut self.undecoded,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Statements,
    Undecoded,
}

impl Kind {
    pub const ALL: [Self; 2] = [Self::Statements, Self::Undecoded];

    pub fn name(self) -> &'static str {
        match self {
            Self::Statements => "statements",
            Self::Undecoded => "exchanges, which are encrypted or not decoded,",
        }
    }
}

impl Asked {
    pub fn add(&mut self, exchange: &Exchange) {
        self.spans.add(Span {
            from: exchange.at,
            to: exchange.ended(),
        });
    }

    /// Adds an exchange that may be reported long after its end, during unrelated requests.
    pub fn add_late(&mut self, exchange: &Exchange, servers: &BTreeMap<IpAddr, Server>) {
        for (&address, server) in servers.iter().filter(|(_, server)| server.since <= exchange.at) {
            let explained = self.by.entry(address).or_default();
            match server.was_busy(exchange.at) {
                true => explained.inside += 1,
                false => explained.outside += 1,
            }
            explained.last_ended = explained.last_ended.max(Some(exchange.ended()));
        }
        self.add(exchange);
    }

    /// Whether its rate during a server's requests is no higher than at other times, if there are
    /// any.
    pub fn is_as_busy_without(&self, address: IpAddr, server: &Server) -> bool {
        let Some(explained) = self.by.get(&address) else {
            return true;
        };
        let busy = explained.last_ended.map_or(1.0, |now| server.share_busy(now));
        let (inside, outside) = (explained.inside as f64, explained.outside as f64);
        1.0 - busy >= MIN_IDLE && inside * (1.0 - busy) <= outside * busy
    }
}

/// Minimum share of time without a request that shows the client's other activity.
const MIN_IDLE: f64 = 0.1;
