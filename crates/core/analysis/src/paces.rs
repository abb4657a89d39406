//! Call rates of operations and statements on another link, if each client pauses between
//! operations as it does here.
//!
//! A client is a connection, continued by the next one that opens after it has ended. Each client's
//! own operations determine how much longer its cycle takes elsewhere: clients that only fetch
//! pages slow down with pages only.

use model::{ConnectionId, Operation, Prediction, Timestamp};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

/// Calls elsewhere per call here. Misleads if the connections belong to a pool that mostly rests
/// (calls stay equal), or if the application opens more connections when operations take longer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Paces {
    operations: HashMap<Arc<str>, f64>,
    statements: HashMap<Arc<str>, f64>,
    all: Option<f64>,
}

#[derive(Debug, Default)]
struct Client<'a> {
    began: Timestamp,
    ended: Timestamp,
    operations: HashMap<&'a Arc<str>, u64>,
    statements: HashMap<&'a Arc<str>, u64>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Calls {
    here: f64,
    there: f64,
}

impl Paces {
    /// `operations` in any order, with predictions by name.
    pub fn from_operations<'a>(
        operations: impl Iterator<Item = &'a Operation> + Clone,
        predictions: &'a [Prediction],
    ) -> Self {
        let longer = longer(operations.clone(), predictions);
        let clients = clients(connections(operations));
        let end = clients
            .iter()
            .map(|client| client.ended)
            .max()
            .unwrap_or_default();
        let (mut all, mut by_operation, mut by_statement) =
            (Calls::default(), HashMap::new(), HashMap::new());
        for client in &clients {
            let Some(pace) = client.pace(end, &longer) else {
                continue;
            };
            for (name, count) in &client.operations {
                all.add(*count, pace);
                count_in(&mut by_operation, name, *count, pace);
            }
            for (name, count) in &client.statements {
                count_in(&mut by_statement, name, *count, pace);
            }
        }
        Self {
            operations: shares(by_operation),
            statements: shares(by_statement),
            all: all.share(),
        }
    }

    /// `None` if no operation of this name was replayed.
    pub fn operation(&self, name: &str) -> Option<f64> {
        self.operations.get(name).copied()
    }

    pub fn statement(&self, fingerprint: &str) -> Option<f64> {
        self.statements.get(fingerprint).copied()
    }

    pub fn all(&self) -> Option<f64> {
        self.all
    }
}

impl Client<'_> {
    /// Operations elsewhere per operation here. A client does one at a time, so a cycle is no
    /// shorter than its operations.
    fn pace(&self, end: Timestamp, longer: &HashMap<&str, (f64, f64)>) -> Option<f64> {
        let (mut here, mut there) = (0.0, 0.0);
        for (name, count) in &self.operations {
            let (one_here, one_there) = longer.get(&***name)?;
            here += one_here * *count as f64;
            there += one_there * *count as f64;
        }
        let span = end.since(self.began).as_secs_f64();
        let span_there = (span + there - here).max(there);
        (span_there > 0.0).then(|| span / span_there)
    }

    fn extend(&mut self, next: Self) {
        self.ended = self.ended.max(next.ended);
        for (name, count) in next.operations {
            *self.operations.entry(name).or_default() += count;
        }
        for (name, count) in next.statements {
            *self.statements.entry(name).or_default() += count;
        }
    }
}

impl Calls {
    fn add(&mut self, count: u64, pace: f64) {
        self.here += count as f64;
        self.there += count as f64 * pace;
    }

    fn share(self) -> Option<f64> {
        (self.here > 0.0).then(|| self.there / self.here)
    }
}

fn count_in(of: &mut HashMap<Arc<str>, Calls>, name: &Arc<str>, count: u64, pace: f64) {
    match of.get_mut(name) {
        Some(calls) => calls.add(count, pace),
        None => of.entry(Arc::clone(name)).or_default().add(count, pace),
    }
}

fn shares(of: HashMap<Arc<str>, Calls>) -> HashMap<Arc<str>, f64> {
    let shares = of
        .into_iter()
        .filter_map(|(name, calls)| Some((name, calls.share()?)));
    shares.collect()
}

/// Mean seconds of an operation of each name, here and there.
fn longer<'a>(
    operations: impl Iterator<Item = &'a Operation>,
    predictions: &'a [Prediction],
) -> HashMap<&'a str, (f64, f64)> {
    let mut here: HashMap<&str, (Duration, u64)> = HashMap::new();
    for operation in operations.filter(|operation| !operation.continues) {
        let (sum, count) = here.entry(&operation.name).or_default();
        *sum += operation.duration;
        *count += 1;
    }
    let both = predictions.iter().filter_map(|prediction| {
        let name = &*prediction.operation_name;
        let (sum, count) = here.get(name)?;
        let there = prediction.attribution.total().as_secs_f64() / prediction.operations.max(1) as f64;
        Some((name, (sum.as_secs_f64() / *count as f64, there)))
    });
    both.collect()
}

/// Operations count for the connection of their first exchange.
fn connections<'a>(operations: impl Iterator<Item = &'a Operation>) -> Vec<Client<'a>> {
    let mut connections: HashMap<ConnectionId, Client<'a>> = HashMap::new();
    for operation in operations.filter(|operation| !operation.continues) {
        let Some(first) = operation.steps.first() else {
            continue;
        };
        let ended = operation.at.after(operation.duration);
        let client = connections
            .entry(first.exchange.connection)
            .or_insert_with(|| Client {
                began: operation.at,
                ..Client::default()
            });
        client.began = client.began.min(operation.at);
        client.ended = client.ended.max(ended);
        *client.operations.entry(&operation.name).or_default() += 1;
        let statements = operation
            .steps
            .iter()
            .filter_map(|step| step.exchange.fingerprint.as_ref());
        for statement in statements {
            *client.statements.entry(statement).or_default() += 1;
        }
    }
    connections.into_values().collect()
}

/// Joins connections into clients: each new one continues the last to end before it.
fn clients(mut connections: Vec<Client<'_>>) -> Vec<Client<'_>> {
    connections.sort_by_key(|connection| connection.began);
    let mut clients: Vec<Client<'_>> = Vec::new();
    let mut free: BTreeSet<(Timestamp, usize)> = BTreeSet::new();
    for connection in connections {
        let before = free.range(..=(connection.began, usize::MAX)).next_back().copied();
        let place = match before {
            Some(before) => {
                free.remove(&before);
                before.1
            }
            None => clients.len(),
        };
        free.insert((connection.ended, place));
        match clients.get_mut(place) {
            Some(client) => client.extend(connection),
            None => clients.push(connection),
        }
    }
    clients
}

#[cfg(test)]
mod tests;
