//! `predicted.tsv`: a line for each cell.

use super::Cell;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prediction {
    pub round_trips: f64,
    /// `None` where only the bounds are stated.
    pub median_ms: Option<f64>,
    pub bounds_ms: [f64; 2],
}

impl Prediction {
    pub fn holds(&self, measured: f64) -> bool {
        (self.bounds_ms[0]..=self.bounds_ms[1]).contains(&measured)
    }

    /// Width of the bounds as a share of the measured time.
    pub fn width(&self, measured: f64) -> f64 {
        (self.bounds_ms[1] - self.bounds_ms[0]) / measured
    }

    /// -0.05 is a prediction 5 % too short.
    pub fn error(&self, measured: f64) -> Option<f64> {
        self.median_ms.map(|median| median / measured - 1.0)
    }
}

/// Predictions by [`Cell::key`]; `None` where one was refused.
#[derive(Debug, Default, PartialEq)]
pub struct Accepted(BTreeMap<String, Option<Prediction>>);

const FILE: &str = "predicted.tsv";
const HEAD: &str = "# product\tclients\trtt_ms\toperation\tround_trips\tmedian_ms\tlow_ms\thigh_ms";
/// Instead of a figure that is not stated.
const NONE: &str = "-";

impl Accepted {
    pub fn from_predictions(cells: &[Cell], predicted: &BTreeMap<String, Prediction>) -> Self {
        let rows = cells
            .iter()
            .map(|cell| (cell.key(), predicted.get(&cell.key()).copied()));
        Self(rows.collect())
    }

    /// Accepted predictions without a cell.
    pub fn stale(&self, cells: &[Cell]) -> Vec<&str> {
        let keys: Vec<String> = cells.iter().map(Cell::key).collect();
        let all = self.0.keys().map(String::as_str);
        all.filter(|key| !keys.iter().any(|known| known == key)).collect()
    }

    pub fn of_cell(&self, cell: &Cell) -> Option<Prediction> {
        self.0.get(&cell.key()).copied().flatten()
    }

    pub fn read(folder: &Path) -> Self {
        let text = std::fs::read_to_string(folder.join(FILE)).unwrap_or_default();
        let rows = text.lines().filter(|line| !line.starts_with('#')).map(|line| {
            let columns: Vec<&str> = line.split('\t').collect();
            let [key @ .., round_trips, median, low, high] = &columns[..] else {
                panic!("{FILE}: {line}");
            };
            let number = |text: &str| text.parse::<f64>().ok();
            let prediction = number(round_trips).map(|round_trips| Prediction {
                round_trips,
                median_ms: number(median),
                bounds_ms: [low, high].map(|bound| number(bound).expect("a bound")),
            });
            (key.join("\t"), prediction)
        });
        Self(rows.collect())
    }

    pub fn write(&self, folder: &Path) {
        let mut text = HEAD.to_owned();
        for (key, prediction) in &self.0 {
            let figures = prediction.map_or([NONE; 4].map(str::to_owned), |prediction| {
                let [low, high] = prediction.bounds_ms.map(|bound| format!("{bound:.3}"));
                let median = prediction
                    .median_ms
                    .map_or(NONE.to_owned(), |median| format!("{median:.3}"));
                [prediction.round_trips.to_string(), median, low, high]
            });
            write!(text, "\n{key}\t{}", figures.join("\t")).expect("a string");
        }
        std::fs::write(folder.join(FILE), text + "\n").expect("written");
    }
}
