//! Choice and order, with made-up figures.

use super::*;
use model::{BrokenBudget, PlanMeasure};

fn outcome(price: f64, moved: u32, is_kept: bool) -> PlacementOutcome {
    let broken = BrokenBudget {
        operation_name: "page".into(),
        measure: PlanMeasure::Median,
        allowed: Duration::from_millis(1),
        found: Duration::from_millis(2),
    };
    PlacementOutcome {
        services: Vec::new(),
        moved,
        operations: Vec::new(),
        transactions: Vec::new(),
        gigabytes: 0.0,
        price,
        broken: if is_kept { Vec::new() } else { vec![broken] },
    }
}

#[test]
fn the_cheapest_keeps_its_budgets_and_moves_little() {
    let outcomes = [
        outcome(9.0, 0, true),
        outcome(1.0, 1, false),
        outcome(5.0, 2, true),
        outcome(5.0, 1, true),
    ];
    assert_eq!(cheapest(&outcomes), Some(3));
    assert_eq!(cheapest(&outcomes[1..2]), None);
}

/// Moving the first of two services alone breaks a budget, so it goes second.
#[test]
fn the_order_avoids_what_breaks_on_the_way() {
    let placements = [[0, 0], [1, 0], [0, 1], [1, 1]].map(|places| Placement(places.to_vec()));
    let kept = |kept: [bool; 4]| kept.map(|kept| outcome(1.0, 0, kept));
    let ends = [&placements[0], &placements[3]];
    let by = |way: [bool; 4]| order(&placements, &kept(way), ends);
    let [_, first, second, both] = &placements;
    assert_eq!(
        by([true, false, true, true]),
        Some(vec![second.clone(), both.clone()])
    );
    assert_eq!(
        by([true, true, false, true]),
        Some(vec![first.clone(), both.clone()])
    );
    assert_eq!(by([true, false, false, true]), None);
    assert_eq!(
        order(&placements, &kept([true; 4]), [&placements[0]; 2]),
        Some(Vec::new())
    );
}

/// Apart, both are too slow, so they move together by a place between.
#[test]
fn a_way_may_stop_at_a_third_place() {
    let places = [
        [0, 0],
        [0, 1],
        [1, 0],
        [1, 1],
        [1, 2],
        [2, 1],
        [2, 2],
        [0, 2],
        [2, 0],
    ];
    let placements = places.map(|places| Placement(places.to_vec()));
    let outcomes = places.map(|[one, other]| outcome(1.0, 0, usize::abs_diff(one, other) < 2));
    let way = order(&placements, &outcomes, [&placements[0], &placements[6]]).expect("there is one");
    assert_eq!(way.len(), 3, "{way:?}");
    for step in &way {
        let Placement(step) = step;
        assert!(usize::abs_diff(step[0], step[1]) < 2, "{way:?}");
    }
}
