use crate::file::Estate;
use crate::placement::Placement;
use model::{ConnectionId, ConnectionOutcome, Endpoint, Side, Timestamp};
use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::time::Duration;

/// Assigns observed connections to services. Keeps one number per connection between services, and
/// the first [`MAX_UNKNOWN_ADDRESSES`] unknown addresses.
#[derive(Debug, Default)]
pub struct EstateTraffic {
    /// Client and server of each pair.
    pub pairs: Vec<[usize; 2]>,
    /// Bytes per pair, both directions.
    bytes: Vec<u64>,
    of_connection: HashMap<ConnectionId, usize>,
    first: Option<Timestamp>,
    last: Option<Timestamp>,
    /// Addresses of no service.
    pub unknown: BTreeSet<IpAddr>,
    /// Whether some bytes exclude headers, because packets were not seen.
    pub payload_only: bool,
}

impl EstateTraffic {
    pub fn opened(&mut self, estate: &Estate, connection: ConnectionId, client: Endpoint, server: Endpoint) {
        let services = [
            estate.service_of(client, Side::Client),
            estate.service_of(server, Side::Server),
        ];
        if let [Some(client), Some(server)] = services {
            if client != server {
                let pair = self.pair([client, server]);
                self.of_connection.insert(connection, pair);
            }
            return;
        }
        for (service, endpoint) in services.iter().zip([client, server]) {
            if service.is_none() && self.unknown.len() < MAX_UNKNOWN_ADDRESSES {
                self.unknown.insert(endpoint.address);
            }
        }
    }

    /// Ends a connection, or its observation.
    pub fn closed(&mut self, outcome: &ConnectionOutcome) {
        let end = outcome.at.after(outcome.duration);
        self.first = Some(self.first.map_or(outcome.at, |first| first.min(outcome.at)));
        self.last = Some(self.last.map_or(end, |last| last.max(end)));
        if let Some(pair) = self.of_connection.get(&outcome.id) {
            let totals = &outcome.totals;
            self.payload_only |= totals.wire_bytes.is_none();
            let [sent, received] = totals.wire_bytes.unwrap_or(totals.payload_bytes).into_array();
            self.bytes[*pair] += sent.saturating_add(received);
        }
    }

    pub fn pair_of(&self, connection: ConnectionId) -> Option<usize> {
        self.of_connection.get(&connection).copied()
    }

    /// From the first packet to the last.
    pub fn observed(&self) -> Duration {
        match (self.first, self.last) {
            (Some(first), Some(last)) => last.since(first),
            _ => Duration::ZERO,
        }
    }

    /// Monthly gigabytes between places in `placement`, and the total cost of traffic and services.
    pub fn month(&self, estate: &Estate, placement: &Placement) -> (f64, f64) {
        let observed = estate.observed.unwrap_or_else(|| self.observed());
        let seconds = observed.as_secs_f64().max(1.0);
        let times = estate.hours * 3600.0 / seconds;
        let (mut gigabytes, mut price) = (0.0, placement.services_price(estate));
        for ([client, server], bytes) in self.pairs.iter().zip(&self.bytes) {
            let places = [placement.0[*client], placement.0[*server]];
            if places[0] != places[1] {
                let amount = *bytes as f64 / 1e9 * times;
                gigabytes += amount;
                price += amount * estate.between(places).map_or(0.0, |(_, price)| price);
            }
        }
        (gigabytes, price)
    }

    fn pair(&mut self, pair: [usize; 2]) -> usize {
        let known = self.pairs.iter().position(|known| *known == pair);
        known.unwrap_or_else(|| {
            self.pairs.push(pair);
            self.bytes.push(0);
            self.pairs.len() - 1
        })
    }
}

pub const MAX_UNKNOWN_ADDRESSES: usize = 20;
