//! Concurrent clients reach the theoretical limit: the smallest of distance, server and rate.

mod made;

use made::{Made, in_sequence, operation, operation_step, step};
use model::{BoundBy, ConnectionId, Operation, Prediction, Timestamp, TransactionState};
use predict::{Computing, PredictionTarget, Predictor, WakeUp};
use proptest::prelude::*;
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);
const US: Duration = Duration::from_micros(1);
const ALONE: Computing = Computing {
    client: None,
    server: None,
};

fn server_cores(cores: u32) -> Computing {
    Computing {
        server: Some(cores),
        ..ALONE
    }
}

fn predicted(link: &str, clients: u32, computing: Computing, operations: &[Operation]) -> Prediction {
    let target = PredictionTarget {
        link: link.parse().expect("a link"),
        clients,
    };
    let mut predictor = Predictor::new(vec![target], Box::new(|_| true)).with_computing(computing);
    operations.iter().for_each(|operation| predictor.add(operation));
    predictor.finish().remove(0)
}

fn assert_near(value: f64, expected: f64, tolerance: f64) {
    assert!(
        (value / expected - 1.0).abs() <= tolerance,
        "{value} is not within {tolerance} of {expected}"
    );
}

#[test]
fn as_long_as_nobody_waits_clients_are_independent() {
    let query = Made::query(50, 100).server(2 * MS);
    let operation = in_sequence(Duration::ZERO, &[query, query]);
    for clients in [1, 8, 64] {
        let there = predicted(
            "rtt=18ms",
            clients,
            server_cores(64),
            std::slice::from_ref(&operation),
        );
        assert_eq!(there.duration, 40 * MS);
        assert_near(there.per_second, f64::from(clients) * 25.0, 0.01);
        assert_eq!(there.bound_by, BoundBy::RoundTrips);
        assert_eq!(there.clients, clients);
    }
}

#[test]
fn cores_bound_what_servers_get_done() {
    let operation = in_sequence(Duration::ZERO, &[Made::query(50, 100).server(2 * MS)]);
    for (clients, cores, rtt) in [(8, 1, 2), (24, 3, 2), (64, 2, 10), (2, 4, 10)] {
        let there = predicted(
            &format!("rtt={rtt}ms"),
            clients,
            server_cores(cores),
            std::slice::from_ref(&operation),
        );
        let by_distance = f64::from(clients) / (f64::from(rtt) + 2.0) * 1e3;
        let by_server = f64::from(cores) / 2.0 * 1e3;
        assert_near(there.per_second, by_distance.min(by_server), 0.02);
        let expected = if by_server < by_distance && clients > 2 * cores {
            BoundBy::Server
        } else {
            BoundBy::RoundTrips
        };
        assert_eq!(there.bound_by, expected);
    }
}

/// 40 operations of 30 ms of server time, then 80 of 20 ms.
#[test]
fn operations_are_predicted_as_they_are_once_warm() {
    let of = |server: Duration| in_sequence(Duration::ZERO, &[Made::query(50, 100).server(server)]);
    let lengths = std::iter::repeat_n(30, 40).chain(std::iter::repeat_n(20, 80));
    let operations: Vec<Operation> = lengths.map(|length| of(length * MS)).collect();
    for clients in [1, 8] {
        let there = predicted("rtt=10ms", clients, server_cores(1000), &operations);
        assert_eq!((there.warming_up, there.operations), (40, 80));
        assert_eq!((there.duration, there.spread.max), (30 * MS, Some(30 * MS)));
        let warm = predicted("rtt=10ms", clients, server_cores(1000), &operations[40..]);
        assert_eq!((warm.warming_up, warm.low, warm.high), (0, there.low, there.high));
    }
    let there = predicted("rtt=10ms", 1, ALONE, &operations);
    assert_eq!(
        (there.warming_up, there.operations, there.duration),
        (40, 80, 30 * MS)
    );
}

#[test]
fn clients_that_share_a_core_wait_for_it() {
    let operation = in_sequence(Duration::ZERO, &[Made::query(50, 100).client_before(MS)]);
    let computing = Computing {
        client: Some(1),
        ..ALONE
    };
    let there = predicted("rtt=2ms", 12, computing, &[operation]);
    assert_near(there.per_second, 1000.0, 0.02);
    assert_eq!(there.bound_by, BoundBy::Client);
}

#[test]
fn the_rate_is_shared_by_all() {
    // 100 packets of 1500 bytes at 12 Mbit/s: 100 ms.
    let operation = in_sequence(Duration::ZERO, &[Made::query(50, 100 * 1448)]);
    let there = |clients| {
        predicted(
            "rtt=1ms rate=12mbit",
            clients,
            ALONE,
            std::slice::from_ref(&operation),
        )
    };
    for clients in [2, 8] {
        let together = there(clients);
        assert_near(together.per_second, 10.0, 0.02);
        assert_near(together.duration.as_secs_f64(), f64::from(clients) * 0.1, 0.1);
        assert_eq!(together.bound_by, BoundBy::Rate);
    }
}

#[test]
fn each_direction_has_its_rate() {
    let there = |link: &str, request, reply| {
        predicted(
            link,
            4,
            ALONE,
            &[in_sequence(Duration::ZERO, &[Made::query(request, reply)])],
        )
        .per_second
    };
    let packets = 100 * 1448;
    assert_near(there("rtt=1ms rate=12mbit/120mbit", packets, 100), 10.0, 0.02);
    assert_near(there("rtt=1ms rate=120mbit/12mbit", packets, 100), 100.0, 0.03);
    assert_near(there("rtt=1ms rate=120mbit/12mbit", 100, packets), 10.0, 0.02);
}

#[test]
fn connections_of_one_operation_share_with_those_of_others() {
    let mut operation = in_sequence(
        Duration::ZERO,
        &[Made::query(50, 50 * 1448), Made::query(50, 50 * 1448).on(1)],
    );
    operation.steps[1].after = None;
    let there = predicted("rtt=1ms rate=12mbit", 3, ALONE, &[operation]);
    assert_near(there.per_second, 10.0, 0.02);
}

/// Four clients on one core, each request waiting for the three others: the measured 8 ms are 2 ms
/// of work.
#[test]
fn work_is_told_from_waiting_for_cores() {
    let operations: Vec<Operation> = (0..4)
        .map(|client| in_sequence(Duration::ZERO, &[Made::query(50, 100).server(8 * MS).on(client)]))
        .collect();
    let duration = |clients, link| predicted(link, clients, server_cores(1), &operations).duration;
    assert_eq!(duration(1, "rtt=10ms"), 12 * MS);
    assert_eq!(duration(4, "rtt=0ms"), 8 * MS);
    assert_eq!(duration(4, "rtt=100ms"), 102 * MS);
}

#[test]
fn short_pauses_between_operations_are_kept_and_long_ones_are_not() {
    let there = |pause: Duration| {
        let first = in_sequence(Duration::ZERO, &[Made::query(50, 100)]);
        let operations: Vec<Operation> = (0..20)
            .map(|number| Operation {
                at: first.at.after(number * (first.duration + pause)),
                ..first.clone()
            })
            .collect();
        predicted("rtt=1ms", 2, ALONE, &operations).per_second
    };
    assert_near(there(Duration::ZERO), 2000.0, 0.01);
    assert_near(there(MS), 1000.0, 0.01);
    assert_near(there(Duration::from_secs(1)), 2000.0, 0.01);
}

#[test]
fn parts_of_a_long_operation_are_one_for_each_client() {
    let part = in_sequence(Duration::ZERO, &[Made::query(10, 10).server(MS); 3]);
    let parts = [true, false].map(|continues| Operation {
        continues,
        ..part.clone()
    });
    let there = predicted("rtt=10ms", 3, ALONE, &parts);
    assert_eq!((there.operations, there.duration, there.turns), (1, 66 * MS, 6.0));
}

#[test]
fn losses_are_recovered_and_repeat_with_their_seed() {
    let operation = in_sequence(
        Duration::ZERO,
        &[
            Made::handshake(),
            Made::query(5_000, 100_000),
            Made::query(100, 100),
        ],
    );
    for clients in [1, 4] {
        let there = |link: &str| predicted(link, clients, ALONE, std::slice::from_ref(&operation));
        let lossy = there("rtt=20ms rate=50mbit loss=3%");
        let clean = there("rtt=20ms rate=50mbit");
        assert!(lossy.duration > clean.duration);
        assert!(lossy.high > lossy.duration + 10 * MS, "{lossy:?}");
        assert!(lossy.spread.max > lossy.spread.min);
        assert_eq!(lossy, there("rtt=20ms rate=50mbit loss=3%"));
        assert_ne!(lossy.spread, there("rtt=20ms rate=50mbit loss=3% seed=7").spread);
    }
}

#[test]
fn jitter_shows_in_the_bounds() {
    let operation = in_sequence(Duration::ZERO, &[Made::query(100, 100)]);
    let there = predicted("rtt=20ms jitter=5ms", 1, ALONE, &[operation]);
    assert!(there.low <= 16 * MS && there.high >= 24 * MS, "{there:?}");
    assert!((18 * MS..22 * MS).contains(&there.duration), "{there:?}");
}

fn any_operation() -> impl Strategy<Value = Operation> {
    let exchange = (
        1..20_000_u64,
        0..20_000_u64,
        0..5_000_u32,
        0..5_000_u32,
        0..3_u32,
        0..10_u32,
    );
    prop::collection::vec(exchange, 0..6).prop_map(|exchanges| {
        let made: Vec<Made> = exchanges
            .into_iter()
            .map(|(request, reply, server, client, connection, kind)| {
                let made = Made::query(request, reply)
                    .server(server * US)
                    .client_before(client * US)
                    .on(connection);
                if kind == 0 {
                    Made::handshake().on(connection)
                } else {
                    made
                }
            })
            .collect();
        in_sequence(Duration::ZERO, &made)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn whatever_is_asked_for_ends_with_bounds_around_the_median(
        operations in prop::collection::vec(any_operation(), 1..4),
        clients in 1..6_u32, cores in 0..3_u32,
        rtt in 0..200_u64, kbit in 200..100_000_u64, queue in 1_500..100_000_u64, loss in 0..20_u32, jitter in 0..5_u64,
        forward in any::<bool>(),
    ) {
        let mut link = format!("rtt={rtt}ms rate={kbit}kbit queue={queue}B");
        if loss > 0 { link.push_str(&format!(" loss={loss}%")); }
        if jitter > 0 && 2 * jitter <= rtt { link.push_str(&format!(" jitter={jitter}ms")); }
        let mut operations = operations;
        if forward {
            for operation in &mut operations {
                let last = operation.steps.len().checked_sub(1).map(|last| last as u32);
                operation.steps.iter_mut().for_each(|step| step.reply_after = last);
            }
        }
        let computing = Computing { client: (cores > 1).then_some(cores), server: (cores > 0).then_some(cores) };
        let there = predicted(&link, clients, computing, &operations);
        prop_assert!(there.low <= there.duration && there.duration <= there.high);
        prop_assert!(there.per_second > 0.0);
    }
}

#[test]
fn connections_of_clients_are_their_own() {
    let operation = in_sequence(Duration::ZERO, &[Made::query(100, 100_000)]);
    assert_eq!(operation.steps[0].exchange.connection, ConnectionId(0));
    // Earlier operations have opened the windows: one round trip is enough.
    let there = predicted("rtt=40ms", 3, ALONE, &[operation]);
    assert_eq!(there.duration, 40 * MS);
}

#[test]
fn what_arrives_late_of_an_operation_that_is_over_is_not_of_the_next() {
    let query = Made::query(50, 100);
    let mut long = in_sequence(Duration::ZERO, &[query, query, query.on(1), query.on(2)]);
    // Farewells, sent in sequence; the operation ends while they are in flight.
    for step in &mut long.steps[2..] {
        (step.exchange.first.reply_started, step.exchange.first.reply_ended) = (None, None);
    }
    let short = in_sequence(Duration::ZERO, &[query]);
    let there = predicted("rtt=20ms", 2, ALONE, &[long, short]);
    // Two round trips, then one: three round trips for two operations of each client.
    assert_near(there.per_second, 2.0 * 2.0 / 0.06, 0.02);
}

/// Transactions of BEGIN, a write, COMMIT, measured with one client; `rows` selects the written
/// rows.
fn writing(rows: impl Fn(u64) -> u64) -> Vec<Operation> {
    let query = Made::query(50, 100);
    let transaction = |number: u64| {
        let mut operation = in_sequence(Duration::ZERO, &[query, query, query]);
        operation.id = number;
        let states = [
            TransactionState::Open,
            TransactionState::Open,
            TransactionState::Idle,
        ];
        for (step, state) in operation.steps.iter_mut().zip(states) {
            step.exchange.transaction = Some(state);
        }
        let write = &mut operation.steps[1].exchange;
        write.fingerprint = Some("update t set n = n + ? where id = ?".into());
        write.asked.rows_digest = Some(rows(number));
        operation
    };
    (0..40).map(transaction).collect()
}

#[test]
fn transactions_that_write_one_row_wait_for_each_other() {
    // The row is held from the write's arrival to COMMIT's: one round trip.
    let there = predicted("rtt=10ms", 16, ALONE, &writing(|_| 7));
    assert_near(there.per_second, 100.0, 0.02);
    assert_near(there.duration.as_secs_f64(), 0.160, 0.02);
    let alone = predicted("rtt=10ms", 1, server_cores(8), &writing(|_| 7));
    assert_eq!(alone.duration, 30 * MS);
}

#[test]
fn transactions_that_write_other_rows_do_not_wait() {
    let there = predicted("rtt=10ms", 16, ALONE, &writing(|number| number));
    assert_eq!(there.duration, 30 * MS);
}

/// A prepared statement's rows are told by its parameters alone.
#[test]
fn prepared_writes_of_unseen_rows_are_said() {
    let mut operation = writing(|_| 7).remove(0);
    let said = |operation: &Operation, clients| {
        let target = PredictionTarget {
            link: "rtt=10ms".parse().expect("a link"),
            clients,
        };
        let explained = predict::explain(operation, &target, ALONE.into(), WakeUp::None, &|_| true);
        let texts = explained
            .assumptions
            .into_iter()
            .map(|assumption| assumption.text);
        texts.filter(|text| text.contains("prepared")).count()
    };
    assert_eq!(said(&operation, 8), 0);
    let asked = &mut operation.steps[1].exchange.asked;
    (asked.rows_digest, asked.prepared_executions) = (None, 1);
    assert_eq!((said(&operation, 8), said(&operation, 1)), (1, 0));
}

/// Back-to-back transactions of eight clients: BEGIN, a write of 0.2 ms, a read of 0.3 ms, COMMIT.
/// The written rows are unknown.
fn contended(same_row: bool) -> Vec<Operation> {
    let start = Timestamp::from_nanos(1_000_000_000_000);
    let mut begins: Vec<(Timestamp, u32)> = (0..8)
        .map(|client| (start.after(client * 30 * US), client))
        .collect();
    let mut free = start;
    let mut operations = Vec::new();
    for number in 0..200 {
        begins.sort_unstable();
        let (at, client) = begins[0];
        let waits = free.since(at.after(100 * US));
        let write = if same_row { waits + 200 * US } else { 200 * US };
        let server = [100 * US, write, 300 * US, 100 * US];
        let (mut now, mut steps) = (at, Vec::new());
        for (place, server) in server.into_iter().enumerate() {
            let query = Made::query(50, 100).on(client).server(server);
            let mut asked = operation_step(&query, step(now, Duration::ZERO, &query));
            asked.after = (place as u32).checked_sub(1);
            asked.exchange.fingerprint = Some(format!("statement {place}").into());
            let state = if place == 3 {
                TransactionState::Idle
            } else {
                TransactionState::Open
            };
            asked.exchange.transaction = Some(state);
            steps.push(asked);
            now = now.after(server);
        }
        (free, begins[0].0) = (now, now.after(50 * US));
        operations.push(Operation {
            id: number,
            ..operation(at, now.since(at), steps)
        });
    }
    operations
}

#[test]
fn who_waited_for_another_s_transaction_waits_longer_where_that_takes_longer() {
    // Held from the write's arrival to COMMIT's: two round trips and 0.6 ms.
    let there = predicted("rtt=10ms", 8, ALONE, &contended(true));
    assert_near(there.duration.as_secs_f64(), 8.0 * 0.0206, 0.03);
    // At the measured distance they wait as long as measured; a lone client does not wait.
    let measured = 8.0 * 0.0006;
    assert_near(
        predicted("rtt=0ms", 8, ALONE, &contended(true))
            .duration
            .as_secs_f64(),
        measured,
        0.05,
    );
    let alone = predicted("rtt=10ms", 1, server_cores(8), &contended(true));
    assert_near(alone.duration.as_secs_f64(), 0.0407, 0.01);
}

#[test]
fn transactions_that_held_the_same_statement_at_once_do_not_wait() {
    let there = predicted("rtt=10ms", 8, ALONE, &contended(false));
    assert_near(there.duration.as_secs_f64(), 0.0407, 0.01);
}
