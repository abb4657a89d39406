//! Open times of transactions elsewhere, calculated by hand for an ideal link.

mod made;

use made::{Made, in_sequence};
use model::{ConnectionId, HeldPrediction, HeldTime, Operation, OperationTransaction};
use predict::{PredictionTarget, Predictor};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

/// `steps` are the opening, the first write and the end.
fn transaction(name: &str, connection: u32, steps: [Option<u32>; 3]) -> OperationTransaction {
    let [opened_by, first_write, ended_by] = steps;
    OperationTransaction {
        name: name.into(),
        connection: ConnectionId(connection),
        opened_by,
        ended_by,
        first_write,
        held: HeldTime::default(),
    }
}

fn operation(exchanges: &[Made], transactions: Vec<OperationTransaction>) -> Operation {
    Operation {
        transactions,
        ..in_sequence(Duration::ZERO, exchanges)
    }
}

fn predicted(links: &[&str], operations: &[Operation]) -> Vec<HeldPrediction> {
    let targets = links.iter().map(|link| PredictionTarget {
        link: link.parse().expect("a link"),
        clients: 1,
    });
    let mut predictor = Predictor::new(targets.collect(), Box::new(|_| true));
    operations.iter().for_each(|operation| predictor.add(operation));
    predictor.finish_all().held
}

/// BEGIN, a query, a write and COMMIT: 2 ms of the server each, 1 ms of the client before each.
fn four() -> [Made; 4] {
    [Made::query(10, 10).server(2 * MS).client_before(MS); 4]
}

#[test]
fn a_transaction_is_open_from_its_arrival_until_its_last_reply_leaves() {
    let order = operation(
        &four(),
        vec![transaction("order", 0, [Some(0), Some(2), Some(3)])],
    );
    let held = predicted(&["rtt=0ms", "rtt=10ms", "rtt=40ms"], &[order]);
    let told: Vec<_> = held
        .iter()
        .map(|one| (one.rtt, one.median, one.rows_held))
        .collect();
    // 4 x 2 ms of the server, 3 x 1 ms of the client and three round trips; half of it after the
    // write's arrival.
    assert_eq!(
        told,
        [
            (Duration::ZERO, 11 * MS, Some(5 * MS)),
            (10 * MS, 41 * MS, Some(15 * MS)),
            (40 * MS, 131 * MS, Some(45 * MS)),
        ]
    );
    assert!(
        held.iter()
            .all(|one| one.replays == 1 && one.longest == one.median)
    );
}

#[test]
fn transactions_of_an_operation_are_told_apart_and_one_that_only_reads_holds_no_rows() {
    let exchanges = [four(), four()].concat();
    let page = operation(
        &exchanges,
        vec![
            transaction("first", 0, [Some(0), None, Some(3)]),
            transaction("second", 0, [Some(4), Some(5), Some(7)]),
        ],
    );
    let mut held = predicted(&["rtt=10ms"], &[page]);
    held.sort_by_key(|one| one.name.clone());
    let told: Vec<_> = held
        .iter()
        .map(|one| (&*one.name, one.median, one.rows_held))
        .collect();
    assert_eq!(
        told,
        [("first", 41 * MS, None), ("second", 41 * MS, Some(28 * MS))]
    );
}

#[test]
fn the_parts_of_a_long_operation_are_one_transaction() {
    let part = |id, continues, steps| Operation {
        id,
        continues,
        ..operation(&four(), vec![transaction("order", 0, steps)])
    };
    let operations = [
        part(7, true, [Some(0), Some(2), None]),
        // Another operation meanwhile has an unrelated open transaction on its connection.
        part(8, false, [None, None, Some(3)]),
        part(7, true, [None, None, None]),
        part(7, false, [None, None, Some(3)]),
    ];
    let held = predicted(&["rtt=10ms"], &operations);
    assert_eq!(held.len(), 1);
    // From 1 ms plus half a round trip; a part takes 52 ms; the last reply leaves half a round trip
    // before the end.
    assert_eq!(held[0].median, (52 - 6 + 52 + 52 - 5) * MS);
    // The write arrives after two exchanges of 13 ms, 1 ms and half a round trip.
    assert_eq!(held[0].rows_held, Some((52 - 26 - 6 + 52 + 52 - 5) * MS));
    assert_eq!(held[0].replays, 1, "the one that began elsewhere is left out");
}

#[test]
fn a_link_that_draws_what_happens_is_met_several_times() {
    let order = operation(
        &four(),
        vec![transaction("order", 0, [Some(0), Some(2), Some(3)])],
    );
    let held = predicted(&["rtt=10ms jitter=2ms"], &[order]);
    assert!(held[0].replays > 10, "{held:?}");
    assert!(held[0].longest > held[0].median, "{held:?}");
}
