//! Replays over loopback sockets. Lower bounds are exact; upper bounds leave room for a slow machine.

mod made;

use made::{at_start, exchange, handshake, later, millis, operation, served, without_reply};
use model::{Operation, Protocol, Timestamp};
use relay::replay::{Ends, ReplayError, ReplayMeasurements, ReplayPlan, ReplayScript, client_socket, replay};
use std::net::TcpListener;
use std::time::{Duration, Instant};
use sys::StopToken;
use testbed::floor::told_on_failure;

const ONCE: ReplayPlan = ReplayPlan {
    clients: 1,
    rounds: 1,
    warm_up: 0,
    pause: Duration::ZERO,
    stagger: Duration::ZERO,
    longest: Duration::from_secs(60),
};

fn played(operation: &Operation, course: &ReplayPlan) -> Result<ReplayMeasurements, ReplayError> {
    let script = ReplayScript::new(operation, &|step| step.protocol.is_database())?;
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let address = listener.local_addr().expect("it is bound");
    let ends = Ends {
        listener,
        address,
        through_relay: false,
        open: &|| client_socket(&address),
    };
    replay(&script, &ends, course, &StopToken::never())
}

fn takes(operation: &Operation, least: Duration) -> Duration {
    let outcome = played(operation, &ONCE).expect("it is replayed");
    assert_eq!(outcome.durations.len(), 1);
    let took = outcome.durations[0];
    assert!(took >= least, "{took:?}, at least {least:?}");
    assert!(took < least * 3 + millis(500), "{took:?}, about {least:?}");
    took
}

#[test]
#[ignore = "timing: make test runs it alone"]
fn exchanges_in_sequence_take_the_sum_of_their_times() {
    let _floor = told_on_failure();
    let mut steps = vec![handshake(0, None)];
    for index in 0..20 {
        let step = served(exchange(0, [60, 200], Some(index)), millis(2));
        steps.push(later(step, millis(1)));
    }
    let mut whole = operation(steps);
    whole.client_after = millis(5);
    takes(&whole, millis(20 * 3 + 5));
}

#[test]
#[ignore = "timing: make test runs it alone"]
fn a_pipelined_batch_is_answered_one_after_another_without_waiting_to_ask() {
    let _floor = told_on_failure();
    let mut steps = vec![
        handshake(0, None),
        served(exchange(0, [60, 200], Some(0)), millis(10)),
    ];
    for index in 1..6 {
        steps.push(at_start(served(exchange(0, [60, 200], Some(index)), millis(10))));
    }
    // The client time between the requests passes while the server works on the first.
    steps[2].client_before = millis(5);
    takes(&operation(steps), millis(60));
}

#[test]
#[ignore = "timing: make test runs it alone"]
fn connections_side_by_side_wait_together() {
    let _floor = told_on_failure();
    let mut steps = vec![];
    for connection in 0..8 {
        steps.push(handshake(connection, None));
        let place = steps.len() as u32 - 1;
        steps.push(served(exchange(connection, [60, 200], Some(place)), millis(200)));
    }
    let took = takes(&operation(steps), millis(200));
    assert!(took < millis(1200), "not one after another: {took:?}");
}

#[test]
#[ignore = "timing: make test runs it alone"]
fn what_waits_for_several_waits_for_the_slowest() {
    let _floor = told_on_failure();
    let slow = served(exchange(0, [60, 200], Some(0)), millis(120));
    let quick = served(exchange(1, [60, 200], Some(1)), millis(10));
    let mut joined = served(exchange(1, [60, 200], Some(3)), millis(20));
    joined.also_after = vec![2];
    let whole = operation(vec![handshake(0, None), handshake(1, None), slow, quick, joined]);
    takes(&whole, millis(140));

    let mut page = served(exchange(2, [300, 5000], None), millis(15));
    page.protocol = Protocol::Http;
    (page.reply_after, page.reply_also_after) = (Some(1), vec![2]);
    let first = at_start(served(exchange(0, [60, 200], Some(0)), millis(10)));
    let second = at_start(served(exchange(1, [60, 200], Some(0)), millis(90)));
    takes(&operation(vec![page, first, second]), millis(105));
}

#[test]
#[ignore = "timing: make test runs it alone"]
fn a_server_that_speaks_first_greets_when_the_connection_is_there() {
    let _floor = told_on_failure();
    let greeting = served(exchange(0, [0, 90], Some(0)), millis(20));
    let login = served(exchange(0, [100, 11], Some(1)), millis(10));
    takes(&operation(vec![handshake(0, None), greeting, login]), millis(30));
}

#[test]
#[ignore = "timing: make test runs it alone"]
fn a_page_that_stays_waits_for_the_database_that_moves() {
    let _floor = told_on_failure();
    let mut page = served(exchange(0, [300, 5000], None), millis(15));
    page.protocol = Protocol::Http;
    page.reply_after = Some(2);
    let first = at_start(served(exchange(1, [60, 200], Some(0)), millis(10)));
    let second = later(served(exchange(1, [60, 200], Some(1)), millis(10)), millis(5));
    takes(&operation(vec![page, first, second]), millis(40));
}

#[test]
#[ignore = "timing: make test runs it alone"]
fn a_moved_page_waits_for_the_moved_database_too() {
    let _floor = told_on_failure();
    let mut page = served(exchange(0, [300, 5000], None), millis(15));
    page.reply_after = Some(1);
    let query = at_start(later(
        served(exchange(1, [60, 200], Some(0)), millis(10)),
        millis(5),
    ));
    takes(&operation(vec![page, query]), millis(30));
}

#[test]
fn what_nobody_answers_is_over_when_it_is_sent_and_still_arrives() {
    let mut goodbye = without_reply(exchange(0, [5, 0], Some(1)));
    goodbye.exchange.phase = model::Phase::Close;
    let work = served(exchange(0, [60, 200], Some(0)), millis(10));
    let course = ReplayPlan { rounds: 3, ..ONCE };
    let whole = operation(vec![handshake(0, None), work, goodbye]);
    let outcome = played(&whole, &course).expect("it is replayed");
    assert_eq!(outcome.durations.len(), 3);
    assert!(outcome.durations.iter().all(|took| *took >= millis(10)));
}

#[test]
#[ignore = "timing: make test runs it alone"]
fn steps_of_one_exchange_follow_each_other_and_time_inside_a_message_is_kept() {
    let _floor = told_on_failure();
    let mut copy = served(exchange(0, [60, 20], None), millis(5));
    let mut more = copy.exchange.first;
    more.request_started = more.request_started.after(millis(8));
    more.request_ended = more.request_started;
    more.client_inside_request = millis(30);
    more.request_bytes = 200_000;
    more.server = millis(25);
    more.server_inside_reply = millis(20);
    more.reply_bytes = 50_000;
    copy.exchange.more = vec![more];
    takes(&operation(vec![copy]), millis(5 + 8 + 30 + 25));
}

#[test]
#[ignore = "timing: make test runs it alone"]
fn a_wait_nobody_can_explain_is_kept_whole() {
    let _floor = told_on_failure();
    let mut step = exchange(0, [60, 200], None);
    let first = &mut step.exchange.first;
    first.server_side_rtt = None;
    first.reply_started = Some(first.request_ended.after(millis(30)));
    first.reply_ended = first.reply_started;
    takes(&operation(vec![step]), millis(30));
}

#[test]
fn large_messages_arrive_to_the_last_byte_both_ways() {
    let course = ReplayPlan {
        rounds: 2,
        warm_up: 1,
        ..ONCE
    };
    let whole = operation(vec![
        handshake(0, None),
        exchange(0, [20_000_000, 1], Some(0)),
        exchange(0, [1, 20_000_000], Some(1)),
    ]);
    let outcome = played(&whole, &course).expect("it is replayed");
    assert_eq!((outcome.durations.len(), outcome.cut), (2, false));
}

#[test]
#[ignore = "timing: make test runs it alone"]
fn messages_without_bytes_are_replayed_as_one_byte() {
    let _floor = told_on_failure();
    takes(
        &operation(vec![served(exchange(0, [0, 0], None), millis(5))]),
        millis(5),
    );
}

#[test]
#[ignore = "timing: make test runs it alone"]
fn clients_at_once_each_begin_again_when_they_are_through() {
    let _floor = told_on_failure();
    let course = ReplayPlan {
        clients: 8,
        rounds: 3,
        ..ONCE
    };
    let steps = vec![
        handshake(0, None),
        served(exchange(0, [60, 200], Some(0)), millis(50)),
    ];
    let outcome = played(&operation(steps), &course).expect("it is replayed");
    assert_eq!(outcome.durations.len(), 24);
    assert!(outcome.durations.iter().all(|took| *took >= millis(50)));
    assert!(
        outcome.span >= millis(150) && outcome.span < millis(1000),
        "{outcome:?}"
    );
    let everybody = ReplayPlan { clients: 401, ..ONCE };
    let crowd = played(&operation(vec![exchange(0, [1, 1], None)]), &everybody);
    let error = crowd.expect_err("too many");
    assert!(matches!(error, ReplayError::TooManyConnections { .. }), "{error}");
}

#[test]
fn twenty_thousand_exchanges_are_replayed() {
    let steps = (0..20_000)
        .map(|index: u32| exchange(0, [60, 200], index.checked_sub(1)))
        .collect();
    let outcome = played(&operation(steps), &ONCE).expect("it is replayed");
    assert_eq!(outcome.durations.len(), 1);
}

#[test]
fn what_cannot_be_replayed_is_refused() {
    let query = || exchange(0, [60, 200], None);
    let refused = |operation: &Operation| played(operation, &ONCE).expect_err("it is refused");

    let mut part = operation(vec![query()]);
    part.continues = true;
    assert_eq!(refused(&part), ReplayError::Partial);

    let mut page = query();
    page.protocol = Protocol::Http;
    assert_eq!(refused(&operation(vec![page])), ReplayError::NothingMoved);
    assert_eq!(refused(&operation(Vec::new())), ReplayError::NothingMoved);

    let crowd = (0..401)
        .map(|connection| exchange(connection, [1, 1], None))
        .collect();
    let most = ReplayError::TooManyConnections {
        connections: 401,
        most: 400,
    };
    assert_eq!(refused(&operation(crowd)), most);

    let flood = exchange(0, [u64::MAX, u64::MAX], None);
    assert!(matches!(
        refused(&operation(vec![flood])),
        ReplayError::TooManyBytes { .. }
    ));

    let (mut first, mut second) = (query(), exchange(1, [60, 200], None));
    first.reply_after = Some(1);
    second.reply_after = Some(0);
    assert!(matches!(
        refused(&operation(vec![first, second])),
        ReplayError::Circle { .. }
    ));
}

#[test]
#[ignore = "timing: make test runs it alone"]
fn a_replay_that_is_not_through_in_time_says_what_was_missing() {
    let _floor = told_on_failure();
    let course = ReplayPlan {
        longest: millis(100),
        ..ONCE
    };
    let slow = operation(vec![served(
        exchange(0, [60, 200], None),
        Duration::from_secs(3600),
    )]);
    let error = played(&slow, &course).expect_err("it is too slow");
    assert!(matches!(error, ReplayError::OutOfTime { .. }), "{error}");
    let never = {
        let mut operation = operation(vec![served(exchange(0, [60, 200], None), millis(1))]);
        operation.steps[0].exchange.first.reply_ended = Some(Timestamp::from_nanos(u64::MAX));
        operation
    };
    takes(&never, millis(1));
}

#[test]
fn a_replay_that_is_stopped_ends_soon_with_what_it_has() {
    let script = ReplayScript::new(
        &operation(vec![served(exchange(0, [60, 200], None), millis(30))]),
        &|_| true,
    )
    .expect("it can be replayed");
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let address = listener.local_addr().expect("it is bound");
    let ends = Ends {
        listener,
        address,
        through_relay: false,
        open: &|| client_socket(&address),
    };
    let course = ReplayPlan {
        rounds: 100_000,
        ..ONCE
    };
    let stop = StopToken::new().unwrap();
    let began = Instant::now();
    let outcome = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(millis(300));
            stop.stop();
        });
        replay(&script, &ends, &course, &stop).expect("what there is")
    });
    assert!(outcome.cut && !outcome.durations.is_empty());
    assert!(began.elapsed() < Duration::from_secs(20));
}
