//! Requests wait longer for a server's workers if each is busy longer.

mod made;

use made::{Made, operation, operation_step, step};
use model::{Operation, OperationKind, Prediction, Protocol, Timestamp};
use predict::{Computing, PredictionTarget, Predictor, WakeUp, Workers};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);
/// Worker time before its query, plus the query: 2 ms in all.
const BEFORE: Duration = Duration::from_micros(800);
const DATABASE: Duration = Duration::from_millis(1);
const AFTER: Duration = Duration::from_micros(200);

/// A page of `queries` sequential queries, requested at `arrived` and begun at `began`, as in a
/// capture without distance.
fn page(number: u32, arrived: Timestamp, began: Timestamp, queries: u32) -> Operation {
    let (client, database) = (number % 1000, 1000 + number % 1000);
    let mut steps = Vec::new();
    let mut now = began.after(BEFORE);
    for _ in 0..queries {
        let query = Made::query(50, 50).on(database).server(DATABASE);
        let mut asked = operation_step(&query, step(now, Duration::ZERO, &query));
        asked.after = Some(steps.len() as u32);
        asked.after_start = steps.is_empty();
        asked.client_before = if steps.is_empty() {
            now.since(arrived)
        } else {
            Duration::ZERO
        };
        steps.push(asked);
        now = now.after(DATABASE);
    }
    let request = Made::query(200, 200)
        .on(client)
        .server(now.after(AFTER).since(arrived));
    let mut outer = operation_step(&request, step(arrived, Duration::ZERO, &request));
    outer.protocol = Protocol::Http;
    outer.exchange.first.server = AFTER;
    outer.reply_after = Some(queries);
    steps.insert(0, outer);
    Operation {
        name: format!("GET /{queries}").into(),
        kind: OperationKind::Http,
        ..operation(arrived, now.after(AFTER).since(arrived), steps)
    }
}

/// Clients in a closed loop on a server with `workers` workers, without distance to its database.
fn measured(clients: u32, workers: usize, queries: &[u32]) -> Vec<Operation> {
    measured_with_work_after(clients, workers, queries, 0)
}

/// Each worker asks `after` queries, one after another, after its reply.
fn measured_with_work_after(clients: u32, workers: usize, queries: &[u32], after: u32) -> Vec<Operation> {
    let start = Timestamp::from_nanos(1_000_000_000_000);
    let mut arrivals: Vec<(Timestamp, u32)> = (0..clients)
        .map(|client| (start.after(Duration::from_micros(client.into())), client))
        .collect();
    let mut free = vec![start; workers];
    let mut operations = Vec::new();
    for number in 0..400 {
        arrivals.sort_unstable();
        free.sort_unstable();
        let (arrived, client) = arrivals[0];
        let began = arrived.max(free[0]);
        let mut page = page(client, arrived, began, queries[number % queries.len()]);
        let replied = arrived.after(page.duration);
        for number in 0..after {
            let query = Made::query(50, 50).on(1000 + client).server(DATABASE);
            let begun = replied.after(DATABASE * number);
            let asked = operation_step(&query, step(begun, Duration::ZERO, &query));
            page.after_reply.push(asked);
        }
        free[0] = replied.after(DATABASE * after);
        arrivals[0].0 = replied.after(Duration::from_micros(10));
        operations.push(page);
    }
    operations
}

fn predicted(operations: &[Operation], clients: u32, workers: Workers) -> Vec<Prediction> {
    let target = PredictionTarget {
        link: "rtt=20ms".parse().expect("a link"),
        clients,
    };
    let mut predictor = Predictor::new(vec![target], Box::new(|step| step.protocol == Protocol::Postgres))
        .with_computing(Computing::default())
        .with_wake_up(WakeUp::None)
        .with_workers(workers);
    operations.iter().for_each(|operation| predictor.add(operation));
    predictor.finish()
}

fn near(predicted: Duration, truth: Duration) {
    assert!(
        predicted.abs_diff(truth) < truth / 20,
        "{predicted:?} instead of {truth:?}"
    );
}

#[test]
fn eight_clients_wait_for_four_workers_over_the_distance_too() {
    let operations = measured(8, 4, &[1]);
    let predictions = predicted(&operations, 8, Workers::Inferred);
    assert_eq!(predictions[0].workers, Some(4));
    // A worker is busy for 2 + 20 ms, and another request is before each.
    near(predictions[0].duration, 44 * MS);
    assert_eq!(
        predictions[0].attribution.total() / predictions[0].spread.count as u32,
        predictions[0].spread.mean.unwrap_or_default()
    );
}

#[test]
fn pages_of_several_kinds_wait_for_each_other() {
    let operations = measured(8, 4, &[1, 1, 5]);
    let predictions = predicted(&operations, 8, Workers::Inferred);
    // The mean work is (22 + 22 + 106) / 3 = 50 ms, and another request of any kind is before each.
    let mean = |name: &str| {
        let found = predictions.iter().find(|one| &*one.operation_name == name);
        found.and_then(|one| one.spread.mean).expect("predicted")
    };
    let all = (mean("GET /1") * 2 + mean("GET /5")) / 3;
    near(all, 100 * MS);
    assert!(mean("GET /1") > 60 * MS, "{:?}", mean("GET /1"));
}

#[test]
fn a_worker_that_works_on_after_its_reply_is_busy_meanwhile() {
    let operations = measured_with_work_after(4, 4, &[1], 2);
    let predictions = predicted(&operations, 4, Workers::Inferred);
    assert_eq!(predictions[0].workers, Some(4));
    // 2 + 20 ms to the reply, and two queries of 1 + 20 ms before the next request.
    near(predictions[0].duration, 64 * MS);
}

#[test]
fn who_has_workers_enough_waits_for_none() {
    let operations = measured(4, 8, &[1]);
    let predictions = predicted(&operations, 4, Workers::Inferred);
    assert_eq!(predictions[0].workers, None);
    near(predictions[0].duration, 22 * MS);
    // More clients than were measured, so no limit is known.
    near(predicted(&operations, 16, Workers::Inferred)[0].duration, 22 * MS);
    near(predicted(&operations, 16, Workers::Count(8))[0].duration, 44 * MS);
}

#[test]
fn an_inference_can_be_refused() {
    let operations = measured(8, 4, &[1]);
    let predictions = predicted(&operations, 8, Workers::Unlimited);
    assert_eq!(predictions[0].workers, None);
}
