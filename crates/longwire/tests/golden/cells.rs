//! Measured cells, and their predictions from the captures beside them.

use super::{Accepted, Prediction};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::thread;
use testbed::binary::{of_type, records, run};

/// One operation at one round trip, with so many clients.
#[derive(Debug, Clone)]
pub struct Cell {
    pub product: String,
    pub operation_name: String,
    pub clients: u64,
    pub rtt_ms: f64,
    /// Medians of the two halves behind the emulated link.
    pub far_ms: [f64; 2],
}

impl Cell {
    pub fn measured(&self) -> f64 {
        f64::midpoint(self.far_ms[0], self.far_ms[1])
    }

    /// Difference of the halves as a share of the measured time.
    pub fn repeatability(&self) -> f64 {
        (self.far_ms[1] - self.far_ms[0]).abs() / self.measured()
    }

    /// Names it in `predicted.tsv`.
    pub fn key(&self) -> String {
        let Self {
            product,
            operation_name,
            clients,
            rtt_ms,
            ..
        } = self;
        format!("{product}\t{clients}\t{rtt_ms}\t{operation_name}")
    }
}

pub fn all(folder: &Path) -> Vec<Cell> {
    let mut products: Vec<_> = std::fs::read_dir(folder)
        .expect("tests/golden")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.is_dir())
        .collect();
    products.sort();
    products.iter().flat_map(|product| of_product(product)).collect()
}

fn of_product(folder: &Path) -> Vec<Cell> {
    let product = folder.file_name().expect("a name").to_string_lossy();
    std::fs::read_to_string(folder.join("cells.jsonl"))
        .expect("cells.jsonl")
        .lines()
        .map(|line| {
            let cell: Value = serde_json::from_str(line).expect("a line of JSON");
            Cell {
                product: product.to_string(),
                operation_name: name_of(&cell),
                clients: cell["clients"].as_u64().expect("a number"),
                rtt_ms: cell["rtt"].as_f64().expect("milliseconds"),
                far_ms: [0, 1].map(|half| cell["far"][half].as_f64().expect("milliseconds")),
            }
        })
        .collect()
}

fn name_of(cell: &Value) -> String {
    let name = cell["operation_name"].as_str().or(cell["op"].as_str());
    name.expect("a name").to_owned()
}

pub fn calibrated(folder: &Path, cells: &[Cell]) -> Vec<Cell> {
    let is_calibrated = |cell: &&Cell| folder.join(&cell.product).join(CALIBRATION).exists();
    cells.iter().filter(is_calibrated).cloned().collect()
}

/// Predictions of all captures, by [`Cell::key`].
pub fn predict(folder: &Path, cells: &[Cell], with: Computing) -> BTreeMap<String, Prediction> {
    let mut captures: Vec<(&str, u64)> = cells
        .iter()
        .map(|cell| (cell.product.as_str(), cell.clients))
        .collect();
    captures.dedup();
    // Several clients take longest.
    captures.sort_by_key(|(_, clients)| *clients);
    let captures = Mutex::new(captures);
    let predicted = Mutex::new(BTreeMap::new());
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some((product, clients)) = next(&captures) {
                    let of_capture: Vec<&Cell> = cells
                        .iter()
                        .filter(|cell| cell.product == product && cell.clients == clients)
                        .collect();
                    let mut found = predict_capture(folder, &of_capture, with);
                    predicted.lock().expect("no panic").append(&mut found);
                }
            });
        }
    });
    predicted.into_inner().expect("no panic")
}

fn next<'a>(captures: &Mutex<Vec<(&'a str, u64)>>) -> Option<(&'a str, u64)> {
    captures.lock().expect("no panic").pop()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Computing {
    Assumed,
    Calibrated,
}

/// It calls a feed's server, which stayed near when the cells were measured.
const CALLS_A_SERVICE: &str = "miniflux";

/// Not found by itself.
const CALIBRATION: &str = "calibration.json";

/// Recorded near the database.
fn capture_name(clients: u64) -> String {
    format!("near-{clients}.pcap.zst")
}

fn predict_capture(folder: &Path, cells: &[&Cell], with: Computing) -> BTreeMap<String, Prediction> {
    let Cell { product, clients, .. } = cells[0];
    let capture = folder.join(product).join(capture_name(*clients));
    let clients = clients.to_string();
    let mut rtts: Vec<f64> = cells.iter().map(|cell| cell.rtt_ms).collect();
    rtts.sort_by(f64::total_cmp);
    rtts.dedup();
    let links: Vec<String> = rtts.iter().map(|rtt| format!("rtt={rtt}ms")).collect();
    let mut arguments = vec![
        "predict",
        capture.to_str().expect("a path"),
        "--clients",
        &clients,
        "--json",
    ];
    links
        .iter()
        .for_each(|link| arguments.extend(["--link", link.as_str()]));
    if product == CALLS_A_SERVICE {
        arguments.extend(["--on", "postgres"]);
    }
    let calibration = folder.join(product).join(CALIBRATION);
    if with == Computing::Calibrated {
        arguments.extend(["--calibration", calibration.to_str().expect("a path")]);
    }
    let records = records(&run(&arguments));
    let predictions = of_type(&records, "prediction");
    cells
        .iter()
        .filter_map(|cell| Some((cell.key(), of_cell(cell, &predictions)?)))
        .collect()
}

fn of_cell(cell: &Cell, predictions: &[&Value]) -> Option<Prediction> {
    let prediction = predictions.iter().find(|prediction| {
        let rtt_ms = prediction["rtt_ns"].as_f64().unwrap_or_default() / 1e6;
        prediction["operation_name"] == cell.operation_name.as_str() && (rtt_ms - cell.rtt_ms).abs() < 0.002
    })?;
    let millis = |key: &str| prediction[key].as_f64().map(|nanos| (nanos / 1e3).round() / 1e3);
    let duration = millis("duration_ns");
    Some(Prediction {
        round_trips: prediction["turns"].as_f64()?,
        median_ms: duration.or_else(|| millis("replayed_ns"))?,
        is_stated: duration.is_some(),
        bounds_ms: [millis("low_ns")?, millis("high_ns")?],
        unscaled_ms: [millis("unscaled_low_ns")?, millis("unscaled_high_ns")?],
        class: prediction["bounds_class"].as_str()?.to_owned(),
    })
}

/// Each cell with its prediction, `None` where it was refused.
pub fn judged<'a>(cells: &'a [Cell], accepted: &Accepted) -> Vec<(&'a Cell, Option<Prediction>)> {
    cells.iter().map(|cell| (cell, accepted.of_cell(cell))).collect()
}
