//! Warns if the model does not explain the measured durations.

use model::{Prediction, Share, Warning, WarningKind, counted, format_duration};
use std::time::Duration;

/// For the name with most operations among those with too much unexplained time.
pub(super) fn warning(predictions: &[Prediction]) -> Option<Warning> {
    let off = |prediction: &&Prediction| {
        let unexplained = prediction.unexplained;
        unexplained.is_some_and(|unexplained| unexplained.share > SHARE_THAT_MATTERS)
    };
    let first = predictions.iter().find(off)?;
    let unexplained = first.unexplained?;
    let same_target = predictions.iter().filter(|other| other.link == first.link);
    let others = same_target.filter(off).count().saturating_sub(1) as u64;
    let others = match others {
        0 => String::new(),
        others => format!(" (and of {})", counted(others, "more name", "more names")),
    };
    let rest = format_duration(Duration::from_nanos(unexplained.median_ns.unsigned_abs()));
    let what = match unexplained.median_ns {
        0 => "; too long in some and too short in others".to_owned(),
        1.. => format!(
            "; they took, in the median, {rest} longer than their replay there. Predictions keep that as a wait, unless longer transfers \
             take its place"
        ),
        ..0 => format!(
            "; they took, in the median, {rest} less than their replay there: predictions may be too long"
        ),
    };
    let share = Share::of_fraction(unexplained.share.min(1.0))?;
    let text = format!(
        "the model does not explain {share} of the measured time of operations of '{}'{others}{what}",
        first.operation_name
    );
    Some(Warning::new(WarningKind::UnexplainedWait, text))
}

/// Share of the time that may be unexplained without a warning.
const SHARE_THAT_MATTERS: f64 = 0.1;
