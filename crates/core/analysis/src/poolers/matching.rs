//! Matches exchanges behind a pooler with those in front.

use foldhash::HashMap;
use model::{ConnectionId, Endpoint, Exchange, Fingerprint, Protocol};
use std::collections::VecDeque;
use std::net::IpAddr;

/// Limits of stored back exchanges: per fingerprint, and of fingerprints. The oldest are dropped
/// first: without a front exchange by then, they are the pooler's own.
const MAX_EXCHANGES_PER_FINGERPRINT: usize = 256;
const MAX_FINGERPRINTS: usize = 1_000;

#[derive(Debug, Default)]
pub(super) struct Matcher {
    kept: HashMap<(IpAddr, Protocol, Fingerprint), VecDeque<Back>>,
}

#[derive(Debug)]
pub(super) struct Back {
    pub(super) exchange: Exchange,
    pub(super) connection: ConnectionId,
    pub(super) server: Endpoint,
}

impl Matcher {
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

    /// Removes the first exchange within `front`, of those with a server that `is_behind` `front`'s
    /// on `host`.
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

fn lies_within(back: &Exchange, front: &Exchange) -> bool {
    let digests = (front.asked.request_digest, back.asked.request_digest);
    back.at >= front.at
        && back.ended() <= front.ended()
        && back.executions == front.executions
        && back.rows == front.rows
        && back.error == front.error
        && !matches!(digests, (Some(front), Some(back)) if front != back)
}
