//! The grid of predictions behind the curve and the page's sliders.

use super::Page;
use super::markup::cut;
use crate::outcome::ReadOutcome;
use crate::text::bound_words;
use crate::text::escape::printable;
use model::{BitRate, Finding, FindingKind, LinkRates, OperationGroup, Prediction};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

#[derive(Debug)]
pub struct View {
    pub rtts: Vec<Duration>,
    /// Rates client-to-server and server-to-client, unlimited first, then descending.
    pub rates: Vec<LinkRates>,
    pub clients: Vec<u32>,
    pub rows: Vec<GridRow>,
    /// Indices shown first.
    pub start: Start,
    pub measured_rtt: Option<Duration>,
}

#[derive(Debug)]
pub struct GridRow {
    pub name: Arc<str>,
    /// By clients, then rate, then round-trip time.
    pub cells: Vec<Prediction>,
    /// The measured median of the grid's own operations.
    pub here: Option<Duration>,
    /// Predictions that were also measured.
    pub points: Vec<Prediction>,
    /// Mean round trips of an operation that its findings would remove.
    pub removed: f64,
}

impl GridRow {
    /// Predicted time without the findings: `duration` shortened by the removed round trips' share
    /// of the mean, as in the answer.
    pub fn without(&self, cell: &Prediction, duration: Duration) -> Duration {
        let mean = cell.spread.mean.unwrap_or(cell.duration).as_secs_f64();
        if mean <= 0.0 {
            return duration;
        }
        let saved = self.removed * cell.rtt.as_secs_f64() / mean;
        duration.mul_f64((1.0 - saved).clamp(0.0, 1.0))
    }
}

fn removed(outcome: &ReadOutcome, group: &OperationGroup) -> f64 {
    let of_group = |finding: &&Finding| {
        finding.operation_name == group.name && finding.kind != FindingKind::HeldTransaction
    };
    let turns: u64 = outcome
        .sure_findings()
        .filter(of_group)
        .map(|finding| finding.saves_turns)
        .sum();
    turns as f64 / group.count.max(1) as f64
}

#[derive(Debug, Clone, Copy, Default)]
pub struct Start {
    pub rtt: usize,
    pub rate: usize,
    pub clients: usize,
}

impl View {
    /// `None` if there are fewer than two round-trip times.
    pub fn new(page: &Page<'_>) -> Option<Self> {
        let asked = &page.outcome.predictions;
        let predictions = page.grid.map_or(asked, |grid| &grid.predictions);
        let mut rtts: Vec<Duration> = predictions.iter().map(|prediction| prediction.rtt).collect();
        let mut rates: Vec<LinkRates> = predictions.iter().map(|prediction| prediction.rate).collect();
        let mut clients: Vec<u32> = predictions.iter().map(|prediction| prediction.clients).collect();
        rtts.sort();
        rtts.dedup();
        rates.sort_by_key(|rates| rates.map(slowness));
        rates.dedup();
        clients.sort_unstable();
        clients.dedup();
        let mut view = Self {
            rtts,
            rates,
            clients,
            rows: Vec::new(),
            start: Start::default(),
            measured_rtt: page.grid.and_then(|grid| grid.measured_rtt),
        };
        view.rows = view.complete_rows(page, predictions);
        view.start = view.first_shown();
        (view.rtts.len() >= 2 && !view.rows.is_empty()).then_some(view)
    }

    pub fn cell<'a>(&self, row: &'a GridRow, rtt: usize, rate: usize, clients: usize) -> &'a Prediction {
        &row.cells[(clients * self.rates.len() + rate) * self.rtts.len() + rtt]
    }

    pub fn has_sliders(&self) -> bool {
        self.rtts.len() >= 2
    }

    pub fn json(&self) -> Value {
        let rows: Vec<Value> = self.rows.iter().map(GridRow::json).collect();
        json!({
            "rtts": self.rtts.iter().map(|rtt| nanos(*rtt)).collect::<Vec<_>>(),
            "rates": self.rates.iter().map(bits).collect::<Vec<_>>(),
            "clients": self.clients,
            "start": [nanos(self.rtts[self.start.rtt]), self.start.rate, self.start.clients],
            "here": self.measured_rtt.map(nanos),
            "operations": rows,
        })
    }

    fn complete_rows(&self, page: &Page<'_>, predictions: &[Prediction]) -> Vec<GridRow> {
        let mut names: Vec<&Arc<str>> = Vec::new();
        let mut cells: HashMap<(&Arc<str>, usize), &Prediction> = HashMap::new();
        for prediction in predictions {
            if !names.contains(&&prediction.operation_name) && names.len() < MAX_ROWS {
                names.push(&prediction.operation_name);
            }
            if let Some(place) = self.cell_index(prediction) {
                cells.insert((&prediction.operation_name, place), prediction);
            }
        }
        let size = self.rtts.len() * self.rates.len() * self.clients.len();
        let complete = names.into_iter().filter_map(|name| {
            let cells: Option<Vec<Prediction>> = (0..size)
                .map(|place| cells.get(&(name, place)).map(|cell| (*cell).clone()))
                .collect();
            let here = page.outcome.operations.iter().find(|group| group.name == *name);
            Some(GridRow {
                name: Arc::clone(name),
                cells: cells?,
                here: here.and_then(|group| group.spread.p50),
                points: measured(&page.outcome.predictions, name),
                removed: here.map_or(0.0, |group| removed(page.outcome, group)),
            })
        });
        complete.collect()
    }

    fn cell_index(&self, prediction: &Prediction) -> Option<usize> {
        let rtt = self.rtts.binary_search(&prediction.rtt).ok()?;
        let rate = self.rates.iter().position(|rate| *rate == prediction.rate)?;
        let clients = self.clients.binary_search(&prediction.clients).ok()?;
        Some((clients * self.rates.len() + rate) * self.rtts.len() + rtt)
    }

    /// Rate and clients with most measurements, if any; else no limit and the fewest clients.
    fn first_shown(&self) -> Start {
        let wished = |rtt: &Duration| rtt.as_nanos().abs_diff(model::DEFAULT_PRICE_RTT.as_nanos());
        let rtt = (0..self.rtts.len())
            .min_by_key(|place| wished(&self.rtts[*place]))
            .unwrap_or_default();
        let points = self.rows.first().map_or(&[][..], |row| &row.points);
        let at = |rate: usize, clients: usize| {
            let same = |point: &&Prediction| {
                point.rate == self.rates[rate] && point.clients == self.clients[clients]
            };
            points.iter().filter(same).count()
        };
        let places = (0..self.rates.len())
            .flat_map(|rate| (0..self.clients.len()).map(move |clients| (rate, clients)));
        let (rate, clients) = places
            .rev()
            .max_by_key(|(rate, clients)| at(*rate, *clients))
            .unwrap_or_default();
        Start { rtt, rate, clients }
    }
}

impl GridRow {
    fn json(&self) -> Value {
        let cells: Vec<Value> = self.cells.iter().map(cell_json).collect();
        let points: Vec<Value> = self.points.iter().filter_map(point_json).collect();
        json!({
            "name": printable(&cut(&self.name, MAX_NAME_LEN)),
            "turns": self.cells.first().map(|cell| cell.turns),
            "here": self.here.map(nanos),
            "removed": self.removed,
            "cells": cells,
            "points": points,
        })
    }
}

fn measured(predictions: &[Prediction], name: &Arc<str>) -> Vec<Prediction> {
    let of_name =
        |prediction: &&Prediction| prediction.operation_name == *name && prediction.measured.is_some();
    predictions
        .iter()
        .filter(of_name)
        .take(MAX_POINTS)
        .cloned()
        .collect()
}

/// Median, low, high (ns), per second, bound by, the attribution in thousandths, and the mean (ns).
fn cell_json(cell: &Prediction) -> Value {
    let whole = cell.attribution.total().as_secs_f64();
    let parts = super::attribution::parts(&cell.attribution).map(|(_, _, part)| {
        if whole > 0.0 {
            (part.as_secs_f64() / whole * 1e4).round() / 10.0
        } else {
            0.0
        }
    });
    let [low, high] = drawn_bounds(cell);
    json!([
        digits(nanos(cell.duration) as f64),
        digits(nanos(low) as f64),
        digits(nanos(high) as f64),
        digits(cell.per_second),
        bound_words(cell.bound_by),
        parts,
        digits(nanos(cell.spread.mean.unwrap_or(cell.duration)) as f64),
    ])
}

/// Limits of the band. Equal if the prediction has no usable bounds.
pub fn drawn_bounds(cell: &Prediction) -> [Duration; 2] {
    cell.bounds().unwrap_or([cell.duration; 2])
}

fn point_json(point: &Prediction) -> Option<Value> {
    let measured = point.measured.as_ref()?;
    Some(json!({
        "rtt": nanos(point.rtt),
        "rate": bits(&point.rate),
        "clients": point.clients,
        "duration": nanos(measured.duration),
        "operations": measured.operations,
    }))
}

/// Rounds to six digits, more than the page shows, at half the size.
fn digits(value: f64) -> f64 {
    if value <= 0.0 || !value.is_finite() {
        return 0.0;
    }
    let scale = 10_f64.powf(5.0 - value.log10().floor());
    let rounded = (value * scale).round() / scale;
    if rounded > 1e5 { rounded.round() } else { rounded }
}

/// Sorts unlimited first, then descending.
fn slowness(rate: Option<BitRate>) -> std::cmp::Reverse<u64> {
    std::cmp::Reverse(rate.map_or(u64::MAX, BitRate::as_bits_per_second))
}

/// Bits per second each way. `None` means no limit.
fn bits(rates: &LinkRates) -> [Option<u64>; 2] {
    rates
        .map(|rate| rate.map(BitRate::as_bits_per_second))
        .into_array()
}

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

const MAX_ROWS: usize = 12;
const MAX_POINTS: usize = 200;
const MAX_NAME_LEN: usize = 120;
