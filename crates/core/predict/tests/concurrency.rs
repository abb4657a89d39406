//! Dependencies determined from all operations of a name.

mod made;

use made::{Made, operation, operation_step, step};
use model::{Operation, OperationKind, OrderKind, Prediction, Timestamp};
use predict::{PredictionTarget, Predictor};
use std::time::Duration;

/// Connection, start and end in microseconds from the operation's start, statement.
type Query = (u32, u64, u64, &'static str);

const fn micros(number: u64) -> Duration {
    Duration::from_micros(number)
}

/// An operation seen by a relay at its client without distance; each query waits for the last one
/// that ended before it, as in `analysis`.
fn page(name: &str, number: u64, queries: &[Query]) -> Operation {
    let begin = Timestamp::from_nanos(1_000_000_000_000).after(Duration::from_millis(100) * number as u32);
    let ended = |query: &Query| query.2;
    let steps = queries.iter().enumerate().map(|(index, query)| {
        let (connection, from, to, statement) = *query;
        let made = Made::query(50, 50).on(connection).server(micros(to - from));
        let mut one = operation_step(&made, step(begin.after(micros(from)), Duration::ZERO, &made));
        one.exchange.fingerprint = Some(statement.into());
        let before = queries[..index]
            .iter()
            .enumerate()
            .filter(|(_, other)| other.2 <= from);
        let last = before.max_by_key(|(_, other)| ended(other));
        one.after = last.map(|(place, _)| place as u32);
        one.client_before = micros(from - last.map_or(0, |(_, other)| other.2));
        one
    });
    let steps: Vec<_> = steps.collect();
    let end = queries.iter().map(ended).max().unwrap_or_default();
    Operation {
        name: name.into(),
        kind: OperationKind::Http,
        id: number,
        ..operation(begin, micros(end + 50), steps)
    }
}

fn predicted(pages: &[Operation], links: &[&str]) -> Vec<Prediction> {
    let targets = links.iter().map(|link| PredictionTarget {
        link: link.parse().expect("a link"),
        clients: 1,
    });
    let mut predictor = Predictor::new(targets.collect(), Box::new(|_| true));
    pages.iter().for_each(|page| predictor.add(page));
    predictor.finish()
}

fn rounds(pages: &[Operation]) -> u64 {
    rounds_of(&predicted(pages, &["rtt=20ms"])[0])
}

fn rounds_of(prediction: &Prediction) -> u64 {
    (prediction.duration.as_secs_f64() / 0.020).round() as u64
}

const Q: &str = "select ?";

/// Four queries at once; in one run the replies came late enough to show it.
fn gathered(number: u64) -> Operation {
    let late = if number.is_multiple_of(4) { 300 } else { 0 };
    page(
        "gathered",
        number,
        &[
            (1, 100, 250 + late, Q),
            (2, 300, 450 + late, Q),
            (3, 500, 650 + late, Q),
            (4, 700, 900, Q),
        ],
    )
}

#[test]
fn queries_sent_at_once_by_an_event_loop_wait_at_once() {
    let pages: Vec<Operation> = (0..8).map(gathered).collect();
    let predictions = predicted(&pages, &["rtt=5ms", "rtt=20ms"]);
    for prediction in &predictions {
        assert_eq!(rounds_of_link(prediction), 1, "{prediction:?}");
        let order = prediction.order.expect("four connections");
        assert_eq!(
            (order.kind, order.looked_at, order.at_once),
            (OrderKind::AtOnce, 8, 2)
        );
        assert!((prediction.turns - 4.0).abs() < 1e-9 && (prediction.slope - 1.0).abs() < 0.01);
    }
}

fn rounds_of_link(prediction: &Prediction) -> u64 {
    (prediction.duration.as_secs_f64() / prediction.rtt.as_secs_f64()) as u64
}

#[test]
fn a_pool_that_gives_out_its_connections_in_turn_stays_sequential() {
    let in_turn = |number: u64| {
        let connection = |place: u64| 1 + ((number * 3 + place) % 5) as u32;
        page(
            "in turn",
            number,
            &[
                (connection(0), 100, 250, Q),
                (connection(1), 500, 650 + number * 20, Q),
                (connection(2), 1100, 1300, Q),
            ],
        )
    };
    let pages: Vec<Operation> = (0..8).map(in_turn).collect();
    let prediction = &predicted(&pages, &["rtt=20ms"])[0];
    assert_eq!(rounds_of(prediction), 3);
    assert_eq!(
        prediction.order.expect("several connections").kind,
        OrderKind::InSequence
    );
    assert!(prediction.low > Duration::from_millis(55));
}

#[test]
fn few_operations_leave_it_open_and_both_answers_are_the_bounds() {
    let once = page(
        "once",
        0,
        &[
            (1, 100, 250, Q),
            (2, 700, 850, "select b"),
            (3, 1300, 1450, "select c"),
        ],
    );
    let prediction = &predicted(&[once], &["rtt=20ms"])[0];
    assert_eq!(
        prediction.order.expect("several connections").kind,
        OrderKind::Open
    );
    assert_eq!(rounds_of(prediction), 3);
    assert!(prediction.low < Duration::from_millis(24), "{:?}", prediction.low);
    assert!(
        prediction.high > Duration::from_millis(60),
        "{:?}",
        prediction.high
    );
}

#[test]
fn what_one_operation_of_many_does_is_not_said_of_the_name() {
    let usual = |number: u64| page("usual", number, &[(1, 100, 250, Q), (1, 700, 850, "select b")]);
    // A scheduler's statement came between them.
    let other = page(
        "usual",
        24,
        &[
            (1, 100, 250, Q),
            (2, 400, 450, "select due"),
            (1, 700, 850, "select b"),
        ],
    );
    let pages: Vec<Operation> = (0..24).map(usual).chain([other]).collect();
    let prediction = &predicted(&pages, &["rtt=20ms"])[0];
    let order = prediction.order.expect("one with two connections");
    assert_eq!((order.kind, order.looked_at), (OrderKind::InSequence, 1));
}

#[test]
fn a_connection_held_while_another_is_used_is_no_concurrency() {
    let held = |number: u64| {
        page(
            "held",
            number,
            &[
                (1, 100, 250, Q),
                (2, 600, 750, "select b"),
                (1, 1000, 1150, Q),
                (2, 1500, 1650, "select b"),
            ],
        )
    };
    let pages: Vec<Operation> = (0..8).map(held).collect();
    assert_eq!(rounds(&pages), 4);
}

#[test]
fn twenty_queries_over_four_connections_wait_for_a_free_one() {
    // Without distance one connection has more than its share; the result is still five rounds of
    // four.
    let order = [1, 2, 3, 4, 1, 2, 3, 1, 2, 3, 4, 1, 2, 3, 1, 2, 4, 1, 2, 3];
    let all = |number: u64| {
        let mut free = [0_u64; 5];
        let mut queries: Vec<Query> = Vec::new();
        for (place, connection) in order.into_iter().enumerate() {
            let begin = (100 + 120 * place as u64).max(free[connection] + 30);
            let end = begin + 180;
            free[connection] = end;
            queries.push((connection as u32, begin, end, Q));
        }
        queries.sort_by_key(|query| query.1);
        page("all", number, &queries)
    };
    let pages: Vec<Operation> = (0..8).map(all).collect();
    let prediction = &predicted(&pages, &["rtt=20ms"])[0];
    assert_eq!(rounds_of(prediction), 5, "{:?}", prediction.duration);
    assert!(prediction.slope < 5.5);
}

#[test]
fn the_next_query_waits_for_all_that_went_at_once() {
    let joined = |number: u64| {
        page(
            "joined",
            number,
            &[
                (1, 100, 250, "select a"),
                (2, 200, 380, "select b"),
                (2, 410, 500, "select c"),
                (1, 800, 950, "select d"),
            ],
        )
    };
    let pages: Vec<Operation> = (0..8).map(joined).collect();
    // b and c in sequence, parallel to a, then d.
    assert_eq!(rounds(&pages), 3);
}

#[test]
fn a_pool_that_gives_back_the_last_one_has_the_others_in_use() {
    // No reply is ever late, but where one query follows another this pool returns the same
    // connection again.
    let quick = |number: u64| {
        let last = |turn: u64| 1 + (turn % 2) as u32;
        if number.is_multiple_of(2) {
            let same = last(number / 2);
            return page(
                "one by one",
                number,
                &[(same, 100, 200, "a"), (same, 400, 500, "b")],
            );
        }
        let (first, second) = (last(number / 2), last(number / 2 + 1));
        page(
            "at once",
            number,
            &[(first, 100, 200, "c"), (second, 500, 600, "d")],
        )
    };
    let pages: Vec<Operation> = (0..24).map(quick).collect();
    let predictions = predicted(&pages, &["rtt=20ms"]);
    let of = |name: &str| {
        predictions
            .iter()
            .find(|one| &*one.operation_name == name)
            .expect(name)
    };
    assert_eq!((rounds_of(of("one by one")), rounds_of(of("at once"))), (2, 1));
}

fn begun_at(mut one: Operation, since: Duration) -> Operation {
    let at = Timestamp::from_nanos(1_000_000_000_000).after(since);
    let by = one.at.since(at);
    one.at = at;
    for step in &mut one.steps {
        let first = &mut step.exchange.first;
        first.request_started = first.request_started.before(by);
        first.request_ended = first.request_ended.before(by);
        first.reply_started = first.reply_started.map(|time| time.before(by));
        first.reply_ended = first.reply_ended.map(|time| time.before(by));
        step.exchange.at = step.exchange.at.before(by);
    }
    one
}

/// Four queries by as many threads with a connection each. Without distance a thread often starts
/// its next query before another has begun.
fn by_threads(number: u64) -> Operation {
    let spread = [
        (1, 100, 300, Q),
        (2, 150, 350, Q),
        (3, 200, 400, Q),
        (4, 250, 450, Q),
    ];
    let three = [
        (1, 100, 300, Q),
        (2, 150, 350, Q),
        (1, 320, 500, Q),
        (3, 360, 520, Q),
    ];
    let two = [
        (1, 100, 300, Q),
        (2, 150, 350, Q),
        (1, 320, 500, Q),
        (2, 370, 520, Q),
    ];
    page("threads", number, [&spread, &three, &two][number as usize % 3])
}

#[test]
fn a_thread_that_was_back_for_the_next_query_did_not_wait_for_its_own() {
    let pages: Vec<Operation> = (0..9).map(by_threads).collect();
    assert_eq!(rounds(&pages), 1);
}

#[test]
fn beside_other_operations_a_connection_that_is_idle_is_not_taken_for_free() {
    let crowded = |number| {
        let one = by_threads(number);
        begun_at(one, micros(200) * number as u32)
    };
    let pages: Vec<Operation> = (0..9).map(crowded).collect();
    assert_eq!(rounds(&pages), 2);
}

#[test]
fn operations_beside_others_are_no_proof_by_themselves() {
    // The cause of each exchange is uncertain there: one overlap in ten operations is not accepted.
    let beside = |number: u64| {
        let early = if number == 3 { 200 } else { 0 };
        let one = page(
            "beside",
            number,
            &[(1, 100, 250, Q), (2, 400 - early, 600, "select b")],
        );
        begun_at(one, micros(500) * number as u32)
    };
    let pages: Vec<Operation> = (0..10).map(beside).collect();
    assert_eq!(rounds(&pages), 2);
}

#[test]
fn a_connection_that_was_back_so_soon_that_it_was_used_again_is_not_waited_for() {
    let quick = |number: u64| {
        if number == 5 {
            let again = [
                (3, 100, 250, Q),
                (1, 130, 280, Q),
                (4, 150, 310, Q),
                (4, 330, 480, Q),
            ];
            return page("quick", number, &again);
        }
        page(
            "quick",
            number,
            &[
                (1, 100, 250, Q),
                (2, 130, 280, Q),
                (3, 150, 310, Q),
                (4, 170, 330, Q),
            ],
        )
    };
    let pages: Vec<Operation> = (0..8).map(quick).collect();
    let prediction = &predicted(&pages, &["rtt=20ms"])[0];
    assert!(
        prediction.spread.max < Some(Duration::from_millis(24)),
        "{:?}",
        prediction.spread
    );
}

#[test]
fn connections_whose_setups_are_interleaved_are_opened_at_once() {
    // The kernel answers a handshake before a program can begin the next: only the order of the
    // setups shows it.
    let mut opened = page(
        "opened",
        0,
        &[
            (1, 100, 110, "connect"),
            (2, 300, 310, "connect"),
            (1, 400, 700, "login"),
            (2, 800, 1100, "login"),
        ],
    );
    for step in &mut opened.steps {
        let handshake = step.exchange.fingerprint.as_deref() == Some("connect");
        step.exchange.phase = if handshake {
            model::Phase::Connect
        } else {
            model::Phase::Login
        };
        step.exchange.fingerprint = None;
    }
    assert_eq!(rounds(&[opened]), 2);
}

/// S_1 names a different statement on each connection: concurrency on two connections says nothing
/// about two others.
#[test]
fn statements_that_are_only_known_by_their_name_are_of_their_connection() {
    let of = |statement: &'static str| -> Vec<Operation> {
        let page = |number: u64| match number.is_multiple_of(4) {
            true => page(
                "page",
                number,
                &[(1, 100, 600, statement), (2, 300, 800, statement)],
            ),
            false => page(
                "page",
                number,
                &[(3, 100, 250, statement), (4, 500, 650, statement)],
            ),
        };
        (0..16).map(page).collect()
    };
    assert_eq!(rounds(&of("(prepared S_1)")), 2);
    assert_eq!(rounds(&of(Q)), 1, "one statement whose text was seen");
}

/// Two concurrent chains of one statement, with two and five queries, each on a separate
/// connection.
fn chained(number: u64) -> Operation {
    let late = 40 * (number % 4);
    let short = (0..2).map(|round| (1, 100 + 200 * round, 250 + 200 * round, Q));
    let long = (0..5).map(|round| (2, 120 + late + 200 * round, 270 + late + 200 * round, Q));
    let mut queries: Vec<Query> = short.chain(long).collect();
    queries.sort_by_key(|query| query.1);
    page("chained", number, &queries)
}

#[test]
fn chains_of_unequal_length_are_no_queue_of_a_pool() {
    let pages: Vec<Operation> = (0..8).map(chained).collect();
    assert_eq!(rounds(&pages), 5);
}

#[test]
fn what_runs_beside_requests_and_is_none_makes_nothing_less_certain() {
    let beat = |number| Operation {
        kind: OperationKind::Transaction,
        id: number + 100,
        ..page("beat", number, &[(9, 0, 5_000, "select beat")])
    };
    let requests: Vec<Operation> = (0..8).map(gathered).collect();
    let both: Vec<Operation> = (0..8)
        .flat_map(|number| [gathered(number), beat(number)])
        .collect();
    let of = |operations: &[Operation]| {
        let all = predicted(operations, &["rtt=20ms"]);
        let page = all.iter().find(|one| &*one.operation_name == "gathered");
        let page = page.expect("the page is predicted");
        (rounds_of(page), page.low, page.high, page.order)
    };
    assert_eq!(of(&both), of(&requests));
    assert_eq!(of(&requests).0, 1);
}
