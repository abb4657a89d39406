use super::*;
use crate::empty_exchange::no_exchange;
use model::{Exchange, Protocol, Step};
use std::sync::Arc;

#[derive(Clone, Copy)]
enum Client {
    /// Fewer replies than this are expected.
    Window(usize),
    /// This many were sent and all are answered.
    Batches(usize),
    Free,
}

const US: Duration = Duration::from_micros(1);
const FLIGHT: Duration = Duration::from_micros(15);
const READ: Duration = Duration::from_micros(9);

/// `count` requests, written in `writing(number)` each, answered in `serving` each, as seen at the
/// client.
fn run(
    client: Client,
    count: usize,
    writing: impl Fn(usize) -> Duration,
    serving: Duration,
) -> Vec<OperationStep> {
    let mut times: Vec<[Timestamp; 2]> = Vec::new();
    let (mut now, mut free) = (Timestamp::from_nanos(1_000_000_000), Timestamp::default());
    for number in 0..count {
        let needed = match client {
            Client::Window(size) => number.checked_sub(size),
            Client::Batches(size) if number % size == 0 => number.checked_sub(1),
            Client::Batches(_) | Client::Free => None,
        };
        if let Some([_, replied]) = needed.map(|needed| times[needed])
            && replied > now
        {
            now = replied.after(READ);
        }
        now = now.after(writing(number));
        free = free.max(now.after(FLIGHT)).after(serving);
        times.push([now, free.after(FLIGHT)]);
    }
    let pending = |number: usize| {
        number
            .checked_sub(1)
            .is_some_and(|before| times[before][1] > times[number][0])
    };
    (0..count)
        .map(|number| step(times[number], !pending(number), "SET ? ?"))
        .collect()
}

fn step([sent, replied]: [Timestamp; 2], turn: bool, fingerprint: &str) -> OperationStep {
    let first = Step {
        request_started: sent,
        request_ended: sent,
        reply_started: Some(replied),
        reply_ended: Some(replied),
        turn,
        client_side_rtt: Some(Duration::ZERO),
        server_side_rtt: Some(2 * FLIGHT),
        ..no_exchange().first
    };
    let exchange = Exchange {
        at: sent,
        turns: u32::from(turn),
        fingerprint: Some(Arc::from(fingerprint)),
        first,
        ..no_exchange()
    };
    OperationStep::first(exchange, Protocol::Redis)
}

fn found(steps: &[OperationStep]) -> Vec<Option<Pipelined>> {
    let moments: Vec<Moment> = steps.iter().map(Moment::from_step).collect();
    find(steps, &moments, &vec![None; steps.len()])
}

fn uneven(least: Duration) -> impl Fn(usize) -> Duration {
    move |number| least + least * (number as u32 * 7 % 11) / 44
}

#[test]
fn who_sends_without_waiting_waits_for_no_reply_that_it_happens_to_get() {
    // The server is sometimes quicker: replies arrive while the client writes, and at times none is
    // expected.
    let steps = run(Client::Free, 400, uneven(20 * US), 6 * US);
    assert!(steps.iter().filter(|step| step.exchange.first.turn).count() < 400);
    let found = found(&steps);
    for (place, found) in found.iter().enumerate().skip(1) {
        let behind = Pipelined {
            behind: place as u32 - 1,
            window: None,
        };
        assert_eq!(*found, Some(behind), "{place}");
    }
}

#[test]
fn a_window_that_is_used_up_time_and_again_is_waited_for() {
    let steps = run(Client::Window(16), 400, uneven(2 * US), 10 * US);
    let found = found(&steps);
    for (place, found) in found.iter().enumerate().skip(16) {
        let behind = Pipelined {
            behind: place as u32 - 1,
            window: Some(place as u32 - 16),
        };
        assert_eq!(*found, Some(behind), "{place}");
    }
    assert!(
        found[1..16]
            .iter()
            .all(|found| found.is_some_and(|found| found.window.is_none()))
    );
}

#[test]
fn batches_wait_for_their_last_reply() {
    let steps = run(Client::Batches(16), 400, |_| Duration::ZERO, 3 * US);
    assert!(found(&steps).iter().all(Option::is_none));
}

#[test]
fn one_after_another_nothing_is_pipelined() {
    assert!(found(&run(Client::Window(1), 100, uneven(2 * US), 5 * US)).is_empty());
}

#[test]
fn a_pair_of_statements_that_was_never_sent_at_once_waits() {
    let mut steps = run(Client::Free, 400, uneven(20 * US), 6 * US);
    let last = steps.last().expect("steps").exchange.ended();
    let commit = step([last.after(50 * US), last.after(90 * US)], true, "commit");
    steps.push(commit);
    assert_eq!(found(&steps).last(), Some(&None));
}

#[test]
fn a_known_window_needs_no_evidence() {
    // All replies are back before the window is full.
    let steps = run(Client::Window(256), 1000, uneven(20 * US), 6 * US);
    let mut operation = Operation {
        id: 0,
        kind: model::OperationKind::Whole,
        name: "made".into(),
        at: Timestamp::default(),
        duration: Duration::ZERO,
        turns: 0,
        connections: 1,
        attribution: model::Attribution::default(),
        setup: Duration::ZERO,
        client_after: Duration::ZERO,
        continues: false,
        transactions: Vec::new(),
        after_reply: Vec::new(),
        steps,
    };
    limit_under_way(&mut operation, 256);
    let windows: Vec<_> = operation
        .steps
        .iter()
        .map(|step| step.also_after.first().copied())
        .collect();
    assert!(windows[..256].iter().all(Option::is_none));
    assert!(
        windows
            .iter()
            .enumerate()
            .skip(256)
            .all(|(place, window)| *window == Some(place as u32 - 256))
    );
    let step = &operation.steps[999];
    assert_eq!((step.after, step.after_start), (Some(998), true));
}
