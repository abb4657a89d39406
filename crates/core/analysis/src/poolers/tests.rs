use super::*;
use model::{Phase, RequestTraits, Step, Timestamp};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

const FRONT: ConnectionId = ConnectionId(0);
const BACK: ConnectionId = ConnectionId(1);

fn at(microseconds: u64) -> Timestamp {
    Timestamp::from_nanos(1_000_000_000 + microseconds * 1_000)
}

fn host(number: u8, port: u16) -> Endpoint {
    Endpoint {
        address: IpAddr::V4(Ipv4Addr::new(10, 0, 0, number)),
        port,
    }
}

fn opened(connection: ConnectionId, client: Endpoint, server: Endpoint) -> Fact {
    Fact::Opened {
        connection,
        at: at(0),
        client,
        server,
    }
}

/// Observed at the pooler, with an instantaneous reply; `trip` is the round trip to the server.
fn statement(connection: ConnectionId, from: u64, to: u64, trip: u64, digest: u64) -> Fact {
    let micros = Duration::from_micros;
    let first = Step {
        request_started: at(from),
        request_ended: at(from),
        reply_started: Some(at(to)),
        reply_ended: Some(at(to)),
        request_bytes: 10,
        reply_bytes: 10,
        turn: true,
        client_inside_request: Duration::ZERO,
        server: micros(to - from - trip),
        server_margin: model::Margin::default(),
        server_inside_reply: Duration::ZERO,
        client_side_rtt: Some(Duration::ZERO),
        server_side_rtt: Some(micros(trip)),
        recovery: Duration::ZERO,
    };
    Fact::Exchange {
        exchange: Box::new(Exchange {
            connection,
            phase: Phase::Work,
            at: at(from),
            turns: 1,
            request_bytes: 10,
            reply_bytes: 10,
            request_messages: 1,
            reply_messages: 1,
            rows: Some(1),
            executions: 1,
            first,
            more: Vec::new(),
            fingerprint: Some(Arc::from("select ?")),
            asked: RequestTraits {
                request_digest: Some(digest),
                ..RequestTraits::default()
            },
            transaction: None,
            error: None,
            literal: None,
            tags: None,
            levels: None,
            pooler: None,
            not_seen: None,
            lost: None,
        }),
        protocol: Protocol::Postgres,
    }
}

fn run(facts: Vec<Fact>) -> (Vec<Exchange>, Vec<String>) {
    let mut poolers = Poolers::default();
    let mut out: Vec<Fact> = Vec::new();
    for fact in facts {
        out.extend(poolers.process_fact(fact));
    }
    out.extend(poolers.finish());
    let exchanges = out.into_iter().filter_map(|fact| {
        if let Fact::Exchange { exchange, .. } = fact {
            Some(*exchange)
        } else {
            None
        }
    });
    (
        exchanges.collect(),
        poolers.notes().into_iter().map(|note| note.text).collect(),
    )
}

/// `count` statements through a pooler on host 2: it waits 300 us and processes for 100 us; the
/// database is 200 us away and takes 400 us.
fn pooled(count: u64) -> Vec<Fact> {
    let mut facts = vec![
        opened(FRONT, host(1, 40_000), host(2, 6432)),
        opened(BACK, host(2, 50_000), host(3, 5432)),
    ];
    for number in 0..count {
        let from = 10_000 * number;
        facts.push(statement(BACK, from + 300, from + 900, 200, number));
        facts.push(statement(FRONT, from, from + 1_000, 0, number));
    }
    facts
}

#[test]
fn a_statement_before_and_behind_a_pooler_is_one_with_its_parts() {
    let (exchanges, notes) = run(pooled(10));
    assert_eq!(exchanges.len(), 10);
    let micros = Duration::from_micros;
    for exchange in &exchanges {
        assert_eq!(exchange.connection, FRONT);
        assert_eq!(exchange.first.server, micros(400));
        let parts = PoolerTime {
            waiting: micros(300),
            processing: micros(100),
            network: micros(200),
        };
        assert_eq!(exchange.pooler_time(), parts);
    }
    assert_eq!(notes.len(), 1);
    assert!(
        notes[0].contains("10.0.0.2:6432") && notes[0].contains("10 of 10 statements behind"),
        "{notes:?}"
    );
}

#[test]
fn the_parts_sum_to_the_server_time_before_and_what_waits_long_is_the_same() {
    let (exchanges, notes) = run(pooled(3 * MAX_WAITING as u64));
    assert_eq!(exchanges.len(), 3 * MAX_WAITING);
    let whole = |exchange: &Exchange| exchange.server() + exchange.pooler_time().total();
    assert!(
        exchanges
            .iter()
            .all(|exchange| whole(exchange) == Duration::from_micros(1_000))
    );
    assert!(
        notes[0].contains(&format!("{0} of {0} statements", 3 * MAX_WAITING)),
        "{notes:?}"
    );
}

#[test]
fn a_poolers_own_statements_are_not_the_applications() {
    let mut facts = pooled(20);
    // After a client left: within no statement.
    facts.push(statement(BACK, 900_000, 900_100, 50, 77));
    let (exchanges, notes) = run(facts);
    assert_eq!(exchanges.len(), 20);
    assert!(notes[0].contains("20 of 21 statements"), "{notes:?}");
}

#[test]
fn equal_statements_of_other_literals_or_one_after_the_other_are_no_poolers() {
    for (from, digest_of_back) in [(300, 1_000), (2_000, 0)] {
        let mut facts = vec![
            opened(FRONT, host(1, 40_000), host(1, 6432)),
            opened(BACK, host(1, 50_000), host(1, 5432)),
        ];
        for number in 0..20 {
            let begin = 10_000 * number;
            facts.push(statement(
                BACK,
                begin + from,
                begin + from + 100,
                50,
                number + digest_of_back,
            ));
            facts.push(statement(FRONT, begin, begin + 1_000, 0, number));
        }
        let (exchanges, notes) = run(facts);
        assert_eq!(exchanges.len(), 40);
        assert!(notes.is_empty(), "{notes:?}");
        assert!(exchanges.iter().all(|exchange| exchange.pooler.is_none()));
    }
}

#[test]
fn a_direct_connection_beside_the_poolers_keeps_its_statements() {
    let direct = ConnectionId(2);
    let mut facts = pooled(10);
    facts.insert(0, opened(direct, host(2, 50_001), host(3, 5432)));
    for number in 0..10 {
        facts.push(statement(
            direct,
            500_000 + number * 500,
            500_100 + number * 500,
            50,
            number,
        ));
    }
    let (exchanges, _) = run(facts);
    let of_direct = exchanges.iter().filter(|exchange| exchange.connection == direct);
    assert_eq!((exchanges.len(), of_direct.count()), (20, 10));
}

#[test]
fn without_two_services_of_a_host_nothing_waits() {
    let mut poolers = Poolers::default();
    let direct = opened(FRONT, host(1, 40_000), host(2, 5432));
    assert_eq!(poolers.process_fact(direct).into_iter().count(), 1);
    assert_eq!(
        poolers
            .process_fact(statement(FRONT, 0, 10, 0, 1))
            .into_iter()
            .count(),
        1
    );
}

#[test]
fn exchanges_of_connections_whose_beginning_is_not_known_go_on() {
    let (exchanges, _) = run(vec![statement(ConnectionId(7), 0, 100, 50, 1)]);
    assert_eq!(exchanges.len(), 1);
}
