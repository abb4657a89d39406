//! Savings of remedies, from operations replayed without the left-out exchanges.

mod made;

use made::{Made, in_sequence};
use model::{FindingKey, FindingKind, LeftOut, Operation};
use predict::remedies::RemedySum;
use predict::{PredictionTarget, Predictor};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);
const US: Duration = Duration::from_micros(1);

fn key(kind: FindingKind) -> FindingKey {
    FindingKey {
        kind,
        fingerprint: Some("select ?".into()),
        operation_name: "made".into(),
    }
}

/// Replays an operation at 40 ms without these wasteful steps. Returns the saving, the full time,
/// and the time without all waste.
fn replayed(
    operation: Operation,
    kind: FindingKind,
    steps: &[u32],
) -> (RemedySum, Duration, Option<Duration>) {
    let target = PredictionTarget {
        link: "rtt=40ms".parse().expect("a link"),
        clients: 1,
    };
    let mut predictor = Predictor::new(vec![target], Box::new(|_| true));
    let left_out = LeftOut {
        finding: key(kind),
        steps: steps.to_vec(),
        held_back: Vec::new(),
    };
    predictor.take_with(operation, vec![left_out]);
    let predicted = predictor.finish_all();
    let sum = predicted
        .remedies
        .remedy_sum(&key(kind), 0)
        .expect("it was replayed without");
    let typical = predicted.predictions[0].examples.expect("an example").typical;
    (sum.clone(), typical.predicted, typical.without)
}

#[test]
fn round_trips_one_after_another_are_saved_each_and_other_work_stays() {
    let queries = [Made::query(10, 10).server(MS); 5];
    let operation = in_sequence(MS, &queries);
    let (sum, takes, without) = replayed(operation, FindingKind::ControlTurns, &[1, 2, 3, 4]);
    assert_eq!(sum.saved(), [160 * MS; 3]);
    assert_eq!(takes, 205 * MS);
    assert_eq!(sum.left(), [45 * MS; 3]);
    assert_eq!(without, Some(45 * MS));
}

#[test]
fn one_statement_for_all_spares_what_each_takes_by_itself() {
    let each = Made::query(10, 10).server(100 * US).client_before(MS);
    let (sum, takes, without) = replayed(in_sequence(MS, &[each; 5]), FindingKind::NPlusOne, &[1, 2, 3, 4]);
    assert_eq!(takes, 5 * (41 * MS + 100 * US));
    let [least, likely, most] = sum.left();
    let kept = 41 * MS + 100 * US;
    assert_eq!(least, kept);
    // Half a millisecond belongs to the statement, the rest to the program.
    assert_eq!(likely, kept + 4 * (500 * US + 40 * US + 8 * US));
    assert_eq!(most, kept + 4 * (750 * US + 50 * US));
    assert_eq!(sum.saved(), [takes - most, takes - likely, takes - least]);
    assert_eq!(without, Some(likely));
}

#[test]
fn a_connection_that_is_kept_spares_the_work_of_opening_it() {
    let step = Made::query(10, 10).server(2 * MS).client_before(3 * MS);
    let operation = in_sequence(MS, &[Made::handshake().client_before(MS), step, step, step]);
    let (sum, ..) = replayed(operation, FindingKind::Reconnect, &[0, 1, 2]);
    assert_eq!(
        sum.left(),
        [(1 + 40 + 2 + 3) * MS; 3],
        "until it connected its client did something else"
    );
}

#[test]
fn fetched_at_once_the_bytes_come_all_the_same() {
    let fetches = [Made::query(10, 10_000); 4];
    let (sum, ..) = replayed(in_sequence(MS, &fetches), FindingKind::SmallFetch, &[1, 2, 3]);
    // Exceeds the initial window: the sender waits for an acknowledgement.
    assert_eq!(sum.left()[1].as_millis(), 80);
    let (sum, ..) = replayed(in_sequence(MS, &fetches), FindingKind::RepeatedRead, &[1, 2, 3]);
    assert_eq!(sum.left()[1].as_millis(), 40);
}

/// Times at 40 ms of pages of a kept connection, each `pause` after the previous one, with 20
/// fetches of 1.2 kB replaced by a single one.
fn pages_fetched_at_once(pause: Duration) -> [Duration; 3] {
    let target = PredictionTarget {
        link: "rtt=40ms".parse().expect("a link"),
        clients: 1,
    };
    let mut predictor = Predictor::new(vec![target], Box::new(|_| true));
    let page = in_sequence(MS, &[Made::query(10, 1_200); 20]);
    for id in 0..9 {
        let left_out = LeftOut {
            finding: key(FindingKind::SmallFetch),
            steps: (1..20).collect(),
            held_back: Vec::new(),
        };
        let operation = Operation {
            id,
            at: page.at.after((page.duration + pause) * id as u32),
            ..page.clone()
        };
        predictor.take_with(operation, vec![left_out]);
    }
    let predicted = predictor.finish_all();
    let sum = predicted.remedies.remedy_sum(&key(FindingKind::SmallFetch), 0);
    sum.expect("it was replayed without")
        .left()
        .map(|left| Duration::from_millis(left.as_millis() as u64))
}

#[test]
fn larger_replies_open_the_window_for_those_after_them() {
    assert_eq!(pages_fetched_at_once(5 * MS), [40 * MS, 40 * MS, 80 * MS]);
    assert_eq!(
        pages_fetched_at_once(Duration::from_secs(5)),
        [80 * MS; 3],
        "it has closed again"
    );
}

#[test]
fn what_ran_at_the_same_time_as_something_longer_saves_nothing() {
    // Both connections work in parallel; one has three queries, the other two.
    let mut operation = in_sequence(MS, &[Made::query(10, 10); 5]);
    for (index, after) in [None, Some(0), Some(1), None, Some(3)].into_iter().enumerate() {
        let step = &mut operation.steps[index];
        step.after = after;
        step.exchange.connection = model::ConnectionId(u32::from(index >= 3));
    }
    operation.connections = 2;
    operation.duration = 3 * MS;
    let (sum, takes, _) = replayed(operation, FindingKind::NPlusOne, &[3, 4]);
    assert_eq!(takes, 120 * MS);
    assert_eq!(sum.saved(), [Duration::ZERO; 3]);
}
