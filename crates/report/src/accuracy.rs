//! How far predictions are off, over several of them: one arithmetic for text, page and records.

use model::Prediction;

/// The errors of predictions next to which something was measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Accuracy {
    /// How many there are.
    pub points: usize,
    /// Median of the errors' sizes, as a share of what was measured; of an even number the mean of the two in
    /// the middle.
    pub median: f64,
    /// The largest error, with its sign: above 0 is predicted too long.
    pub worst: f64,
    /// Which of the predictions handed in that is.
    pub worst_index: usize,
    /// How many measured medians lie between the bounds of their prediction.
    pub within_bounds: usize,
}

impl Accuracy {
    /// Of predictions, each with its number; `None` if nothing was measured next to any.
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

/// Whether what was measured lies between the bounds.
pub(crate) fn is_within_bounds(prediction: &Prediction) -> bool {
    let measured = prediction.measured.as_ref();
    measured.is_some_and(|measured| (prediction.low..=prediction.high).contains(&measured.duration))
}
