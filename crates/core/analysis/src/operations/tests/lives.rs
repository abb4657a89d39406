//! Connections opened and closed within one request.

use super::*;

#[derive(Default)]
struct Timeline(Vec<(u64, Passed)>);

enum Passed {
    Arrived(u32),
    Opened(u32),
    Exchange(Box<Exchange>, Protocol),
}

impl Timeline {
    /// A page of PHP on HTTP connection `page`: connects, queries three times, sends the first byte
    /// and queries again, closes connection `lane`, and sends the rest for `rest`.
    fn page(&mut self, page: u32, lane: u32, from: u64, rest: u64) {
        let replied = from + 2_000;
        self.0.push((from, Passed::Arrived(page)));
        self.0.push((from + 100, Passed::Opened(lane)));
        let mut handshake = exchange(lane, Phase::Connect, from + 100, 0, 0);
        (
            handshake.request_bytes,
            handshake.reply_bytes,
            handshake.executions,
        ) = (0, 0, 0);
        let asked = [from + 300, from + 800, from + 1_300, replied - 150];
        let mut work = vec![handshake];
        work.extend(asked.map(|at| exchange(lane, Phase::Work, at, 100, 0)));
        for exchange in work {
            let ended = from + exchange.ended().since(at(from)).as_micros() as u64;
            self.0
                .push((ended, Passed::Exchange(exchange.into(), Protocol::Mysql)));
        }
        let mut goodbye = exchange(lane, Phase::Close, replied + 60, 0, 0);
        (goodbye.turns, goodbye.fingerprint, goodbye.executions) = (0, None, 0);
        goodbye.first.reply_started = None;
        goodbye.first.reply_ended = None;
        self.0
            .push((replied + 60, Passed::Exchange(goodbye.into(), Protocol::Mysql)));
        let mut reply = exchange(page, Phase::Work, from, 1_900, rest);
        reply.first.server_inside_reply = micros(if rest > 100 { rest } else { 0 });
        self.0
            .push((replied + rest, Passed::Exchange(reply.into(), Protocol::Http)));
    }

    fn operations(mut self) -> Vec<Operation> {
        let mut run = Run::new(Rule::Http);
        run.opened(0, host(1, 40_000), host(2, 80));
        run.opened(1, host(1, 40_001), host(2, 80));
        run.opened(2, host(1, 40_002), host(2, 80));
        run.opened(3, host(1, 40_003), host(2, 80));
        self.0.sort_by_key(|(at, _)| *at);
        for (microseconds, passed) in self.0 {
            match passed {
                Passed::Arrived(connection) => run.fact(Fact::Started {
                    connection: ConnectionId(connection),
                    at: at(microseconds),
                    fingerprint: Some(Arc::from("GET /page")),
                    request: None,
                }),
                Passed::Opened(lane) => {
                    let client = host(2, 50_000 + lane as u16);
                    run.opened_at(microseconds, lane, client, host(3, 3306));
                }
                Passed::Exchange(exchange, protocol) => run.exchange(*exchange, protocol),
            }
        }
        run.finish().0
    }
}

fn lanes(operations: &[Operation]) -> Vec<(u32, Vec<u32>)> {
    let mut pages: Vec<(Timestamp, u32, Vec<u32>)> = Vec::new();
    for operation in operations {
        let of = |step: &OperationStep| step.exchange.connection.0;
        let (http, lanes): (Vec<u32>, Vec<u32>) = operation.steps.iter().map(of).partition(|lane| *lane < 10);
        pages.push((operation.at, http[0], lanes));
    }
    pages.sort();
    pages.into_iter().map(|(_, page, lanes)| (page, lanes)).collect()
}

#[test]
fn a_response_that_pauses_gets_nothing_of_connections_that_others_opened_and_closed() {
    let mut timeline = Timeline::default();
    timeline.page(0, 10, 0, 24_000);
    for round in 0..9 {
        timeline.page(1, 11 + round, 500 + 2_500 * u64::from(round), 300);
    }
    let pages = lanes(&timeline.operations());
    assert_eq!(pages.len(), 10);
    for (position, (page, lanes)) in pages.iter().enumerate() {
        assert_eq!(*page, u32::from(position > 0));
        assert_eq!(*lanes, [10 + position as u32; 6]);
    }
}

#[test]
fn a_request_that_arrives_later_gets_nothing_of_an_older_connection() {
    let mut timeline = Timeline::default();
    // Five show that each connection belongs to one page.
    for round in 0..5 {
        timeline.page(0, 10 + round, 10_000 * u64::from(round), 300);
    }
    // The last statement of the sixth ends after its response, with only the other page in flight.
    timeline.page(0, 15, 50_000, 20);
    timeline.page(1, 16, 51_800, 300);
    let pages = lanes(&timeline.operations());
    assert_eq!(
        pages[5],
        (0, vec![15; 4]),
        "its last statement was not waited for"
    );
    assert_eq!(pages[6], (1, vec![16; 6]));
}

/// A page of PHP that works on: connects, queries twice before its reply at 2 ms, commits after it,
/// asks on a further connection, and closes both.
fn page_that_works_on(page: u32, lane: u32, from: u64) -> Vec<(u64, Passed)> {
    let mut passed = vec![(from, Passed::Arrived(page))];
    let replied = from + 2_000;
    let mut pass = |lane: u32, phase: Phase, at: u64, text: &str| {
        let mut exchange = exchange(lane, phase, at, 50, 0);
        exchange.fingerprint = Some(Arc::from(text));
        if phase == Phase::Connect {
            passed.push((at, Passed::Opened(lane)));
            (exchange.request_bytes, exchange.reply_bytes) = (0, 0);
            (exchange.executions, exchange.fingerprint) = (0, None);
        }
        if phase == Phase::Close {
            (exchange.turns, exchange.executions, exchange.fingerprint) = (0, 0, None);
            (exchange.first.reply_started, exchange.first.reply_ended) = (None, None);
        }
        let ended = at + if phase == Phase::Close { 0 } else { 150 };
        passed.push((ended, Passed::Exchange(exchange.into(), Protocol::Mysql)));
    };
    pass(lane, Phase::Connect, from + 100, "");
    pass(lane, Phase::Work, from + 300, "select page");
    pass(lane, Phase::Work, from + 1_300, "select user");
    pass(lane, Phase::Work, replied + 300, "commit");
    pass(lane + 1, Phase::Connect, replied + 600, "");
    pass(lane + 1, Phase::Work, replied + 800, "select job");
    pass(lane + 1, Phase::Work, replied + 1_000, "delete job");
    pass(lane, Phase::Close, replied + 1_250, "");
    pass(lane + 1, Phase::Close, replied + 1_300, "");
    let reply = exchange(page, Phase::Work, from, 1_900, 0);
    passed.push((replied, Passed::Exchange(reply.into(), Protocol::Http)));
    passed
}

/// The work that each page waited for and that followed its reply, by connection.
fn works(timeline: Timeline) -> Vec<(Vec<u32>, Vec<u32>)> {
    let mut operations = timeline.operations();
    operations.sort_by_key(|operation| operation.at);
    let of = |step: &OperationStep| step.exchange.connection.0;
    let each = operations.iter().map(|page| {
        let waited = page.steps.iter().map(of).filter(|lane| *lane >= 10);
        (waited.collect(), page.after_reply.iter().map(of).collect())
    });
    each.collect()
}

#[test]
fn a_connection_used_after_the_reply_is_not_the_next_request_s() {
    let mut timeline = Timeline::default();
    // The next one arrives 500 us after the reply, and its program connects in the middle of that work.
    for round in 0..8 {
        let page = page_that_works_on(0, 10 + 2 * round, 2_500 * u64::from(round));
        timeline.0.extend(page);
    }
    for (round, (waited, after)) in works(timeline).into_iter().enumerate() {
        let lane = 10 + 2 * round as u32;
        assert_eq!(waited, [lane; 3], "{round}");
        assert_eq!(
            after,
            [lane, lane + 1, lane + 1, lane + 1, lane, lane + 1],
            "{round}"
        );
    }
}

#[test]
fn programs_that_work_on_are_told_apart_among_several_clients() {
    let mut timeline = Timeline::default();
    for round in 0..30_u32 {
        let late = [0, 130, 90][round as usize % 3];
        let from = 900 * u64::from(round) + late;
        let page = page_that_works_on(round % 4, 10 + 2 * round, from);
        timeline.0.extend(page);
    }
    for (round, (waited, after)) in works(timeline).into_iter().enumerate() {
        let lane = 10 + 2 * round as u32;
        assert_eq!(waited, [lane; 3], "{round}");
        assert_eq!(after.len(), 6, "{round}");
    }
}
