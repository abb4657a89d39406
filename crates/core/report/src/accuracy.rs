//! Accuracy over several predictions, shared by text, page and records.

use model::Prediction;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Accuracy {
    pub points: usize,
    /// Median of the absolute errors, as a share of the measurement. Of an even number: the mean of
    /// the middle two.
    pub median: f64,
    /// The largest error, with sign: above 0 the prediction is too long.
    pub worst: f64,
    /// Number of that prediction, as passed in.
    pub worst_index: usize,
    pub within_bounds: usize,
}

impl Accuracy {
    /// `None` if no prediction has a measurement.
    pub fn from_predictions<'a>(predictions: impl Iterator<Item = (usize, &'a Prediction)>) -> Option<Self> {
        let measured =
            predictions.filter_map(|(index, prediction)| Some((index, prediction.error()?, prediction)));
        let mut errors: Vec<(usize, f64, &Prediction)> = measured.collect();
        errors.sort_by(|one, other| one.1.abs().total_cmp(&other.1.abs()));
        let &(worst_index, worst, _) = errors.last()?;
        let size = |index: usize| errors[index].1.abs();
        let points = errors.len();
        Some(Self {
            points,
            median: f64::midpoint(size((points - 1) / 2), size(points / 2)),
            worst,
            worst_index,
            within_bounds: errors
                .iter()
                .filter(|(.., prediction)| is_within_bounds(prediction))
                .count(),
        })
    }
}

pub(crate) fn is_within_bounds(prediction: &Prediction) -> bool {
    let measured = prediction.measured.as_ref();
    measured.is_some_and(|measured| (prediction.low..=prediction.high).contains(&measured.duration))
}
