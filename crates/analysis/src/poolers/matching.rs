//! Which exchange behind a pooler belongs to one in front of it.

use foldhash::HashMap;
use model::{ConnectionId, Endpoint, Exchange, Fingerprint, Protocol};
use std::collections::VecDeque;
use std::net::IpAddr;

/// Most exchanges behind poolers that are kept: of one fingerprint, and fingerprints. The oldest go first:
/// what none in front of the pooler took by then is the pooler's own.
const MAX_EXCHANGES_PER_FINGERPRINT: usize = 256;
const MAX_FINGERPRINTS: usize = 1_000;

/// Exchanges that may belong to one that ends later.
#[derive(Debug, Default)]
pub(super) struct Matcher {
    kept: HashMap<(IpAddr, Protocol, Fingerprint), VecDeque<Back>>,
}

/// An exchange that may be behind a pooler.
#[derive(Debug)]
pub(super) struct Back {
    pub(super) exchange: Exchange,
    pub(super) connection: ConnectionId,
    pub(super) server: Endpoint,
}

impl Matcher {
    /// Keeps an exchange of a client on `host`.
    pub(super) fn offer(&mut self, exchange: &Exchange, protocol: Protocol, host: IpAddr, server: Endpoint) {
        let Some(fingerprint) = &exchange.fingerprint else {
            return;
        };
        if self.kept.len() >= MAX_FINGERPRINTS {
            self.kept.retain(|_, backs| !backs.is_empty());
        }
        let key = (host, protocol, fingerprint.clone());
        if self.kept.len() >= MAX_FINGERPRINTS && !self.kept.contains_key(&key) {
            return;
        }
        let backs = self.kept.entry(key).or_default();
        if backs.len() >= MAX_EXCHANGES_PER_FINGERPRINT {
            backs.pop_front();
        }
        backs.push_back(Back {
            exchange: exchange.clone(),
            connection: exchange.connection,
            server,
        });
    }

    /// Takes the first exchange that lies within `front`, whose server is on `host`, of those with a server
    /// that `is_behind` it.
    pub(super) fn behind(
        &mut self,
        front: &Exchange,
        protocol: Protocol,
        host: IpAddr,
        is_behind: impl Fn(Endpoint) -> bool,
    ) -> Option<Back> {
        let key = (host, protocol, front.fingerprint.clone()?);
        let backs = self.kept.get_mut(&key)?;
        let fitting = backs.iter().enumerate().filter(|(_, back)| {
            back.connection != front.connection
                && is_behind(back.server)
                && lies_within(&back.exchange, front)
        });
        let (place, _) = fitting.min_by_key(|(_, back)| back.exchange.at)?;
        backs.remove(place)
    }
}

/// Whether an exchange may be what a server asked another one on behalf of `front`.
fn lies_within(back: &Exchange, front: &Exchange) -> bool {
    let digests = (front.asked.request_digest, back.asked.request_digest);
    back.at >= front.at
        && back.ended() <= front.ended()
        && back.executions == front.executions
        && back.rows == front.rows
        && back.error == front.error
        && !matches!(digests, (Some(front), Some(back)) if front != back)
}
