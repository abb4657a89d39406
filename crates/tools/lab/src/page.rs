//! Builds a lab's page from the first capture without distance, the predicted curves, and measured
//! points.

use super::config::Lab;
use super::observed::{ObservedOperations, operation_word};
use super::plan::{LabPlan, SweepPoint, is_at_rest};
use super::prediction::{changed_links, predict};
use super::run::Basis;
use anyhow::Result;
use link::LinkDescription;
use model::{BitRate, LinkOutcome, LinkRates, Operation, PerDirection, Prediction};
use pipeline::page::PageFile;
use predict::predictor::set_slopes;
use report::ReadOutcome;
use report::html::{Grid, Page};
use report::outcome::LabOutcome;
use std::time::Duration;

pub fn write(page: PageFile, plan: &LabPlan, outcome: &LabOutcome, basis: Basis<'_>) -> Result<()> {
    let example = example(&basis);
    let grid = grid(plan, &basis);
    let points = outcome.points.iter().zip(&plan.points);
    let links: Vec<LinkOutcome> = points
        .flat_map(|(point, planned)| point.links().iter().zip(&planned.lab.links))
        .filter(|(_, link)| !is_at_rest(&link.link))
        .map(|(link, _)| link.clone())
        .collect();
    let predictions = named_predictions(plan, outcome);
    let mut rtts: Vec<Duration> = predictions.iter().map(|prediction| prediction.rtt).collect();
    rtts.sort_unstable();
    rtts.dedup();
    // Only the largest, because columns are limited.
    let rtts = &rtts[rtts.len().saturating_sub(PRICED)..];
    let findings = basis
        .observed
        .findings
        .as_ref()
        .map(|findings| findings.so_far(rtts).findings);
    let totals = basis.observed.totals;
    let read = ReadOutcome {
        conditions: outcome.conditions.clone(),
        connections: totals.connections,
        statements: totals.statements,
        strays: None,
        operations: totals.operations,
        held: totals.held,
        recognised: Vec::new(),
        warnings: outcome.warnings.clone(),
        predictions,
        unmoved: Vec::new(),
        held_predictions: Vec::new(),
        findings: findings.unwrap_or_default(),
        links,
        sparing: Vec::new(),
        summary: totals.summary,
    };
    page.write_page(&Page {
        title: &format!("lab {}", outcome.name),
        outcome: &read,
        example: example.as_ref(),
        moves: &[],
        grid: Some(&grid),
        links: &read.links,
        lab: Some(outcome),
    })
}

/// Number of round-trip times used to price findings.
const PRICED: usize = 3;

/// The operation closest to the median duration.
fn example(basis: &Basis<'_>) -> Option<Operation> {
    let mut counted: Vec<&Operation> = basis.observed.counted(&basis.lab.workload).collect();
    counted.sort_by_key(|operation| operation.duration);
    counted
        .get(counted.len() / 2)
        .map(|operation| (*operation).clone())
}

/// Named after the changed links, one curve per link.
fn named_predictions(plan: &LabPlan, outcome: &LabOutcome) -> Vec<Prediction> {
    let points = plan.points.iter().zip(&outcome.points);
    let named = points.filter_map(|(point, outcome)| {
        let prediction = outcome.prediction.clone()?;
        let changed = changed_links(&point.lab);
        Some(Prediction {
            operation_name: name(&point.lab, &changed).into(),
            ..prediction
        })
    });
    named.collect()
}

fn name(lab: &Lab, changed: &[usize]) -> String {
    let word = operation_word(&lab.workload);
    let links: Vec<&str> = changed
        .iter()
        .map(|&index| lab.links[index].name.as_str())
        .collect();
    match links.as_slice() {
        [] => word.to_owned(),
        links => format!("{word} over {}", links.join(" and ")),
    }
}

/// Range of the sliders: each changed link alone, at round-trip times and rates around the
/// requested ones, with the client count of the first baseline.
fn grid(plan: &LabPlan, basis: &Basis<'_>) -> Grid {
    let observed = fewer(basis);
    let (rtts, rates) = axes(plan);
    let mut swept: Vec<usize> = plan
        .points
        .iter()
        .flat_map(|point| changed_links(&point.lab))
        .collect();
    swept.sort_unstable();
    swept.dedup();
    let mut predictions = Vec::new();
    for link in swept {
        let base = plan
            .points
            .iter()
            .map(|point| point.lab.links[link].link)
            .find(|link| !is_at_rest(link))
            .unwrap_or(LinkDescription::with_rtt(Duration::ZERO));
        let point = |(rtt, rate): (Duration, LinkRates)| {
            let mut lab = basis.lab.clone();
            lab.links[link].link = LinkDescription { rtt, rate, ..base };
            SweepPoint {
                stage: 0,
                baseline: None,
                against: None,
                values: Vec::new(),
                lab,
            }
        };
        let places = rates.iter().flat_map(|rate| rtts.iter().map(|rtt| (*rtt, *rate)));
        let points: Vec<SweepPoint> = places.map(point).collect();
        let of_link = predict(
            &observed,
            basis.measured,
            &points.iter().collect::<Vec<_>>(),
            basis.wake_up,
        );
        // Without distance no step moves and no round trip is counted.
        let turns = of_link.iter().flatten().map(|prediction| prediction.turns);
        let turns = turns.fold(0.0, f64::max);
        let named = of_link.into_iter().flatten().map(|prediction| Prediction {
            operation_name: name(basis.lab, &[link]).into(),
            turns,
            ..prediction
        });
        let before = predictions.len();
        predictions.extend(named);
        // Points are predicted separately.
        set_slopes(&mut predictions[before..]);
    }
    let replayed = predictions
        .first()
        .map_or(0, |prediction: &Prediction| prediction.operations);
    Grid {
        predictions,
        replayed,
        seen: basis.observed.counted(&basis.lab.workload).count() as u64,
        names_left_out: 0,
        moved: "the connections of one link".to_owned(),
        measured_rtt: None,
        link: String::new(),
    }
}

/// Round-trip times and rates: those of the points, and intermediate values.
fn axes(plan: &LabPlan) -> (Vec<Duration>, Vec<LinkRates>) {
    let mut rtts: Vec<Duration> = RTTS_MS.into_iter().map(Duration::from_millis).collect();
    let mut rates = vec![LinkRates::default()];
    rates.extend(RATES_MBIT.map(|rate| PerDirection::splat(BitRate::from_bits_per_second(rate * 1_000_000))));
    for link in plan.points.iter().flat_map(|point| &point.lab.links) {
        let (rtt, rate) = (link.link.rtt, link.link.rate);
        if !rtts.contains(&rtt) && rtts.len() < MAX_RTTS {
            rtts.push(rtt);
        }
        if !rates.contains(&rate) && rates.len() < MAX_RATES {
            rates.push(rate);
        }
    }
    (rtts, rates)
}

/// Limits the page to the first operations.
fn fewer(basis: &Basis<'_>) -> ObservedOperations {
    let mut exchanges = 0;
    let enough = |operation: &&Operation| {
        exchanges += operation.steps.len();
        exchanges <= MAX_EXCHANGES
    };
    ObservedOperations {
        operations: basis
            .observed
            .operations
            .iter()
            .take_while(enough)
            .cloned()
            .collect(),
        links: basis.observed.links.clone(),
        ..ObservedOperations::default()
    }
}

const RTTS_MS: [u64; 9] = [0, 1, 5, 10, 20, 40, 80, 120, 200];
const RATES_MBIT: [u64; 3] = [100, 10, 1];
const MAX_RTTS: usize = 16;
const MAX_RATES: usize = 8;
const MAX_EXCHANGES: usize = 10_000;
