//! Predicts placements, finds the cheapest one, the order of moves, and constraints.

use crate::forecast::{Observed, figure, forecast};
use crate::{Estate, EstateTraffic, Placement, choice, obstacles, placement};
use model::{
    Finding, Operation, OrderOfMoves, PlacementOutcome, PlanLink, PlanMove, PlanOutcome, Warning, WarningKind,
};
use predict::WakeUp;
use std::sync::Arc;

pub struct Data {
    pub traffic: Arc<EstateTraffic>,
    pub operations: Vec<Operation>,
    pub findings: Vec<Finding>,
    pub warnings: Vec<Warning>,
    pub wake_up: WakeUp,
}

pub fn plan(estate: &Estate, data: Data, asked: &[Placement], title: String) -> PlanOutcome {
    let observed = Observed {
        estate,
        traffic: &data.traffic,
        operations: &data.operations,
        wake_up: data.wake_up,
    };
    let placements = placement::placements(estate, MAX_PLACEMENTS);
    let predicted = forecast(observed, &placements);
    let cheapest = choice::cheapest(&predicted);
    let (order, moves) = match cheapest {
        Some(to) => order(estate, &placements, &predicted, to),
        None => (OrderOfMoves::Nothing, Vec::new()),
    };
    PlanOutcome {
        title,
        currency: estate.currency.clone(),
        places: estate.places.clone(),
        links: links(estate),
        budgets: estate.budgets.len() as u64,
        today: predicted[0].clone(),
        asked: forecast(observed, asked),
        cheapest: cheapest.map(|cheapest| predicted[cheapest].clone()),
        possible: placement::possible(estate),
        price_at_least: estate.price_at_least(),
        held_back: obstacles::held_back(observed, &placements, &predicted, &data.findings),
        moves,
        order,
        warnings: warnings(estate, &data, &predicted),
        predicted,
    }
}

/// With more possible placements, only those that move few services are predicted.
const MAX_PLACEMENTS: usize = 1024;

fn order(
    estate: &Estate,
    placements: &[Placement],
    predicted: &[PlacementOutcome],
    to: usize,
) -> (OrderOfMoves, Vec<PlanMove>) {
    let (today, target) = (&placements[0], &placements[to]);
    if today == target {
        return (OrderOfMoves::Nothing, Vec::new());
    }
    let Some(way) = choice::order(placements, predicted, [today, target]) else {
        return (OrderOfMoves::AllAtOnce, Vec::new());
    };
    let from = std::iter::once(today).chain(&way);
    let moves = from.zip(&way).filter_map(|(from, to)| {
        let service = (0..to.0.len()).find(|&service| from.0[service] != to.0[service])?;
        let after = placements.iter().position(|placement| placement == to)?;
        Some(PlanMove {
            service: estate.services[service].name.clone(),
            from: estate.places[from.0[service]].clone(),
            to: estate.places[to.0[service]].clone(),
            price: predicted[after].price,
        })
    });
    (OrderOfMoves::Found, moves.collect())
}

fn links(estate: &Estate) -> Vec<PlanLink> {
    let links = estate.links.iter().map(|link| PlanLink {
        between: link.between.map(|place| estate.places[place].clone()),
        link: link.link.to_string(),
        rtt: link.link.rtt,
        price: link.price,
    });
    links.collect()
}

fn warnings(estate: &Estate, data: &Data, predicted: &[PlacementOutcome]) -> Vec<Warning> {
    let mut own = Vec::new();
    let mut warn = |kind, text: String| own.push(Warning::new(kind, text));
    let unknown: Vec<String> = data.traffic.unknown.iter().map(ToString::to_string).collect();
    if !unknown.is_empty() {
        warn(
            WarningKind::NothingMoved,
            format!(
                "these addresses belong to no service, and their connections stay as they were measured: {}",
                unknown.join(", ")
            ),
        );
    }
    let talks = |service: usize| data.traffic.pairs.iter().flatten().any(|one| *one == service);
    for (index, service) in estate.services.iter().enumerate() {
        if !talks(index) {
            warn(
                WarningKind::NoEffect,
                format!(
                    "{} has no connection with another service in the data: moving it changes its own price only",
                    service.name
                ),
            );
        }
    }
    let today = predicted.first();
    for budget in &estate.budgets {
        let mut names = today.into_iter().flat_map(|today| &today.operations);
        let applies = names.any(|one| {
            let figure = today.and_then(|today| figure(today, &one.name, budget.measure));
            budget.operation.matches(&one.name) && figure.is_some()
        });
        if !applies {
            warn(
                WarningKind::NoEffect,
                format!(
                    "the budget {} of '{}' limits nothing in the data: no operation has that name and figure (a p95 needs 200 operations)",
                    budget.measure.name(),
                    budget.operation
                ),
            );
        }
    }
    if data.traffic.payload_only {
        warn(
            WarningKind::PayloadMissing,
            "of some connections the packets were not seen: their gigabytes are payload, without headers"
                .to_owned(),
        );
    }
    data.warnings.iter().cloned().chain(own).collect()
}
