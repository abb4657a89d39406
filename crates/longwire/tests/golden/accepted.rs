//! `predicted.tsv`: a line for each cell.

use super::Cell;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    pub round_trips: f64,
    pub median_ms: f64,
    /// Whether longwire states the median, not the bounds alone.
    pub is_stated: bool,
    pub bounds_ms: [f64; 2],
    /// Of the margins alone.
    pub unscaled_ms: [f64; 2],
    pub class: String,
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
        self.is_stated.then_some(self.median_ms / measured - 1.0)
    }

    /// Factor of the margins with which the bounds would just hold `measured`.
    pub fn score(&self, measured: f64) -> f64 {
        let side = usize::from(measured > self.median_ms);
        let margin = (self.unscaled_ms[side] - self.median_ms).abs().max(MIN_MARGIN_MS);
        (measured - self.median_ms).abs() / margin
    }

    /// With margins scaled by `factor`.
    pub fn scaled(self, factor: f64) -> Self {
        let bound = |unscaled: f64| self.median_ms + (unscaled - self.median_ms) * factor;
        Self {
            bounds_ms: self.unscaled_ms.map(|unscaled| bound(unscaled).max(0.0)),
            ..self
        }
    }
}

impl Prediction {
    fn figures(&self) -> Vec<String> {
        let median = match self.is_stated {
            true => format!("{:.3}", self.median_ms),
            false => format!("({:.3})", self.median_ms),
        };
        let bounds = self.bounds_ms.iter().chain(&self.unscaled_ms);
        let mut figures = vec![self.round_trips.to_string(), median];
        figures.extend(bounds.map(|bound| format!("{bound:.3}")));
        figures.push(self.class.clone());
        figures
    }
}

/// Predictions by [`Cell::key`]; `None` where one was refused.
#[derive(Debug, Default, PartialEq)]
pub struct Accepted(BTreeMap<String, Option<Prediction>>);

pub const FILE: &str = "predicted.tsv";
pub const CALIBRATED_FILE: &str = "calibrated.tsv";
const HEAD: &str = "# product\tclients\trtt_ms\toperation\tround_trips\tmedian_ms, in parentheses where it is not \
                    stated\tlow_ms\thigh_ms\tunscaled_low_ms\tunscaled_high_ms\tclass";
/// As precise as the file.
const MIN_MARGIN_MS: f64 = 1e-3;
/// Instead of a figure that is not stated.
const NONE: &str = "-";

impl Accepted {
    pub fn from_predictions(cells: &[Cell], predicted: &BTreeMap<String, Prediction>) -> Self {
        let rows = cells
            .iter()
            .map(|cell| (cell.key(), predicted.get(&cell.key()).cloned()));
        Self(rows.collect())
    }

    /// Accepted predictions without a cell.
    pub fn stale(&self, cells: &[Cell]) -> Vec<&str> {
        let keys: Vec<String> = cells.iter().map(Cell::key).collect();
        let all = self.0.keys().map(String::as_str);
        all.filter(|key| !keys.iter().any(|known| known == key)).collect()
    }

    pub fn of_cell(&self, cell: &Cell) -> Option<Prediction> {
        self.0.get(&cell.key()).cloned().flatten()
    }

    pub fn read(folder: &Path, file: &str) -> Self {
        let text = std::fs::read_to_string(folder.join(file)).unwrap_or_default();
        let rows = text.lines().filter(|line| !line.starts_with('#')).map(|line| {
            let columns: Vec<&str> = line.split('\t').collect();
            let [
                key @ ..,
                round_trips,
                median,
                low,
                high,
                unscaled_low,
                unscaled_high,
                class,
            ] = &columns[..]
            else {
                panic!("{file}: {line}");
            };
            let number = |text: &str| text.parse::<f64>().expect("a number");
            let prediction = (*round_trips != NONE).then(|| Prediction {
                round_trips: number(round_trips),
                median_ms: number(median.trim_matches(['(', ')'])),
                is_stated: !median.starts_with('('),
                bounds_ms: [low, high].map(|bound| number(bound)),
                unscaled_ms: [unscaled_low, unscaled_high].map(|bound| number(bound)),
                class: (*class).to_owned(),
            });
            (key.join("\t"), prediction)
        });
        Self(rows.collect())
    }

    pub fn write(&self, folder: &Path, file: &str) {
        let mut text = HEAD.to_owned();
        for (key, prediction) in &self.0 {
            let figures = match prediction {
                None => vec![NONE.to_owned(); 7],
                Some(prediction) => prediction.figures(),
            };
            write!(text, "\n{key}\t{}", figures.join("\t")).expect("a string");
        }
        std::fs::write(folder.join(file), text + "\n").expect("written");
    }
}
