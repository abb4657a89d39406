//! Whether requests of one HTTP connection query on the same database connection: a process serves
//! an HTTP connection as long as it is kept, with a database connection of its own.
//!
//! Each request is compared with the others of its HTTP connection: the share on the same database
//! connection, beyond chance. With rotating connections, or an HTTP connection per request, the
//! share is zero, which is no proof.

use foldhash::HashMap;
use std::collections::{BTreeMap, VecDeque};

#[derive(Debug, Clone, Default)]
struct Counts {
    of_pair: HashMap<(u32, u32), f64>,
    of_asker: HashMap<u32, f64>,
    of_connection: HashMap<u32, f64>,
    all: f64,
}

impl Counts {
    fn add(&mut self, asker: u32, connection: u32, weight: f64) {
        *self.of_pair.entry((asker, connection)).or_default() += weight;
        *self.of_asker.entry(asker).or_default() += weight;
        *self.of_connection.entry(connection).or_default() += weight;
        self.all += weight;
    }

    fn halve(&mut self) {
        let counts = self.of_pair.values_mut().chain(self.of_asker.values_mut());
        counts
            .chain(self.of_connection.values_mut())
            .for_each(|count| *count /= 2.0);
        self.all /= 2.0;
    }
}

fn get<K: Eq + std::hash::Hash>(counts: &HashMap<K, f64>, key: &K) -> f64 {
    counts.get(key).copied().unwrap_or(0.0)
}

#[derive(Debug, Default)]
pub(super) struct Affinity {
    known: Counts,
    current: Counts,
    /// The HTTP connection, and the database connection of the last query, by index.
    requests: BTreeMap<u32, (u32, u32)>,
    /// Of the last comparable decided requests: probability of following the others of the HTTP
    /// connection, relative to any.
    compared: VecDeque<f64>,
    /// Probability that a request follows the others of its HTTP connection.
    follows: f64,
}

impl Affinity {
    pub(super) fn forget_current(&mut self) {
        self.current = Counts::default();
        self.requests.clear();
    }

    /// `asker` is the HTTP connection, `connection` the one queried last.
    pub(super) fn observe(&mut self, request: u32, asker: u32, connection: u32) {
        self.current.add(asker, connection, 1.0);
        self.requests.insert(request, (asker, connection));
    }

    pub(super) fn keep_current(&mut self) {
        self.refresh();
        self.compared.extend(self.ratios());
        let old = self.compared.len().saturating_sub(MAX_COMPARED);
        self.compared.drain(..old);
        if self.known.all > MAX_KNOWN {
            self.known.halve();
        }
        if self.known.of_pair.len() > MAX_PAIRS {
            self.known = Counts::default();
        }
        for (asker, connection) in std::mem::take(&mut self.requests).into_values() {
            self.known.add(asker, connection, 1.0);
        }
        self.current = Counts::default();
    }

    pub(super) fn refresh(&mut self) {
        let current = self.ratios();
        let all = || self.compared.iter().chain(&current);
        let mut follows = 0.5;
        for _ in 0..ROUNDS {
            let likely = |ratio: &f64| follows * ratio / (follows * ratio + 1.0 - follows);
            follows = all().map(likely).sum::<f64>() / (all().count() as f64 + DOUBT);
        }
        self.follows = match follows {
            most if most > NEARLY_ALL => ALL,
            few if few < MAX_ROTATING_SHARE => 0.0,
            many => many,
        };
    }

    /// Per comparable request being decided: share of its HTTP connection's others on the same
    /// database connection, relative to all.
    fn ratios(&self) -> Vec<f64> {
        let of = |(request, &(asker, connection)): (&u32, &(u32, u32))| {
            let (usual, any) = self.shares(*request, asker, connection)?;
            Some(usual / any)
        };
        self.requests.iter().filter_map(of).collect()
    }

    pub(super) fn is_kept(&self, asker: u32, connection: u32) -> bool {
        let count = |counts: &HashMap<u32, f64>| get(counts, &asker);
        let of_asker = count(&self.known.of_asker) + count(&self.current.of_asker);
        let pair = (asker, connection);
        let of_pair = get(&self.known.of_pair, &pair) + get(&self.current.of_pair, &pair);
        self.follows >= ALL && of_asker >= MIN_KEPT && of_pair > KEPT * of_asker
    }

    /// Cost of `connection` as a request's last; negative if others of its HTTP connection use it.
    pub(super) fn cost(&self, request: u32, asker: u32, connection: u32) -> f64 {
        self.shares(request, asker, connection)
            .map_or(0.0, |(usual, any)| {
                -(self.follows * usual / any + 1.0 - self.follows).ln()
            })
    }

    /// Shares of other requests on `connection`: of the same HTTP connection, and of all; `None`
    /// without any.
    fn shares(&self, request: u32, asker: u32, connection: u32) -> Option<(f64, f64)> {
        let own = self.requests.get(&request).copied();
        let without = |is_own: bool| f64::from(u8::from(own.is_some() && is_own));
        let [known, current] = [&self.known, &self.current];
        let of_asker = get(&known.of_asker, &asker) + get(&current.of_asker, &asker) - without(true);
        if of_asker < MIN_OTHER_REQUESTS {
            return None;
        }
        let of_connection = get(&known.of_connection, &connection) + get(&current.of_connection, &connection);
        let any = (of_connection + SMOOTHING) / (known.all + current.all + 2.0 * SMOOTHING);
        let pair = (asker, connection);
        let of_pair = get(&known.of_pair, &pair) + get(&current.of_pair, &pair) - without(own == Some(pair));
        Some(((of_pair + SMOOTHING * any) / (of_asker + SMOOTHING), any))
    }
}

const ROUNDS: usize = 10;
const DOUBT: f64 = 2.0;
const SMOOTHING: f64 = 0.5;
/// Minimum of other requests on the HTTP connection for evidence.
const MIN_OTHER_REQUESTS: f64 = 1.0;
/// Up to this share, connections rotate and repetitions are chance.
const MAX_ROTATING_SHARE: f64 = 0.5;
/// Above this share, exceptions count as errors of the assignment.
const NEARLY_ALL: f64 = 0.9;
const ALL: f64 = 0.999;
const MAX_COMPARED: usize = 300;
/// Minimum requests, and share of them, for a connection to count as kept.
const MIN_KEPT: f64 = 4.0;
const KEPT: f64 = 0.7;
/// From this many requests on, older ones count half.
const MAX_KNOWN: f64 = 4_000.0;
/// They take about 2 MB.
const MAX_PAIRS: usize = 50_000;

#[cfg(test)]
mod tests {
    use super::*;

    /// Costs of the first and of another database connection for the first HTTP connection, after
    /// 80 requests of four HTTP connections distributed by `asked`.
    fn costs(asked: impl Fn(u32) -> u32) -> [f64; 2] {
        let mut affinity = Affinity::default();
        (0..80).for_each(|request| affinity.observe(request, request % 4, asked(request)));
        affinity.refresh();
        [0, 1].map(|connection| affinity.cost(80, 0, connection))
    }

    #[test]
    fn what_is_kept_is_told_from_what_is_not() {
        // One in 21 is an error.
        let [own, other] = costs(|request| (request + u32::from(request % 21 == 0)) % 4);
        assert!(own < -1.0 && other > 1.0, "{own} {other}");
    }

    #[test]
    fn nothing_follows_where_connections_rotate() {
        let costs = costs(|request| (request + request / 4) % 4);
        assert!(costs.iter().all(|cost| cost.abs() < 0.1), "{costs:?}");
    }

    #[test]
    fn nothing_follows_of_an_http_connection_with_one_request() {
        let mut affinity = Affinity::default();
        (0..80).for_each(|request| affinity.observe(request, request, request % 4));
        affinity.refresh();
        assert_eq!(affinity.cost(80, 80, 1), 0.0);
        assert_eq!(affinity.cost(79, 79, 3), 0.0);
    }
}
