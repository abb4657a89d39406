//! Which hosts are found among several servers and clients of one database.

use super::*;
use crate::hosts::HostSettings;

/// A number without pattern, below `below`.
fn random(state: &mut u64, below: u64) -> u64 {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) % below
}

/// Pages through a proxy (10.0.0.9) to a web server (10.0.0.2) that asks its database from 10.0.0.3 and works on after each reply; and a job on
/// 10.0.0.7 that asks the same database all the time. The notes, and how many steps the pages have.
fn pages_through_a_proxy(settings: HostSettings) -> (Vec<String>, Vec<usize>) {
    let mut state = 11;
    let mut facts: Vec<(u64, Fact)> = Vec::new();
    for (connection, client, server) in [
        (0, host(1, 40_000), host(9, 80)),
        (1, host(9, 41_000), host(2, 8080)),
        (2, host(3, 50_000), host(4, 5432)),
        (3, host(7, 50_000), host(4, 5432)),
    ] {
        facts.push((
            0,
            Fact::Opened {
                connection: ConnectionId(connection),
                at: at(0),
                client,
                server,
            },
        ));
    }
    let made = |exchange: Exchange, protocol| Fact::Exchange {
        exchange: exchange.into(),
        protocol,
    };
    let started = |connection, from| Fact::Started {
        connection: ConnectionId(connection),
        at: at(from),
        fingerprint: Some(Arc::from("GET /page")),
        request: None,
    };
    let mut now = 1_000;
    for _ in 0..100 {
        let (proxied, from) = (now, now + 150);
        facts.push((proxied, started(0, proxied)));
        facts.push((from, started(1, from)));
        now = from + 200;
        for _ in 0..3 {
            let server = 800 + random(&mut state, 2_000);
            facts.push((
                now + 100 + server,
                made(exchange(2, Phase::Work, now, server, 0), Protocol::Postgres),
            ));
            now += 300 + server;
        }
        let replied = now - 200 + 90 + random(&mut state, 60);
        let page = exchange(1, Phase::Work, from, replied - from - 100, 20);
        facts.push((replied + 20, made(page, Protocol::Http)));
        let page = exchange(0, Phase::Work, proxied, replied + 130 - proxied - 100, 20);
        facts.push((replied + 150, made(page, Protocol::Http)));
        let late = replied + 200;
        facts.push((
            late + 600,
            made(exchange(2, Phase::Work, late, 500, 0), Protocol::Postgres),
        ));
        now = late + 2_000 + random(&mut state, 6_000);
    }
    let end = now;
    now = 500;
    while now < end {
        let server = 200 + random(&mut state, 1_500);
        facts.push((
            now + 100 + server,
            made(exchange(3, Phase::Work, now, server, 0), Protocol::Postgres),
        ));
        now += 150 + server + random(&mut state, 400);
    }
    facts.sort_by_key(|(time, _)| *time);
    let mut operations = Operations::new(Rule::Http).with_hosts(settings);
    let mut steps = Vec::new();
    let mut out = |grouped| {
        if let Grouped::Operation(operation) = grouped
            && operation.kind == OperationKind::Http
        {
            steps.push(operation.steps.len());
        }
    };
    for (_, fact) in facts {
        operations.fact(fact, &mut out);
    }
    let notes = operations.finish(&mut out);
    (notes.into_iter().map(|note| note.text).collect(), steps)
}

#[test]
fn of_a_proxy_and_the_server_behind_it_the_server_is_the_host_and_a_job_elsewhere_is_none() {
    let (notes, steps) = pages_through_a_proxy(HostSettings::default());
    let taken: Vec<&String> = notes
        .iter()
        .filter(|note| note.contains("are taken to be one host"))
        .collect();
    assert_eq!(taken.len(), 1, "{notes:?}");
    assert!(taken[0].starts_with("10.0.0.3 and 10.0.0.2 "), "{notes:?}");
    // The page at the proxy, the page behind it, and three statements.
    assert_eq!(steps, vec![5; 100]);
}

#[test]
fn addresses_of_the_observing_machine_are_one_host() {
    let own = ["127.0.0.1", "10.0.0.2", "10.0.0.3"].map(|text| text.parse().expect("an address"));
    let settings = HostSettings {
        own: own.to_vec(),
        ..HostSettings::default()
    };
    let (notes, steps) = pages_through_a_proxy(settings);
    assert!(notes.iter().all(|note| !note.contains("10.0.0.3")), "{notes:?}");
    assert_eq!(steps, vec![5; 100]);
}
