//! Statements of one host from several programs.

use super::*;

/// Two concurrent pages of workers 10 and 11 with a connection each, and a job (20) that queries
/// meanwhile; returns each page's steps as (connection, how assigned). `programs` are the
/// connections' ends, `job` the job's protocol.
fn pages_and_job(programs: &[(u32, [Option<u32>; 2])], job: Protocol) -> Vec<Vec<(u32, Option<Assigned>)>> {
    let protocol = |connection: u32| if connection == 4 { job } else { Protocol::Postgres };
    let mut run = Run::new(Rule::Http);
    for connection in 0..2_u16 {
        run.opened(connection.into(), host(1, 40_000 + connection), host(2, 80));
    }
    for connection in 2..5_u16 {
        run.opened(connection.into(), host(2, 50_000 + connection), host(4, 5432));
    }
    for (connection, ends) in programs {
        run.operations.programs(ConnectionId(*connection), (*ends).into());
    }
    // Each queries once before any request, so its role is known.
    for connection in 2..5 {
        run.exchange(
            exchange(connection, Phase::Work, 1_000, 100, 0),
            protocol(connection),
        );
    }
    for connection in 0..2 {
        run.fact(Fact::Started {
            connection: ConnectionId(connection),
            at: at(10_000 + 100 * u64::from(connection)),
            fingerprint: Some(Arc::from("GET /page")),
            request: None,
        });
    }
    for round in 0..2 {
        for connection in [3, 4, 2] {
            let from = 11_000 + 1_000 * round + 200 * u64::from(connection);
            run.exchange(
                exchange(connection, Phase::Work, from, 100, 0),
                protocol(connection),
            );
        }
    }
    for connection in 0..2 {
        let from = 10_000 + 100 * u64::from(connection);
        run.exchange(exchange(connection, Phase::Work, from, 5_000, 0), Protocol::Http);
    }
    let (operations, _) = run.finish();
    let steps = |operation: &Operation| {
        let steps = operation
            .steps
            .iter()
            .map(|step| (step.exchange.connection.0, step.assigned));
        steps.filter(|(connection, _)| *connection > 1).collect()
    };
    let mut pages: Vec<Vec<_>> = operations
        .iter()
        .filter(|operation| operation.kind == OperationKind::Http)
        .map(steps)
        .collect();
    pages.sort_by_key(|steps| steps.first().map(|(connection, _)| *connection));
    pages
}

fn pages(programs: &[(u32, [Option<u32>; 2])]) -> Vec<Vec<(u32, Option<Assigned>)>> {
    pages_and_job(programs, Protocol::Postgres)
}

const WORKERS: [(u32, [Option<u32>; 2]); 5] = [
    (0, [None, Some(10)]),
    (1, [None, Some(11)]),
    (2, [Some(10), None]),
    (3, [Some(11), None]),
    (4, [Some(20), None]),
];

#[test]
fn what_another_program_asks_is_for_no_request_of_one_that_asks_itself() {
    let only = Some(Assigned::Only);
    for job in [Protocol::Postgres, Protocol::Unknown] {
        assert_eq!(
            pages_and_job(&WORKERS, job),
            [vec![(2, only), (2, only)], vec![(3, only), (3, only)]]
        );
    }
}

#[test]
fn nothing_follows_from_a_web_server_in_front_of_its_workers() {
    let behind = [
        (0, [None, Some(9)]),
        (1, [None, Some(9)]),
        (2, [Some(10), None]),
        (3, [Some(11), None]),
        (4, [Some(12), None]),
    ];
    let steps: usize = pages(&behind).iter().map(Vec::len).sum();
    assert_eq!(steps, 6);
    assert_eq!(pages(&behind), pages(&[]));
}
