//! Measured rests of clients and servers.

use super::{After, OperationPlan, nanos};
use foldhash::HashMap;
use model::{ConnectionId, Exchange, Nanos, Operation, Phase, Step, Timestamp};
use std::time::Duration;

/// Sets the measured rests of clients and servers, as far as the operation shows them. The first on
/// a connection is assumed not to have rested, as if operations followed each other.
pub(super) fn set_rests(plan: &mut OperationPlan, operation: &Operation) {
    let parts = operation.steps.iter().flat_map(|step| step.exchange.steps());
    let mut replied: Vec<Option<Timestamp>> = vec![None; plan.connections.len()];
    let mut waits = Vec::with_capacity(plan.nodes.len());
    for (node, part) in plan.nodes.iter_mut().zip(parts) {
        let before = &mut replied[node.connection.index()];
        let to_server = part.server_side_rtt.unwrap_or_default();
        node.measured.rested[1] = before.map_or(Nanos::ZERO, |before| {
            nanos(part.request_started.since(before) + to_server)
        });
        *before = part.reply_ended.or(*before);
        waits.push(nanos(wait_of_client(part)));
    }
    for node in &mut plan.nodes {
        if let (Some(after), After::Completion) = (node.dependencies.after, node.dependencies.after_what) {
            node.measured.rested[0] = waits[after.index()];
        }
        if let Some(reply_after) = node.dependencies.reply_after {
            node.measured.rested[1] = waits[reply_after.index()];
        }
    }
    let mut sealed_logins: HashMap<ConnectionId, u32> = HashMap::default();
    for (index, step) in operation.steps.iter().enumerate() {
        let cold = are_cold(&step.exchange, &mut sealed_logins);
        for node in plan.nodes_of(index) {
            let sides = node.measured.rested.iter_mut().zip(cold);
            sides
                .filter(|(_, is_cold)| *is_cold)
                .for_each(|(rested, _)| *rested = Nanos::MAX);
        }
    }
}

/// Whether client and server are as cold at every distance: where a connection is opened, the
/// server's process is new, and both compute cryptography.
fn are_cold(exchange: &Exchange, sealed_logins: &mut HashMap<ConnectionId, u32>) -> [bool; 2] {
    match exchange.phase {
        Phase::Connect => [false, true],
        Phase::Login => [true; 2],
        Phase::Tls => {
            sealed_logins.insert(exchange.connection, SEALED_LOGIN_TURNS);
            [true; 2]
        }
        Phase::Work if exchange.fingerprint.is_none() => {
            let left = sealed_logins.entry(exchange.connection).or_default();
            let is_login = *left > 0;
            *left = left.saturating_sub(exchange.turns);
            [is_login; 2]
        }
        Phase::Work | Phase::Close => [false; 2],
    }
}

/// Round trips of a login (SCRAM) inside TLS that nothing opens.
const SEALED_LOGIN_TURNS: u32 = 3;

fn wait_of_client(part: &Step) -> Duration {
    let seen = part
        .reply_started
        .map(|started| started.since(part.request_ended));
    seen.unwrap_or_default() + part.client_side_rtt.unwrap_or_default()
}
