//! Replays over loopback sockets, in any time: times are exact in `src/replay/tests.rs`.

mod made;

use made::{exchange, handshake, millis, operation, served};
use model::{Operation, OperationStep, Protocol};
use relay::replay::{Ends, ReplayError, ReplayMeasurements, ReplayPlan, ReplayScript, client_socket, replay};
use std::net::TcpListener;
use std::time::{Duration, Instant};
use sys::StopToken;

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

fn without_reply(mut step: OperationStep) -> OperationStep {
    step.exchange.first.reply_started = None;
    step.exchange.first.reply_ended = None;
    step
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

    let everybody = ReplayPlan { clients: 401, ..ONCE };
    let error = played(&operation(vec![exchange(0, [1, 1], None)]), &everybody).expect_err("too many");
    assert!(matches!(error, ReplayError::TooManyConnections { .. }), "{error}");

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
