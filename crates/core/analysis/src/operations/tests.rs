use super::*;
use crate::pairing::Pairing;
use model::{
    Assigned, ConnectionTotals, Decoding, Exchange, Operation, OperationKind, OperationStep, Phase,
    RequestId, Step, Timestamp, TransactionState,
};
use proptest::prelude::*;
use std::net::Ipv4Addr;
use std::time::Duration;

mod affinity;
mod bursts;
mod critical_path;
mod hosts;
mod lives;
mod programs;
mod transactions;

fn at(microseconds: u64) -> Timestamp {
    Timestamp::from_nanos(1_000_000_000 + microseconds * 1_000)
}

fn host(number: u8, port: u16) -> Endpoint {
    Endpoint {
        address: IpAddr::V4(Ipv4Addr::new(10, 0, 0, number)),
        port,
    }
}

fn micros(number: u64) -> Duration {
    Duration::from_micros(number)
}

/// Server-side round trip 100 us, none on the client's side.
fn exchange(connection: u32, phase: Phase, from: u64, server: u64, reply: u64) -> Exchange {
    let first_byte = from + 100 + server;
    let step = Step {
        request_started: at(from),
        request_ended: at(from),
        reply_started: Some(at(first_byte)),
        reply_ended: Some(at(first_byte + reply)),
        request_bytes: 10,
        reply_bytes: 10,
        turn: true,
        client_inside_request: Duration::ZERO,
        server: micros(server),
        server_margin: model::Margin::default(),
        server_inside_reply: Duration::ZERO,
        client_side_rtt: Some(Duration::ZERO),
        server_side_rtt: Some(micros(100)),
        recovery: Duration::ZERO,
    };
    Exchange {
        connection: ConnectionId(connection),
        phase,
        at: at(from),
        turns: 1,
        request_bytes: 10,
        reply_bytes: 10,
        request_messages: 1,
        reply_messages: 1,
        rows: None,
        executions: 1,
        first: step,
        more: Vec::new(),
        fingerprint: Some(Arc::from("select ?")),
        asked: model::RequestTraits::default(),
        transaction: None,
        error: None,
        literal: None,
        tags: None,
        levels: None,
        pooler: None,
        not_seen: None,
        lost: None,
    }
}

struct Run {
    operations: Operations,
    grouped: Vec<Operation>,
    alone: usize,
}

impl Run {
    fn new(rule: Rule) -> Self {
        Self {
            operations: Operations::new(rule),
            grouped: Vec::new(),
            alone: 0,
        }
    }

    fn fact(&mut self, fact: Fact) {
        let Self {
            operations,
            grouped,
            alone,
        } = self;
        operations.fact(fact, &mut |outcome| match outcome {
            Grouped::Operation(operation) => grouped.push(operation),
            Grouped::Alone(..) => *alone += 1,
        });
    }

    fn opened(&mut self, connection: u32, client: Endpoint, server: Endpoint) {
        self.opened_at(0, connection, client, server);
    }

    fn opened_at(&mut self, microseconds: u64, connection: u32, client: Endpoint, server: Endpoint) {
        self.fact(Fact::Opened {
            connection: ConnectionId(connection),
            at: at(microseconds),
            client,
            server,
        });
    }

    fn exchange(&mut self, exchange: Exchange, protocol: Protocol) {
        self.fact(Fact::Exchange {
            exchange: exchange.into(),
            protocol,
        });
    }

    fn closed(&mut self, connection: u32) {
        let pairing = Pairing::new(ConnectionId(connection), at(0), host(0, 0), host(0, 0), false);
        let decoding = Decoding {
            protocol: Protocol::Unknown,
            encrypted: false,
            opaque: None,
        };
        let mut outcome: Option<ConnectionOutcome> = None;
        pairing.closed(at(0), ConnectionTotals::default(), decoding, &mut |fact| {
            if let Fact::Closed(closed) = fact {
                outcome = Some(*closed);
            }
        });
        self.fact(Fact::Closed(
            outcome.expect("closing hands out the connection").into(),
        ));
    }

    fn finish(mut self) -> (Vec<Operation>, usize) {
        let (grouped, alone) = (&mut self.grouped, &mut self.alone);
        self.operations.finish(&mut |outcome| match outcome {
            Grouped::Operation(operation) => grouped.push(operation),
            Grouped::Alone(..) => *alone += 1,
        });
        (self.grouped, self.alone)
    }
}

#[test]
fn a_connection_is_one_operation_whose_parts_sum() {
    let mut run = Run::new(Rule::Connection);
    run.opened(0, host(1, 40_000), host(2, 5432));
    run.exchange(exchange(0, Phase::Login, 0, 50, 10), Protocol::Postgres);
    run.exchange(exchange(0, Phase::Work, 1_000, 400, 0), Protocol::Postgres);
    run.exchange(exchange(0, Phase::Work, 2_000, 400, 30), Protocol::Postgres);
    run.closed(0);
    let (operations, _) = run.finish();
    assert_eq!(operations.len(), 1);
    let operation = &operations[0];
    assert_eq!(operation.duration, micros(2_530));
    assert_eq!(operation.attribution.server, micros(850));
    assert_eq!(operation.attribution.round_trip, micros(300));
    assert_eq!(operation.attribution.transfer, micros(40));
    assert_eq!(operation.attribution.client, micros(840 + 500));
    assert_eq!(operation.attribution.total(), operation.duration);
    assert_eq!(operation.setup, micros(160));
    assert_eq!(operation.steps[1].after, Some(0));
    assert_eq!(operation.steps[1].client_before, micros(840));
}

#[test]
fn database_work_belongs_to_the_http_request_that_was_open_on_its_host() {
    let mut run = Run::new(Rule::Auto);
    run.opened(0, host(1, 40_000), host(2, 80));
    run.opened(1, host(2, 50_000), host(3, 3306));
    run.opened(2, host(9, 50_000), host(3, 3306));
    run.fact(Fact::Started {
        connection: ConnectionId(0),
        at: at(0),
        fingerprint: None,
        request: None,
    });
    run.exchange(exchange(1, Phase::Work, 1_000, 400, 0), Protocol::Mysql);
    run.exchange(exchange(2, Phase::Work, 1_100, 400, 0), Protocol::Mysql);
    run.exchange(exchange(1, Phase::Work, 2_000, 400, 0), Protocol::Mysql);
    run.exchange(exchange(0, Phase::Work, 0, 4_000, 20), Protocol::Http);
    run.exchange(exchange(1, Phase::Work, 5_000, 400, 0), Protocol::Mysql);
    let (operations, _) = run.finish();
    let page = operations
        .iter()
        .find(|operation| operation.kind == OperationKind::Http)
        .expect("a page");
    assert_eq!(page.steps.len(), 3);
    assert_eq!(page.duration, micros(4_120));
    assert_eq!(page.attribution.total(), page.duration);
    assert_eq!(page.attribution.server, micros(800));
    assert_eq!(page.attribution.round_trip, micros(100 + 200));
    assert_eq!(page.attribution.transfer, micros(20));
    assert_eq!(page.attribution.client, micros(3_000));
    let steps: Vec<&OperationStep> = page.steps.iter().collect();
    assert_eq!((steps[1].after, steps[1].after_start), (Some(0), true));
    assert_eq!(steps[1].client_before, micros(950));
    assert_eq!((steps[2].after, steps[2].after_start), (Some(1), false));
    assert_eq!(steps[0].reply_after, Some(2));
    // The reply left the server at 4,050; the last look-up ended at 2,500.
    assert_eq!(steps[0].exchange.first.server, micros(1_550));
    assert_eq!(operations.len(), 3);
}

#[test]
fn a_reply_that_has_begun_still_waits_for_what_its_server_asks() {
    let mut run = Run::new(Rule::Http);
    run.opened(0, host(1, 40_000), host(2, 80));
    run.opened(1, host(2, 50_000), host(3, 3306));
    run.fact(Fact::Started {
        connection: ConnectionId(0),
        at: at(0),
        fingerprint: None,
        request: None,
    });
    run.exchange(exchange(1, Phase::Work, 1_000, 400, 0), Protocol::Mysql);
    run.exchange(exchange(1, Phase::Work, 5_000, 400, 0), Protocol::Mysql);
    // First byte at 4,100, last byte at 7,100; the server worked for 2,500 of the 3,000 between.
    let mut page = exchange(0, Phase::Work, 0, 4_000, 3_000);
    page.first.server_inside_reply = micros(2_500);
    page.first.server += micros(2_500);
    run.exchange(page, Protocol::Http);
    let (operations, _) = run.finish();
    let page = &operations[0];
    let steps: Vec<&OperationStep> = page.steps.iter().collect();
    assert_eq!((steps[2].after, steps[2].after_start), (Some(1), false));
    assert_eq!(steps[2].client_before, micros(3_500));
    assert_eq!(steps[0].reply_after, Some(2));
    // The last look-up ended at 5,500, the reply was out at 7,050.
    assert_eq!(steps[0].exchange.first.server, micros(1_550));
    assert_eq!(page.duration, micros(7_100));
    assert_eq!(page.attribution.total(), page.duration);
    assert_eq!(page.attribution.client, micros(950 + 3_500));
    assert_eq!(page.attribution.server, micros(800 + 1_550));
    assert_eq!(page.attribution.round_trip, micros(200 + 100));
}

/// Two requests; their connections, and the start of each connection's three statements. The
/// responses' last bytes come 40 ms after the first.
fn answered_in_pieces(run: &mut Run, first_bytes: [u64; 2], began: [[u64; 3]; 2]) {
    for page in [0, 1] {
        run.opened(page, host(1, 40_000 + page as u16), host(2, 80));
        run.opened(10 + page, host(2, 50_000 + page as u16), host(3, 3306));
        run.fact(Fact::Started {
            connection: ConnectionId(page),
            at: at(100 * u64::from(page)),
            fingerprint: Some(Arc::from("GET /page")),
            request: None,
        });
    }
    let lanes = (10..).zip(began);
    let mut all: Vec<(u64, u32)> = lanes
        .flat_map(|(lane, began)| began.map(|at| (at, lane)))
        .collect();
    all.sort_unstable();
    for (began, lane) in all {
        run.exchange(exchange(lane, Phase::Work, began, 400, 0), Protocol::Mysql);
    }
    for (page, first_byte) in (0..).zip(first_bytes) {
        let from = 100 * u64::from(page);
        let reply = exchange(page, Phase::Work, from, first_byte - from - 100, 40_000);
        run.exchange(reply, Protocol::Http);
    }
}

#[test]
fn a_request_that_is_answered_while_a_connection_works_did_not_wait_for_it() {
    let mut run = Run::new(Rule::Http);
    // The first connection continues after the first byte of the first response.
    answered_in_pieces(
        &mut run,
        [4_300, 6_300],
        [[1_000, 3_000, 5_500], [1_100, 2_000, 3_500]],
    );
    let (operations, _) = run.finish();
    for (operation, lane) in operations.iter().zip([11, 10]) {
        let statements = &operation.steps[1..];
        assert_eq!(statements.len(), 3);
        for step in statements {
            assert_eq!(step.exchange.connection, ConnectionId(lane));
            assert_eq!(step.assigned, Some(Assigned::Order));
            let likely = step.probability.expect("a guess is as likely as something");
            assert!(likely.as_fraction() > 0.5, "{likely}");
        }
    }
}

#[test]
fn two_pages_at_once_keep_their_own_connections() {
    let mut run = Run::new(Rule::Http);
    for page in [0, 1] {
        run.opened(page, host(1, 40_000 + page as u16), host(2, 80));
        run.fact(Fact::Started {
            connection: ConnectionId(page),
            at: at(u64::from(page)),
            fingerprint: None,
            request: None,
        });
    }
    for page in [0, 1] {
        run.opened_at(
            50 + u64::from(page),
            10 + page,
            host(2, 50_000 + page as u16),
            host(3, 3306),
        );
    }
    for round in 0..3 {
        for page in [0, 1] {
            let from = 100 + 1_000 * round + 10 * u64::from(page);
            run.exchange(exchange(10 + page, Phase::Work, from, 400, 0), Protocol::Mysql);
        }
    }
    run.exchange(exchange(0, Phase::Work, 0, 4_000, 0), Protocol::Http);
    run.exchange(exchange(1, Phase::Work, 1, 4_000, 0), Protocol::Http);
    let (operations, alone) = run.finish();
    assert_eq!(alone, 0);
    assert_eq!(operations.len(), 2);
    for (operation, connection) in operations.iter().zip([10, 11]) {
        assert_eq!(operation.steps.len(), 4);
        assert!(
            operation.steps[1..]
                .iter()
                .all(|step| step.exchange.connection == ConnectionId(connection))
        );
    }
}

#[test]
fn transactions_end_where_the_server_says_so() {
    let mut run = Run::new(Rule::Transaction);
    run.opened(0, host(1, 40_000), host(2, 5432));
    run.exchange(exchange(0, Phase::Login, 0, 50, 10), Protocol::Postgres);
    let states = [
        TransactionState::Open,
        TransactionState::Open,
        TransactionState::Idle,
        TransactionState::Idle,
    ];
    for (index, state) in states.into_iter().enumerate() {
        let mut exchange = exchange(0, Phase::Work, 1_000 * (1 + index as u64), 50, 10);
        exchange.transaction = Some(state);
        run.exchange(exchange, Protocol::Postgres);
    }
    let (operations, _) = run.finish();
    let sizes: Vec<usize> = operations.iter().map(|operation| operation.steps.len()).collect();
    assert_eq!(sizes, [1, 3, 1]);
}

#[test]
fn a_client_that_turns_around_within_its_round_trip_still_waited() {
    let mut run = Run::new(Rule::Connection);
    run.opened(0, host(1, 40_000), host(2, 5432));
    // Reply to request takes 5 us, but the kernel reports 30 us to the client.
    for number in 0..10 {
        let mut quick = exchange(0, Phase::Work, number * 105, 0, 0);
        quick.first.client_side_rtt = Some(micros(30));
        run.exchange(quick, Protocol::Postgres);
    }
    run.closed(0);
    let waited: Vec<Option<u32>> = run.grouped[0].steps.iter().map(|step| step.after).collect();
    let each: Vec<Option<u32>> = (0..10_u32).map(|number| number.checked_sub(1)).collect();
    assert_eq!(waited, each, "each waited for the one before it");
}

#[test]
fn marks_name_what_follows_on_any_connection_of_their_host() {
    let mut run = Run::new(Rule::Marked);
    run.opened(0, host(1, 40_000), host(2, 5432));
    run.opened(1, host(1, 40_001), host(2, 5432));
    let statements = [
        (0, "select 1"),
        (1, "SELECT ? AS \"longwire test_basket\""),
        (0, "select ?"),
        (0, "select ? as longwired"),
        (1, "select ? as `longwire test checkout`;"),
        (0, "select ?"),
        (1, "SELECT ? AS longwire"),
        (0, "select ?"),
    ];
    for (number, (connection, statement)) in (0..).zip(statements) {
        let mut exchange = exchange(connection, Phase::Work, number * 1000, 10, 10);
        exchange.fingerprint = Some(Arc::from(statement));
        run.exchange(exchange, Protocol::Postgres);
    }
    let told: Vec<(&str, u32)> = run
        .grouped
        .iter()
        .map(|operation| (&*operation.name, operation.turns))
        .collect();
    assert_eq!(told, [("test_basket", 2), ("test checkout", 1)]);
    assert_eq!(run.alone, 5, "marks, and what is outside of spans");
}

#[test]
fn a_longer_pause_ends_a_burst() {
    let mut run = Run::new(Rule::Gap(Duration::from_millis(50)));
    run.opened(0, host(1, 40_000), host(2, 5432));
    for from in [0, 40_000, 200_000] {
        run.exchange(exchange(0, Phase::Work, from, 50, 10), Protocol::Postgres);
    }
    let (operations, _) = run.finish();
    assert_eq!(
        operations
            .iter()
            .map(|operation| operation.steps.len())
            .collect::<Vec<_>>(),
        [2, 1]
    );
}

#[test]
fn messages_after_the_last_reply_are_no_operation_of_no_duration() {
    let mut terminate = exchange(1, Phase::Close, 900, 0, 0);
    (terminate.turns, terminate.reply_bytes, terminate.executions) = (0, 0, 0);
    (terminate.first.reply_started, terminate.first.reply_ended) = (None, None);
    terminate.first.turn = false;
    let mut run = Run::new(Rule::Auto);
    run.opened(0, host(1, 40_000), host(2, 80));
    run.opened(1, host(2, 50_000), host(3, 5432));
    run.fact(Fact::Started {
        connection: ConnectionId(0),
        at: at(0),
        fingerprint: None,
        request: None,
    });
    run.exchange(exchange(1, Phase::Work, 100, 50, 0), Protocol::Postgres);
    run.exchange(exchange(0, Phase::Work, 0, 500, 0), Protocol::Http);
    run.exchange(terminate, Protocol::Postgres);
    run.closed(1);
    run.closed(0);
    let (operations, alone) = run.finish();
    let names: Vec<&str> = operations.iter().map(|operation| &*operation.name).collect();
    assert_eq!((names.as_slice(), alone), (&["select ?"][..], 1));
}

#[test]
fn a_very_long_operation_comes_in_parts_that_sum_to_it() {
    let mut run = Run::new(Rule::Connection);
    run.opened(0, host(1, 40_000), host(2, 5432));
    let count = 2 * MAXIMUM_STEPS as u64 + 5;
    for index in 0..count {
        run.exchange(
            exchange(0, Phase::Work, 1_000 * index, 50, 10),
            Protocol::Postgres,
        );
    }
    let (parts, _) = run.finish();
    assert_eq!(parts.len(), 3);
    assert!(parts.iter().all(|part| part.id == parts[0].id));
    assert_eq!(
        parts.iter().map(|part| part.continues).collect::<Vec<_>>(),
        [true, true, false]
    );
    let duration: Duration = parts.iter().map(|part| part.duration).sum();
    assert_eq!(duration, micros(1_000 * (count - 1) + 160));
    let attributed: Duration = parts.iter().map(|part| part.attribution.total()).sum();
    assert_eq!(attributed, duration);
}

#[test]
fn the_room_of_operations_under_way_is_little_more_than_they_may_hold() {
    let mut operations = Operations::new(Rule::Connection);
    let mut cut = 0;
    for connection in 0..20 {
        operations.fact(
            Fact::Opened {
                connection: ConnectionId(connection),
                at: at(0),
                client: host(1, 40_000 + connection as u16),
                server: host(2, 5432),
            },
            &mut |_| {},
        );
        for index in 0..=MAXIMUM_STEPS as u64 {
            let exchange = Box::new(exchange(connection, Phase::Work, 1_000 * index, 50, 10));
            let fact = Fact::Exchange {
                exchange,
                protocol: Protocol::Postgres,
            };
            operations.fact(fact, &mut |_| cut += 1);
        }
    }
    let room: usize = operations
        .groups
        .values()
        .map(|group| group.members.steps.capacity())
        .sum();
    assert_eq!(cut, 20);
    assert!(room <= MAXIMUM_HELD + MAXIMUM_HELD / 2, "room for {room} steps");
}

#[test]
fn operations_that_are_cut_together_come_in_the_order_in_which_they_began() {
    let mut run = Run::new(Rule::Connection);
    let connections = 25;
    for connection in 0..connections {
        run.opened(connection, host(1, 40_000 + connection as u16), host(2, 5432));
    }
    let each = MAXIMUM_HELD as u32 / connections;
    for index in 0..each * connections {
        run.exchange(
            exchange(index % connections, Phase::Work, 1_000 * u64::from(index), 50, 10),
            Protocol::Postgres,
        );
    }
    let (parts, _) = run.finish();
    let cut = parts.iter().filter(|part| part.continues).map(|part| part.id);
    assert_eq!(
        cut.collect::<Vec<_>>(),
        (0..u64::from(connections)).collect::<Vec<_>>()
    );
}

#[test]
fn a_handshake_takes_the_protocol_of_what_follows() {
    let mut run = Run::new(Rule::Auto);
    run.opened(0, host(1, 40_000), host(2, 80));
    let mut handshake = exchange(0, Phase::Connect, 0, 0, 0);
    (
        handshake.request_bytes,
        handshake.reply_bytes,
        handshake.executions,
    ) = (0, 0, 0);
    run.exchange(handshake, Protocol::Unknown);
    run.fact(Fact::Started {
        connection: ConnectionId(0),
        at: at(200),
        fingerprint: None,
        request: None,
    });
    run.exchange(exchange(0, Phase::Work, 200, 50, 10), Protocol::Http);
    run.closed(0);
    let (operations, _) = run.finish();
    assert_eq!(operations.len(), 1);
    assert!(
        operations[0]
            .steps
            .iter()
            .all(|step| step.protocol == Protocol::Http)
    );
    assert_eq!(operations[0].turns, 2);
    assert_eq!(operations[0].setup, micros(100));
}

/// Two requests of 10 ms with two opaque exchanges each; the second is reported during the next
/// page.
fn run_with_opaque_exchanges(last_reply: u64) -> Run {
    let mut run = Run::new(Rule::Auto);
    run.opened(0, host(1, 40_000), host(2, 80));
    run.opened(1, host(2, 50_000), host(3, 5432));
    let mut untold = None;
    for request in [0, 20_000] {
        run.fact(Fact::Started {
            connection: ConnectionId(0),
            at: at(request),
            fingerprint: None,
            request: None,
        });
        if let Some(exchange) = untold.take() {
            run.exchange(exchange, Protocol::Tls);
        }
        for (number, reply) in [(0, 10), (1, last_reply)] {
            let from = request + 1_000 + number * 4_000;
            run.fact(Fact::Begun {
                connection: ConnectionId(1),
                at: at(from),
            });
            if number == 1 {
                let mut page = exchange(0, Phase::Work, request, 9_000, 900);
                page.fingerprint = Some(Arc::from("GET /page"));
                run.exchange(page, Protocol::Http);
                untold = Some(exchange(1, Phase::Work, from, 400, reply));
            } else {
                run.exchange(exchange(1, Phase::Work, from, 400, reply), Protocol::Tls);
            }
        }
    }
    if let Some(exchange) = untold {
        run.exchange(exchange, Protocol::Tls);
    }
    run
}

#[test]
fn the_last_opaque_exchange_of_a_request_is_its_own_although_it_is_told_later() {
    let (operations, alone) = run_with_opaque_exchanges(10).finish();
    assert_eq!((operations.len(), alone), (2, 0));
    for operation in &operations {
        assert_eq!((&*operation.name, operation.turns), ("GET /page", 3));
        assert_eq!(operation.duration, micros(10_000));
        // No other request was in flight when they began.
        let of_opaque = operation.steps.iter().filter_map(|step| step.assigned);
        assert_eq!(of_opaque.collect::<Vec<_>>(), [Assigned::Only; 2]);
    }
}

#[test]
fn what_a_host_asks_while_it_serves_no_request_is_outside_of_them() {
    let mut run = Run::new(Rule::Auto);
    run.opened(0, host(1, 40_000), host(2, 80));
    run.opened(1, host(2, 50_000), host(3, 5432));
    run.opened(2, host(4, 50_000), host(3, 5432));
    let asks = |run: &mut Run, from: u64, connection: u32| {
        run.exchange(
            exchange(connection, Phase::Work, from, 400, 10),
            Protocol::Postgres,
        );
    };
    // The host is not known yet to serve requests.
    asks(&mut run, 0, 1);
    run.fact(Fact::Started {
        connection: ConnectionId(0),
        at: at(10_000),
        fingerprint: None,
        request: None,
    });
    asks(&mut run, 11_000, 1);
    run.exchange(exchange(0, Phase::Work, 10_000, 9_000, 900), Protocol::Http);
    asks(&mut run, 30_000, 1);
    asks(&mut run, 40_000, 2);
    let (operations, _) = run.finish();
    let steps = operations.iter().flat_map(|operation| &operation.steps);
    let mut outside: Vec<_> = steps
        .filter(|step| step.protocol == Protocol::Postgres)
        .map(|step| (step.exchange.at.since(at(0)), step.outside_requests))
        .collect();
    outside.sort();
    let expected = [(0, false), (11_000, false), (30_000, true), (40_000, false)];
    assert_eq!(outside, expected.map(|(from, is)| (micros(from), is)));
}

#[test]
fn an_opaque_reply_that_goes_on_behind_the_page_is_none_of_it() {
    let (operations, _) = run_with_opaque_exchanges(60_000).finish();
    let pages: Vec<_> = operations
        .iter()
        .filter(|operation| operation.kind == OperationKind::Http)
        .map(|operation| (operation.turns, operation.duration))
        .collect();
    assert_eq!(pages, [(2, micros(10_000)); 2]);
}

#[test]
fn a_request_whose_opaque_exchange_is_never_told_comes_at_the_end() {
    let mut run = Run::new(Rule::Http);
    run.opened(0, host(1, 40_000), host(2, 80));
    run.opened(1, host(2, 50_000), host(3, 5432));
    run.opened(2, host(2, 50_001), host(3, 5432));
    run.fact(Fact::Started {
        connection: ConnectionId(0),
        at: at(0),
        fingerprint: None,
        request: None,
    });
    for connection in [1, 2] {
        run.fact(Fact::Begun {
            connection: ConnectionId(connection),
            at: at(10),
        });
    }
    run.exchange(exchange(0, Phase::Work, 0, 9_000, 900), Protocol::Http);
    run.closed(1);
    assert!(run.grouped.is_empty(), "another connection may still decide it");
    let (operations, _) = run.finish();
    assert_eq!(operations.len(), 1);
}

/// As in a chaotic capture: overlapping, nested, zero length, any round trips.
fn any_member() -> impl Strategy<Value = (u32, u64, u64, u64, u64, u64, bool, u8)> {
    (
        0_u32..4,
        0_u64..5_000,
        0_u64..500,
        0_u64..2_000,
        0_u64..1_000,
        0_u64..300,
        any::<bool>(),
        0_u8..6,
    )
}

proptest! {
    #[test]
    fn the_parts_of_any_operation_sum_to_its_duration(members in proptest::collection::vec(any_member(), 1..40)) {
        let mut run = Run::new(Rule::Whole);
        for connection in 0..4_u8 {
            run.opened(u32::from(connection), host(connection, 40_000), host(connection + 1, 80));
        }
        for (connection, from, server, wait, reply, rtt, turn, kind) in members {
            let mut exchange = exchange(connection, Phase::Work, from, server, reply);
            exchange.first.request_ended = at(from + wait / 3);
            exchange.first.reply_started = (kind != 0).then(|| at(from + wait));
            exchange.first.reply_ended = (kind != 0).then(|| at(from + wait + reply));
            exchange.first.turn = turn;
            exchange.first.server_side_rtt = (kind != 1).then(|| micros(rtt));
            exchange.first.client_side_rtt = (kind != 2).then(|| micros(rtt / 2));
            if kind == 3 {
                exchange.phase = Phase::Login;
            }
            let protocol = if kind == 4 { Protocol::Http } else { Protocol::Mysql };
            run.exchange(exchange, protocol);
        }
        let (operations, alone) = run.finish();
        prop_assert_eq!(alone, 0);
        for operation in operations {
            prop_assert_eq!(operation.attribution.total(), operation.duration);
            prop_assert!(operation.setup <= operation.duration);
            for (index, step) in operation.steps.iter().enumerate() {
                prop_assert!(step.after.is_none_or(|after| (after as usize) < index));
            }
        }
    }
}

/// `pages` requests to one address of a web server, 10 ms apart and 4 ms long, each with three
/// statements from another address; `stray` adds a statement, in us.
fn pages_of_two_addresses(
    settings: HostSettings,
    pages: u64,
    stray: Option<u64>,
) -> (Vec<Operation>, Vec<String>) {
    let mut operations = Operations::new(Rule::Http).with_hosts(settings);
    let mut grouped = Vec::new();
    let mut facts = vec![
        (
            0,
            Fact::Opened {
                connection: ConnectionId(0),
                at: at(0),
                client: host(1, 40_000),
                server: host(2, 80),
            },
        ),
        (
            0,
            Fact::Opened {
                connection: ConnectionId(1),
                at: at(0),
                client: host(3, 50_000),
                server: host(4, 5432),
            },
        ),
    ];
    for page in 0..pages {
        let from = 10_000 * (page + 1);
        let (fingerprint, request) = (Some(Arc::from("GET /page")), None);
        facts.push((
            from,
            Fact::Started {
                connection: ConnectionId(0),
                at: at(from),
                fingerprint,
                request,
            },
        ));
        for statement in 0..3 {
            let from = from + 500 + 1_000 * statement;
            let exchange = exchange(1, Phase::Work, from, 400, 0);
            facts.push((
                from + 500,
                Fact::Exchange {
                    exchange: exchange.into(),
                    protocol: Protocol::Postgres,
                },
            ));
        }
        let exchange = exchange(0, Phase::Work, from, 4_000, 0);
        facts.push((
            from + 4_100,
            Fact::Exchange {
                exchange: exchange.into(),
                protocol: Protocol::Http,
            },
        ));
    }
    if let Some(from) = stray {
        let exchange = exchange(1, Phase::Work, from, 400, 0);
        facts.push((
            from + 500,
            Fact::Exchange {
                exchange: exchange.into(),
                protocol: Protocol::Postgres,
            },
        ));
    }
    facts.sort_by_key(|(time, _)| *time);
    for (_, fact) in facts {
        operations.fact(fact, &mut |found| {
            if let Grouped::Operation(operation) = found {
                grouped.push(operation);
            }
        });
    }
    let notes = operations.finish(&mut |found| {
        if let Grouped::Operation(operation) = found {
            grouped.push(operation);
        }
    });
    (grouped, notes.into_iter().map(|note| note.text).collect())
}

#[test]
fn a_web_server_with_two_addresses_is_one_host_where_its_requests_explain_all_statements() {
    let (operations, notes) = pages_of_two_addresses(HostSettings::default(), 40, None);
    assert_eq!(operations.len(), 40);
    assert!(operations.iter().all(|operation| operation.steps.len() == 4));
    let proven = |step: &OperationStep| step.assigned.is_none_or(Assigned::is_proof);
    assert!(
        operations
            .iter()
            .flat_map(|operation| &operation.steps)
            .all(proven)
    );
    assert_eq!(notes.len(), 1);
    assert!(
        notes[0].starts_with("10.0.0.3 and 10.0.0.2 are taken to be one host: all its"),
        "{}",
        notes[0]
    );
}

#[test]
fn a_statement_outside_of_all_requests_refutes_nothing() {
    let (operations, notes) = pages_of_two_addresses(HostSettings::default(), 80, Some(36_000));
    let pages = operations
        .iter()
        .filter(|operation| operation.kind == OperationKind::Http);
    assert!(pages.clone().all(|operation| operation.steps.len() == 4));
    assert_eq!(pages.count(), 80);
    assert!(
        notes[0].starts_with("10.0.0.3 and 10.0.0.2 are taken to be one host: ")
            && notes[0].contains("with shifted times"),
        "{notes:?}"
    );
}

#[test]
fn an_address_that_leaves_its_host_later_is_reported() {
    let pages = 40;
    let mut operations = Operations::new(Rule::Http);
    let opened = |connection, client, server| Fact::Opened {
        connection: ConnectionId(connection),
        at: at(0),
        client,
        server,
    };
    operations.fact(opened(0, host(1, 40_000), host(2, 80)), &mut |_| {});
    operations.fact(opened(1, host(3, 50_000), host(4, 5432)), &mut |_| {});
    for page in 0..2 * pages {
        let from = 10_000 * (page + 1);
        let request = Fact::Started {
            connection: ConnectionId(0),
            at: at(from),
            fingerprint: Some(Arc::from("GET /page")),
            request: None,
        };
        // In the second half the statement comes without a request in flight.
        let late = if page < pages { 500 } else { 6_000 };
        let statement = Fact::Exchange {
            exchange: exchange(1, Phase::Work, from + late, 400, 0).into(),
            protocol: Protocol::Postgres,
        };
        let answer = Fact::Exchange {
            exchange: exchange(0, Phase::Work, from, 4_000, 0).into(),
            protocol: Protocol::Http,
        };
        let facts = match page < pages {
            true => [request, statement, answer],
            false => [request, answer, statement],
        };
        for fact in facts {
            operations.fact(fact, &mut |_| {});
        }
    }
    let notes = operations.finish(&mut |_| {});
    assert!(
        notes[0]
            .text
            .contains("10.0.0.3 and 10.0.0.2 are taken to be one host")
    );
    assert!(
        notes[1].text.starts_with("40 of the ") && notes[1].text.contains("now another host's address"),
        "{notes:?}"
    );
}

#[test]
fn too_few_requests_prove_nothing() {
    let (operations, notes) = pages_of_two_addresses(HostSettings::default(), 4, None);
    assert!(operations.iter().all(|operation| operation.steps.len() == 1));
    assert!(
        notes.len() == 1 && notes[0].contains("may be one host"),
        "{notes:?}"
    );
}

#[test]
fn hosts_that_are_given_need_no_evidence_and_none_is_sought_where_it_is_refused() {
    let given = HostSettings {
        given: vec!["web=10.0.0.2,10.0.0.3".parse().expect("a host")],
        ..HostSettings::default()
    };
    let (operations, notes) = pages_of_two_addresses(given, 2, Some(18_000));
    assert!(operations.iter().all(|operation| operation.steps.len() == 4));
    assert_eq!(notes, Vec::<String>::new());
    let stated = HostSettings {
        interfaces: vec![model::InterfaceAddresses {
            name: "eth0".to_owned(),
            addresses: vec![
                "10.0.0.2".parse().expect("one"),
                "10.0.0.3".parse().expect("another"),
            ],
        }],
        ..HostSettings::default()
    };
    let (operations, notes) = pages_of_two_addresses(stated.clone(), 2, Some(18_000));
    assert!(operations.iter().all(|operation| operation.steps.len() == 4));
    assert!(
        notes[0].starts_with("10.0.0.3 and 10.0.0.2 are taken to be one host: the capture says that its interface eth0 has both addresses;"),
        "{notes:?}"
    );
    let stated_and_refused = HostSettings {
        only_given: true,
        ..stated
    };
    let (operations, _) = pages_of_two_addresses(stated_and_refused, 2, None);
    assert!(operations.iter().all(|operation| operation.steps.len() == 1));
    let refused = HostSettings {
        only_given: true,
        ..HostSettings::default()
    };
    let (operations, _) = pages_of_two_addresses(refused, 40, None);
    assert!(operations.iter().all(|operation| operation.steps.len() == 1));
}

fn tagged(mut exchange: Exchange, request: Option<u128>, route: Option<&str>) -> Exchange {
    exchange.tags = Some(Arc::new(model::Tags {
        request: request.map(RequestId),
        route: route.map(Arc::from),
        ..model::Tags::default()
    }));
    exchange
}

fn in_state(mut exchange: Exchange, state: TransactionState) -> Exchange {
    exchange.transaction = Some(state);
    exchange
}

fn arrival(connection: u32, microseconds: u64, request: u128) -> Fact {
    Fact::Started {
        connection: ConnectionId(connection),
        at: at(microseconds),
        fingerprint: Some(Arc::from("GET /page")),
        request: Some(RequestId(request)),
    }
}

#[test]
fn identifiers_alone_make_requests_of_the_traffic_of_a_database() {
    let mut run = Run::new(Rule::Auto);
    for connection in [0, 1] {
        run.opened(connection, host(2, 50_000 + connection as u16), host(3, 5432));
    }
    let work = |connection, from| exchange(connection, Phase::Work, from, 100, 0);
    // Two concurrent requests share a connection for transactions; begin and commit carry no
    // identifier.
    run.exchange(
        tagged(work(0, 0), Some(1), Some("/orders/<int:pk>")),
        Protocol::Postgres,
    );
    run.exchange(in_state(work(1, 100), TransactionState::Open), Protocol::Postgres);
    run.exchange(
        in_state(tagged(work(1, 400), Some(2), None), TransactionState::Open),
        Protocol::Postgres,
    );
    run.exchange(in_state(work(1, 700), TransactionState::Idle), Protocol::Postgres);
    run.exchange(tagged(work(1, 1_000), Some(1), None), Protocol::Postgres);
    let (operations, _) = run.finish();
    let found: Vec<(OperationKind, &str, usize)> = operations
        .iter()
        .map(|operation| (operation.kind, &*operation.name, operation.steps.len()))
        .collect();
    assert_eq!(
        found,
        [
            (OperationKind::Request, "/orders/<int:pk>", 2),
            (OperationKind::Request, "select ?", 3)
        ]
    );
    let assigned: Vec<Option<Assigned>> = operations[1].steps.iter().map(|step| step.assigned).collect();
    let transaction = Some(Assigned::Transaction);
    assert_eq!(assigned, [transaction, Some(Assigned::Identifier), transaction]);
}

#[test]
fn statements_go_to_the_request_whose_identifier_they_carry_and_to_no_other() {
    let mut run = Run::new(Rule::Http);
    for page in [0, 1] {
        run.opened(page, host(1, 40_000 + page as u16), host(2, 80));
        run.opened(10 + page, host(2, 50_000 + page as u16), host(3, 5432));
        run.fact(arrival(page, u64::from(page), u128::from(page) + 1));
    }
    let work = |connection, from| exchange(connection, Phase::Work, from, 100, 0);
    // Crosswise, against the order; and one of an unseen request.
    run.exchange(tagged(work(10, 100), Some(2), None), Protocol::Postgres);
    run.exchange(tagged(work(11, 110), Some(1), None), Protocol::Postgres);
    run.exchange(tagged(work(10, 500), Some(77), None), Protocol::Postgres);
    run.exchange(exchange(0, Phase::Work, 0, 4_000, 0), Protocol::Http);
    run.exchange(exchange(1, Phase::Work, 1, 4_000, 0), Protocol::Http);
    let (operations, alone) = run.finish();
    assert_eq!(alone, 1);
    for (operation, connection) in operations.iter().zip([11, 10]) {
        assert_eq!(operation.steps.len(), 2);
        assert_eq!(operation.steps[1].exchange.connection, ConnectionId(connection));
        assert_eq!(operation.steps[1].assigned, Some(Assigned::Identifier));
    }
}

#[test]
fn an_identifier_that_two_requests_share_proves_nothing_and_is_said() {
    let mut operations = Operations::new(Rule::Http);
    let mut grouped = Vec::new();
    let mut facts = Vec::new();
    for page in [0, 1] {
        for (connection, client, server) in [
            (page, host(1, 40_000 + page as u16), host(2, 80)),
            (10 + page, host(2, 50_000 + page as u16), host(3, 5432)),
        ] {
            let (connection, at) = (ConnectionId(connection), at(0));
            facts.push(Fact::Opened {
                connection,
                at,
                client,
                server,
            });
        }
        facts.push(arrival(page, u64::from(page), 5));
    }
    let work = |connection, from| tagged(exchange(connection, Phase::Work, from, 100, 0), Some(5), None);
    for (exchange, protocol) in [
        (work(10, 100), Protocol::Postgres),
        (work(11, 110), Protocol::Postgres),
        (exchange(0, Phase::Work, 0, 4_000, 0), Protocol::Http),
        (exchange(1, Phase::Work, 1, 4_000, 0), Protocol::Http),
    ] {
        facts.push(Fact::Exchange {
            exchange: exchange.into(),
            protocol,
        });
    }
    for fact in facts {
        operations.fact(fact, &mut |one| grouped.push(one));
    }
    let notes = operations.finish(&mut |one| grouped.push(one));
    let steps = grouped.iter().filter_map(|one| match one {
        Grouped::Operation(operation) => Some(&operation.steps),
        Grouped::Alone(..) => None,
    });
    let assigned: Vec<Assigned> = steps.flatten().filter_map(|step| step.assigned).collect();
    assert_eq!(assigned, [Assigned::Order; 2]);
    assert!(
        notes
            .iter()
            .any(|note| note.text.contains("carried the same identifier")),
        "{notes:?}"
    );
}
