//! Work that no request waited for.

use super::*;

fn request(run: &mut Run, connection: u32, from: u64) {
    run.fact(Fact::Started {
        connection: ConnectionId(connection),
        at: at(from),
        fingerprint: Some(Arc::from("GET /page")),
        request: None,
    });
}

fn statement(connection: u32, from: u64, text: &str) -> Exchange {
    Exchange {
        fingerprint: Some(Arc::from(text)),
        ..exchange(connection, Phase::Work, from, 300, 0)
    }
}

/// Begins at `first_byte` and continues for `reply`, in which the server paused for `pause`.
fn response(connection: u32, from: u64, first_byte: u64, reply: u64, pause: u64) -> Exchange {
    let mut exchange = exchange(connection, Phase::Work, from, first_byte - from - 100, reply);
    exchange.first.server_inside_reply = micros(pause);
    exchange
}

fn web() -> Run {
    let mut run = Run::new(Rule::Http);
    run.opened(0, host(1, 40_000), host(2, 80));
    run.opened(1, host(2, 50_000), host(3, 5432));
    run
}

#[test]
fn what_is_done_after_a_head_that_left_before_its_body_is_no_work_of_the_page() {
    let mut run = web();
    request(&mut run, 0, 0);
    run.exchange(statement(1, 500, "select ?"), Protocol::Postgres);
    // The head leaves at 1.2 ms, the body at 41 ms after the acknowledgement; the server works
    // meanwhile.
    run.exchange(
        statement(1, 1_500, "insert into log values (?)"),
        Protocol::Postgres,
    );
    run.exchange(statement(1, 2_500, "commit"), Protocol::Postgres);
    run.exchange(response(0, 0, 1_200, 39_800, 0), Protocol::Http);
    let (operations, alone) = run.finish();
    assert_eq!((operations.len(), alone), (1, 2));
    assert_eq!(operations[0].steps.len(), 2);
    assert_eq!(operations[0].turns, 2);
}

#[test]
fn a_streamed_response_keeps_the_statements_between_its_parts() {
    let mut run = web();
    request(&mut run, 0, 0);
    run.exchange(statement(1, 500, "select ?"), Protocol::Postgres);
    run.exchange(statement(1, 1_500, "select b from c"), Protocol::Postgres);
    run.exchange(statement(1, 2_500, "select d from e"), Protocol::Postgres);
    run.exchange(response(0, 0, 1_200, 2_000, 1_500), Protocol::Http);
    let (operations, alone) = run.finish();
    assert_eq!((operations.len(), alone), (1, 0));
    assert_eq!(operations[0].steps.len(), 4);
}

/// Pages of 4 ms every 10 ms with two statements each, and a heartbeat every 3 ms; counts
/// heartbeats among the steps of a page.
fn heartbeats(from_page: usize) -> (usize, usize) {
    let mut run = web();
    run.opened(2, host(2, 50_001), host(3, 5432));
    let mut facts: Vec<(u64, Option<(Exchange, Protocol)>)> = Vec::new();
    for page in 0..60 {
        let from = page * 10_000;
        facts.push((from, None));
        for (place, text) in [(500, "select a"), (1_500, "select b")] {
            let made = statement(1, from + place, text);
            facts.push((from + place + 400, Some((made, Protocol::Postgres))));
        }
        facts.push((
            from + 4_000,
            Some((response(0, from, from + 3_900, 100, 0), Protocol::Http)),
        ));
    }
    for beat in 0..200 {
        let from = beat * 3_000 + 700;
        facts.push((
            from + 400,
            Some((statement(2, from, "select beat"), Protocol::Postgres)),
        ));
    }
    facts.sort_by_key(|(time, _)| *time);
    for (time, fact) in facts {
        match fact {
            None => request(&mut run, 0, time),
            Some((exchange, protocol)) => run.exchange(exchange, protocol),
        }
    }
    let (operations, _) = run.finish();
    let named = |name: &str| {
        let steps = operations
            .iter()
            .skip(from_page)
            .flat_map(|operation| &operation.steps);
        steps
            .filter(|step| step.exchange.fingerprint.as_deref() == Some(name))
            .count()
    };
    (named("select beat"), named("select a") + named("select b"))
}

#[test]
fn what_a_host_also_does_without_requests_is_not_theirs() {
    assert_eq!(heartbeats(5), (0, 110));
}
