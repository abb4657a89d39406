//! Replays in memory, exact to the nanosecond.

#[path = "../../tests/replay/made.rs"]
mod made;

use super::memory::Memory;
use super::run::Run;
use super::{ReplayError, ReplayMeasurements, ReplayPlan, ReplayScript};
use made::{exchange, handshake, millis, operation, served};
use model::{Operation, OperationStep, Protocol, Timestamp};
use std::time::Duration;
use sys::StopToken;

const ONCE: ReplayPlan = ReplayPlan {
    clients: 1,
    rounds: 1,
    warm_up: 0,
    pause: Duration::ZERO,
    stagger: Duration::ZERO,
    longest: Duration::from_secs(60),
};

fn played(operation: &Operation, plan: &ReplayPlan) -> Result<ReplayMeasurements, ReplayError> {
    let script = ReplayScript::new(operation, &|step| step.protocol.is_database())?;
    Run::new(&script, Memory::default(), plan, &StopToken::never()).play()
}

fn takes(operation: &Operation, duration: Duration) {
    let outcome = played(operation, &ONCE).expect("it is replayed");
    assert_eq!(
        (outcome.durations, outcome.lateness),
        (vec![duration], Duration::ZERO)
    );
}

fn later(mut step: OperationStep, client_before: Duration) -> OperationStep {
    step.client_before = client_before;
    step
}

fn at_start(mut step: OperationStep) -> OperationStep {
    step.after_start = true;
    step
}

#[test]
fn exchanges_in_sequence_take_the_sum_of_their_times() {
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
fn a_pipelined_batch_is_answered_one_after_another_without_waiting_to_ask() {
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
fn connections_side_by_side_wait_together() {
    let mut steps = vec![];
    for connection in 0..8 {
        steps.push(handshake(connection, None));
        let place = steps.len() as u32 - 1;
        steps.push(served(exchange(connection, [60, 200], Some(place)), millis(200)));
    }
    takes(&operation(steps), millis(200));
}

#[test]
fn what_waits_for_several_waits_for_the_slowest() {
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
fn a_server_that_speaks_first_greets_when_the_connection_is_there() {
    let greeting = served(exchange(0, [0, 90], Some(0)), millis(20));
    let login = served(exchange(0, [100, 11], Some(1)), millis(10));
    takes(&operation(vec![handshake(0, None), greeting, login]), millis(30));
}

#[test]
fn a_page_that_stays_waits_for_the_database_that_moves() {
    let mut page = served(exchange(0, [300, 5000], None), millis(15));
    page.protocol = Protocol::Http;
    page.reply_after = Some(2);
    let first = at_start(served(exchange(1, [60, 200], Some(0)), millis(10)));
    let second = later(served(exchange(1, [60, 200], Some(1)), millis(10)), millis(5));
    takes(&operation(vec![page, first, second]), millis(40));
}

#[test]
fn a_moved_page_waits_for_the_moved_database_too() {
    let mut page = served(exchange(0, [300, 5000], None), millis(15));
    page.reply_after = Some(1);
    let query = at_start(later(
        served(exchange(1, [60, 200], Some(0)), millis(10)),
        millis(5),
    ));
    takes(&operation(vec![page, query]), millis(30));
}

#[test]
fn steps_of_one_exchange_follow_each_other_and_time_inside_a_message_is_kept() {
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
fn a_wait_nobody_can_explain_is_kept_whole() {
    let mut step = exchange(0, [60, 200], None);
    let first = &mut step.exchange.first;
    first.server_side_rtt = None;
    first.reply_started = Some(first.request_ended.after(millis(30)));
    first.reply_ended = first.reply_started;
    takes(&operation(vec![step]), millis(30));
}

#[test]
fn messages_without_bytes_are_replayed_as_one_byte() {
    takes(
        &operation(vec![served(exchange(0, [0, 0], None), millis(5))]),
        millis(5),
    );
}

#[test]
fn clients_at_once_each_begin_again_when_they_are_through() {
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
    assert!(outcome.durations.iter().all(|took| *took == millis(50)));
    assert_eq!(outcome.span, millis(150));
}

#[test]
fn a_replay_that_is_not_through_in_time_says_what_was_missing() {
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
