//! Requests wait when a pool has fewer connections than they need at once.

mod made;

use made::{Made, operation, operation_step, step};
use model::{Operation, OperationKind, Protocol, Timestamp};
use predict::{Computing, PredictionTarget, Predictor, WakeUp};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);
const US: Duration = Duration::from_micros(1);

/// A request that arrived at `at`: two concurrent statements of 1 ms on these connections from
/// these times on, answered half a millisecond after the last reply.
fn request(number: u64, client: u32, at: Timestamp, statements: [(u32, Timestamp); 2]) -> Operation {
    let mut steps = Vec::new();
    for (connection, sent) in statements {
        let query = Made::query(50, 50).on(1000 + connection).server(MS);
        let mut asked = operation_step(&query, step(sent, Duration::ZERO, &query));
        asked.after = Some(0);
        asked.after_start = true;
        asked.client_before = sent.since(at);
        steps.push(asked);
    }
    let replied = statements[0].1.max(statements[1].1).after(MS);
    let answered = replied.after(500 * US);
    let outer = Made::query(200, 200).on(client).server(answered.since(at));
    let mut outer = operation_step(&outer, step(at, Duration::ZERO, &outer));
    outer.protocol = Protocol::Http;
    outer.exchange.first.server = 500 * US;
    outer.reply_after = Some(1);
    outer.reply_also_after = vec![2];
    steps.insert(0, outer);
    Operation {
        id: number,
        name: "GET /keys".into(),
        kind: OperationKind::Http,
        ..operation(at, answered.since(at), steps)
    }
}

/// Two clients in a closed loop, two statements at once per request, over a pool of `connections`.
fn measured(connections: u32) -> Vec<Operation> {
    let start = Timestamp::from_nanos(1_000_000_000_000);
    let mut clients = [(start, 0), (start.after(30 * US), 1)];
    let mut free: Vec<(Timestamp, u32)> = (0..connections).map(|connection| (start, connection)).collect();
    let mut operations = Vec::new();
    for number in 0..100 {
        clients.sort_unstable();
        let (at, client) = clients[0];
        let statements = [(); 2].map(|()| {
            free.sort_unstable();
            let sent = free[0].0.max(at.after(100 * US));
            free[0].0 = sent.after(MS + US);
            (free[0].1, sent)
        });
        let one = request(number, client, at, statements);
        clients[0].0 = at.after(one.duration + 20 * US);
        operations.push(one);
    }
    operations
}

fn predicted(operations: &[Operation], clients: u32) -> model::Prediction {
    let target = PredictionTarget {
        link: "rtt=40ms".parse().expect("a link"),
        clients,
    };
    let mut predictor = Predictor::new(vec![target], Box::new(|step| step.protocol == Protocol::Postgres))
        .with_computing(Computing::default())
        .with_wake_up(WakeUp::None);
    operations.iter().for_each(|operation| predictor.add(operation));
    predictor.finish().remove(0)
}

fn near(predicted: Duration, truth: Duration) {
    assert!(
        predicted.abs_diff(truth) < truth / 20,
        "{predicted:?} instead of {truth:?}"
    );
}

#[test]
fn requests_that_share_two_connections_wait_for_them() {
    let operations = measured(2);
    // Four statements for two connections: each request takes two round trips.
    near(predicted(&operations, 2).duration, 83 * MS);
    near(predicted(&operations, 1).duration, 42 * MS);
}

#[test]
fn a_pool_that_is_large_enough_makes_nobody_wait() {
    near(predicted(&measured(4), 2).duration, 42 * MS);
}

#[test]
fn more_clients_than_were_measured_may_have_more_connections() {
    let there = predicted(&measured(2), 8);
    near(there.duration, 42 * MS);
}
