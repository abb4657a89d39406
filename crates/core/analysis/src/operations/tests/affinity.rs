//! Processes that serve one HTTP connection each, with one database connection each.

use super::*;

/// Thirty pages alone, then rounds of two concurrent pages with uninformative times; `lane` maps
/// round and page to the connections. Returns the number of correct rounds.
fn right(lane: impl Fn(u64, u32) -> u32) -> usize {
    let mut run = Run::new(Rule::Http);
    for page in 0..2_u16 {
        run.opened(page.into(), host(1, 40_000 + page), host(2, 80));
        run.opened(10 + u32::from(page), host(2, 50_000 + page), host(3, 5432));
    }
    let arrived = |run: &mut Run, page: u32, from: u64| {
        run.fact(Fact::Started {
            connection: ConnectionId(page),
            at: at(from),
            fingerprint: Some(Arc::from("GET /page")),
            request: None,
        });
    };
    for alone in 0..30 {
        let (page, from) = ((alone % 2) as u32, 10_000 * alone);
        arrived(&mut run, page, from);
        let asked = exchange(lane(alone, page), Phase::Work, from + 500, 400, 0);
        run.exchange(asked, Protocol::Postgres);
        run.exchange(exchange(page, Phase::Work, from, 2_000, 0), Protocol::Http);
    }
    for round in 30..66 {
        // Random order of pages, statements and responses.
        let first = |bit: u64| ((round * 0x9e37_79b9) >> (20 + bit) & 1) as u32;
        let from = 10_000 * round;
        for (place, page) in [first(0), 1 - first(0)].into_iter().enumerate() {
            arrived(&mut run, page, from + place as u64);
        }
        for (place, page) in [first(1), 1 - first(1)].into_iter().enumerate() {
            let asked = from + 500 + place as u64;
            run.exchange(
                exchange(lane(round, page), Phase::Work, asked, 400, 0),
                Protocol::Postgres,
            );
        }
        for (place, page) in [first(2), 1 - first(2)].into_iter().enumerate() {
            let arrived = from + u64::from(page != first(0));
            let replied = from + 2_000 + place as u64;
            let reply = exchange(page, Phase::Work, arrived, replied - arrived - 100, 0);
            run.exchange(reply, Protocol::Http);
        }
    }
    let (operations, _) = run.finish();
    let is_right = |operation: &&Operation| {
        let round = operation.at.since(at(0)).as_micros() as u64 / 10_000;
        let connection = |step: &OperationStep| step.exchange.connection.0;
        let mut connections: Vec<u32> = operation.steps.iter().map(connection).collect();
        connections.sort_unstable();
        round >= 30 && connections == [connections[0], lane(round, connections[0])]
    };
    operations.iter().filter(is_right).count()
}

#[test]
fn a_process_that_serves_an_http_connection_asks_on_its_own_to_the_database() {
    assert_eq!(right(|_, page| 10 + page), 72);
}

#[test]
fn where_connections_rotate_nothing_is_said_of_them() {
    let rotating = right(|round, page| 10 + ((round / 2 + u64::from(page)) % 2) as u32);
    assert!((18..=72).contains(&rotating), "{rotating}");
}
