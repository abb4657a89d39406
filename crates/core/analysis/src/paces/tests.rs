use super::*;
use model::{
    Attribution, BoundBy, BoundsScale, Distribution, Exchange, LinkRates, OperationKind, OperationStep,
    Phase, Protocol, RequestTraits, Step,
};

/// `at` and `long` in milliseconds.
fn operation(name: &str, connection: u32, at: u64, long: u64) -> Operation {
    let at = Timestamp::from_nanos(at * 1_000_000);
    let duration = Duration::from_millis(long);
    Operation {
        id: 0,
        kind: OperationKind::Transaction,
        name: Arc::from(name),
        at,
        duration,
        turns: 1,
        connections: 1,
        attribution: Attribution::default(),
        setup: Duration::ZERO,
        client_after: Duration::ZERO,
        transactions: Vec::new(),
        after_reply: Vec::new(),
        continues: false,
        steps: vec![step(name, ConnectionId(connection), at, duration)],
    }
}

fn step(name: &str, connection: ConnectionId, at: Timestamp, duration: Duration) -> OperationStep {
    let first = Step {
        request_started: at,
        request_ended: at,
        reply_started: Some(at.after(duration)),
        reply_ended: Some(at.after(duration)),
        request_bytes: 1,
        reply_bytes: 1,
        turn: true,
        client_inside_request: Duration::ZERO,
        server: Duration::ZERO,
        server_margin: model::Margin::default(),
        server_inside_reply: Duration::ZERO,
        client_side_rtt: None,
        server_side_rtt: None,
        recovery: Duration::ZERO,
    };
    let exchange = Exchange {
        connection,
        phase: Phase::Work,
        at,
        turns: 1,
        request_bytes: 1,
        reply_bytes: 1,
        request_messages: 1,
        reply_messages: 1,
        rows: None,
        executions: 1,
        first,
        more: Vec::new(),
        fingerprint: Some(Arc::from(name)),
        asked: RequestTraits::default(),
        transaction: None,
        error: None,
        literal: None,
        tags: None,
        levels: None,
        pooler: None,
        not_seen: None,
        lost: None,
    };
    OperationStep::first(exchange, Protocol::Postgres)
}

fn prediction(name: &str, long: u64) -> Prediction {
    let duration = Duration::from_millis(long);
    Prediction {
        operation_name: Arc::from(name),
        operations: 1,
        warming_up: 0,
        rtt: Duration::ZERO,
        rate: LinkRates::default(),
        link: Arc::from(""),
        clients: 1,
        workers: None,
        duration,
        low: duration,
        high: duration,
        margins: Vec::new(),
        unscaled: [duration; 2],
        scale: BoundsScale::NONE,
        spread: Distribution::default(),
        per_second: 0.0,
        turns: 1.0,
        slope: 1.0,
        order: None,
        bound_by: BoundBy::RoundTrips,
        attribution: Attribution {
            server: duration,
            ..Attribution::default()
        },
        unexplained: None,
        examples: None,
        measured: None,
    }
}

fn close_to(pace: Option<f64>, expected: f64) {
    let pace = pace.expect("it is known");
    assert!((pace - expected).abs() < 0.001, "{pace}, not {expected}");
}

/// One client fetches a page of 10 ms each 100 ms, the other does 1 ms of work as often.
fn two_clients() -> Vec<Operation> {
    let rounds = (0..100).flat_map(|round| {
        let at = round * 100;
        [operation("page", 1, at, 10), operation("short", 2, at, 1)]
    });
    // Both end at 10 s.
    rounds
        .chain([operation("page", 1, 9_990, 10), operation("short", 2, 9_999, 1)])
        .collect()
}

#[test]
fn each_client_slows_down_by_its_own_operations() {
    let operations = two_clients();
    let predictions = [prediction("page", 110), prediction("short", 2)];
    let paces = Paces::from_operations(operations.iter(), &predictions);
    // 10 s become 10 s and 101 times 100 ms; and 101 times 1 ms.
    close_to(paces.operation("page"), 10.0 / 20.1);
    close_to(paces.operation("short"), 10.0 / 10.101);
    close_to(paces.statement("page"), 10.0 / 20.1);
    close_to(paces.all(), f64::midpoint(10.0 / 20.1, 10.0 / 10.101));
}

#[test]
fn what_one_connection_carries_out_slows_down_together() {
    let mut operations = two_clients();
    for operation in &mut operations {
        for step in &mut operation.steps {
            step.exchange.connection = ConnectionId(1);
        }
    }
    let predictions = [prediction("page", 110), prediction("short", 2)];
    let paces = Paces::from_operations(operations.iter(), &predictions);
    close_to(paces.operation("page"), 10.0 / 20.201);
    close_to(paces.operation("short"), 10.0 / 20.201);
}

#[test]
fn connections_that_follow_each_other_are_one_client() {
    let operations: Vec<Operation> = (0..10)
        .map(|round| operation("page", round, u64::from(round) * 100, 50))
        .collect();
    let paces = Paces::from_operations(operations.iter(), &[prediction("page", 150)]);
    // From 0 to 950 ms, ten times 100 ms longer.
    close_to(paces.operation("page"), 0.95 / 1.95);
}

#[test]
fn nothing_is_said_of_what_was_not_predicted() {
    let operations = two_clients();
    let paces = Paces::from_operations(operations.iter(), &[prediction("short", 2)]);
    assert_eq!(paces.operation("page"), None);
    assert_eq!(paces.statement("other"), None);
    assert!(paces.operation("short").is_some());
    assert_eq!(Paces::from_operations([].iter(), &[]), Paces::default());
}
