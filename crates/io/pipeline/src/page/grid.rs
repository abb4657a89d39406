//! The grid of the page's sliders: samples replayed on many links.

use crate::moved::{MovedConnections, by_whether_they_move};
use crate::sinks::{Samples, by_time};
use link::LinkDescription;
use model::{BitRate, LinkRates, Operation, OperationGroup, PerDirection};
use predict::{PredictionTarget, Predictor, WakeUp};
use report::html::Grid;
use std::time::Duration;

/// Predictions for every link of the grid. `None` if there are no operations to replay.
pub fn replay(
    samples: &Samples,
    groups: &[OperationGroup],
    moved: &MovedConnections,
    asked: &[PredictionTarget],
    wake_up: WakeUp,
) -> Option<Grid> {
    let mut operations: Vec<Operation> = Vec::new();
    let mut seen = 0;
    let mut budget = MAX_EXCHANGES;
    let mut names = 0;
    let most_names = if is_crowded(asked) {
        MAX_CROWDED_NAMES
    } else {
        MAX_NAMES
    };
    for group in by_time(groups) {
        let kept = fewer(samples.operations_of(&group.name), budget);
        if kept.is_empty() || names == most_names {
            continue;
        }
        names += 1;
        seen += group.count;
        budget -= kept.iter().map(|whole| exchanges(whole)).sum::<usize>();
        operations.extend(kept.into_iter().flatten());
    }
    if operations.is_empty() {
        return None;
    }
    // Connections keep their windows between operations, so these are sorted by their start.
    operations.sort_by_key(|operation| operation.at);
    let mover = moved.clone();
    let mut predictor =
        Predictor::new(targets(asked), Box::new(move |step| mover.moves(step))).with_wake_up(wake_up);
    for operation in &operations {
        predictor.add(operation);
    }
    let replayed = operations.iter().filter(|operation| !operation.continues).count() as u64;
    let (mut predictions, _) = by_whether_they_move(predictor.finish());
    if predictions.is_empty() {
        return None;
    }
    let order = by_time(groups);
    predictions.sort_by_key(|prediction| {
        order
            .iter()
            .position(|group| group.name == prediction.operation_name)
    });
    Some(Grid {
        predictions,
        seen,
        replayed,
        names_left_out: (groups.len() as u64).saturating_sub(names),
        moved: moved.words(),
        measured_rtt: measured_rtt(&operations, moved),
        link: besides(asked),
    })
}

/// Drops every second operation until the rest takes at most half of `left`; the last one may take
/// all of it.
fn fewer(mut operations: Vec<Vec<Operation>>, left: usize) -> Vec<Vec<Operation>> {
    let total =
        |operations: &[Vec<Operation>]| operations.iter().map(|whole| exchanges(whole)).sum::<usize>();
    while operations.len() > 1 && total(&operations) > left / 2 {
        let mut index = 0;
        operations.retain(|_| {
            index += 1;
            index % 2 == 1
        });
    }
    if total(&operations) > left {
        Vec::new()
    } else {
        operations
    }
}

fn exchanges(whole: &[Operation]) -> usize {
    whole.iter().map(|part| part.steps.len()).sum()
}

/// Every round-trip time with every rate and number of clients, including the requested ones.
fn targets(asked: &[PredictionTarget]) -> Vec<PredictionTarget> {
    let base = asked
        .first()
        .map_or_else(|| LinkDescription::with_rtt(Duration::ZERO), |target| target.link);
    let (rtts, rates) = if is_crowded(asked) {
        (&CROWDED_RTTS_MS[..], &CROWDED_RATES_MBIT[..])
    } else {
        (&RTTS_MS[..], &RATES_MBIT[..])
    };
    let mut rtts: Vec<Duration> = rtts.iter().map(|rtt| Duration::from_millis(*rtt)).collect();
    let rates = rates
        .iter()
        .map(|rate| PerDirection::splat(BitRate::from_bits_per_second(rate * 1_000_000)));
    let mut rates: Vec<LinkRates> = std::iter::once(LinkRates::default()).chain(rates).collect();
    let mut clients: Vec<u32> = Vec::new();
    for target in asked {
        let rate = target.link.rate;
        if rtts.len() < MAX_RTTS && !rtts.contains(&target.link.rtt) {
            rtts.push(target.link.rtt);
        }
        if rates.len() < MAX_RATES && !rates.contains(&rate) {
            rates.push(rate);
        }
        if clients.len() < MAX_CLIENTS && !clients.contains(&target.clients) {
            clients.push(target.clients);
        }
    }
    if clients.is_empty() {
        clients.push(1);
    }
    let mut targets = Vec::with_capacity(rtts.len() * rates.len() * clients.len());
    for &clients in &clients {
        for &rate in &rates {
            let links = rtts.iter().map(|&rtt| LinkDescription { rtt, rate, ..base });
            targets.extend(links.map(|link| PredictionTarget { link, clients }));
        }
    }
    targets
}

/// Whether several clients are requested: their replays take much longer.
fn is_crowded(asked: &[PredictionTarget]) -> bool {
    asked.iter().any(|target| target.clients > 1)
}

/// Settings of the requested links other than round-trip time and rate.
fn besides(asked: &[PredictionTarget]) -> String {
    let Some(first) = asked.first() else {
        return String::new();
    };
    let plain = LinkDescription::with_rtt(Duration::ZERO);
    let rest = LinkDescription {
        rtt: Duration::ZERO,
        rate: PerDirection::default(),
        ..first.link
    };
    if rest == plain {
        return String::new();
    }
    let words = rest.to_string();
    let words = words
        .split(' ')
        .filter(|word| !word.starts_with("rtt=") && !word.starts_with("rate="));
    words.collect::<Vec<_>>().join(" ")
}

fn measured_rtt(operations: &[Operation], moved: &MovedConnections) -> Option<Duration> {
    let steps = operations.iter().flat_map(|operation| &operation.steps);
    let rtts = steps.filter(|step| moved.moves(step)).filter_map(|step| {
        let first = &step.exchange.first;
        Some(first.client_side_rtt? + first.server_side_rtt?)
    });
    rtts.min()
}

/// Exchanges replayed on each link of the grid. Limits the time to make a page.
const MAX_EXCHANGES: usize = 40_000;

const RTTS_MS: [u64; 11] = [0, 1, 2, 5, 10, 20, 40, 80, 120, 160, 200];
const RATES_MBIT: [u64; 4] = [1000, 100, 10, 1];

const CROWDED_RTTS_MS: [u64; 6] = [0, 2, 10, 40, 120, 200];
const CROWDED_RATES_MBIT: [u64; 2] = [10, 1];

const MAX_CROWDED_NAMES: u64 = 3;
const MAX_NAMES: u64 = 6;
const MAX_RTTS: usize = 16;
const MAX_RATES: usize = 8;
const MAX_CLIENTS: usize = 4;
