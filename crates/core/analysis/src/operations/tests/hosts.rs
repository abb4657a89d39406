use super::*;
use crate::hosts::HostSettings;
use std::collections::HashMap;

fn random(state: &mut u64, below: u64) -> u64 {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) % below
}

/// Pages through a proxy (10.0.0.9) to a web server (10.0.0.2) that queries from 10.0.0.3 and works
/// after each reply; a job on 10.0.0.7 queries the same database. Returns the notes, and the steps
/// of each page.
fn pages_through_a_proxy(settings: HostSettings) -> (Vec<String>, Vec<usize>) {
    pages_that_ask(Protocol::Postgres, settings)
}

/// The same in a given protocol. Undecoded exchanges are reported when their client continues.
fn pages_that_ask(database: Protocol, settings: HostSettings) -> (Vec<String>, Vec<usize>) {
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
    // Time of each report: an undecoded statement's beginning at once, the rest with the next one.
    let mut reported: HashMap<u32, (u64, Fact)> = HashMap::new();
    let mut statement = |facts: &mut Vec<(u64, Fact)>, connection: u32, from: u64, server: u64| {
        let fact = made(exchange(connection, Phase::Work, from, server, 0), database);
        if database.is_database() {
            return facts.push((from + 100 + server, fact));
        }
        if let Some((_, before)) = reported.insert(connection, (from, fact)) {
            facts.push((from, before));
        }
        let connection = ConnectionId(connection);
        facts.push((
            from,
            Fact::Begun {
                connection,
                at: at(from),
            },
        ));
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
            statement(&mut facts, 2, now, server);
            now += 300 + server;
        }
        let replied = now - 200 + 90 + random(&mut state, 60);
        let page = exchange(1, Phase::Work, from, replied - from - 100, 20);
        facts.push((replied + 20, made(page, Protocol::Http)));
        let page = exchange(0, Phase::Work, proxied, replied + 130 - proxied - 100, 20);
        facts.push((replied + 150, made(page, Protocol::Http)));
        let late = replied + 200;
        statement(&mut facts, 2, late, 500);
        now = late + 2_000 + random(&mut state, 6_000);
    }
    let end = now;
    now = 500;
    while now < end {
        let server = 200 + random(&mut state, 1_500);
        statement(&mut facts, 3, now, server);
        now += 150 + server + random(&mut state, 400);
    }
    facts.extend(reported.into_values().map(|(_, fact)| (end, fact)));
    facts.sort_by_key(|(time, _)| *time);
    grouped(facts, settings)
}

fn grouped(facts: Vec<(u64, Fact)>, settings: HostSettings) -> (Vec<String>, Vec<usize>) {
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
fn what_is_encrypted_or_not_decoded_is_asked_from_its_web_server_s_host_where_that_is_evidence() {
    for database in [Protocol::Tls, Protocol::Unknown] {
        let settings = HostSettings {
            undecoded: true,
            ..HostSettings::default()
        };
        let (notes, steps) = pages_that_ask(database, settings);
        let taken: Vec<&String> = notes
            .iter()
            .filter(|note| note.contains("are taken to be one host"))
            .collect();
        assert_eq!(taken.len(), 1, "{notes:?}");
        assert!(
            taken[0].starts_with("10.0.0.3 and 10.0.0.2 ") && taken[0].contains("encrypted or not decoded"),
            "{notes:?}"
        );
        assert_eq!(steps.len(), 100);
        // One may begin between a reply and the next request that is reported earlier.
        assert!(
            steps.iter().filter(|steps| **steps == 5).count() >= 98,
            "{steps:?}"
        );
        // A parallel session of SSH delays no other facts.
        let (notes, steps) = pages_that_ask(database, HostSettings::default());
        assert!(notes.iter().all(|note| !note.contains("one host")), "{notes:?}");
        assert_eq!(steps, vec![2; 100]);
    }
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
