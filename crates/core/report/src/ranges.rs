//! Figures with margins as words: one figure if the margin is small, else a range.

use crate::text::DASH;
use model::{Attribution, Margin, Prediction, format_duration};
use std::time::Duration;

/// Whether only the range is shown: the middle would be off by more than 5 % of the longest value.
pub(crate) fn is_wide(figure: Duration, margin: Margin) -> bool {
    let [shortest, longest] = margin.around(figure);
    (longest - shortest).as_secs_f64() > WIDE * longest.as_secs_f64()
}

/// `1.5 ms`, or `1.2 to 1.9 ms`.
pub(crate) fn duration_range(figure: Duration, margin: Margin) -> String {
    match is_wide(figure, margin) {
        false => format_duration(figure),
        true => between(margin.around(figure).map(format_duration)),
    }
}

/// A share as `share` words it: `15 %`, or `12 to 19 %`.
pub(crate) fn share_range(
    figure: Duration,
    margin: Margin,
    whole: Duration,
    share: impl Fn(Duration, Duration) -> String,
) -> String {
    match is_wide(figure, margin) {
        false => share(figure, whole),
        true => between(margin.around(figure).map(|bound| share(bound.min(whole), whole))),
    }
}

pub(crate) fn server_share(parts: &Attribution, share: impl Fn(Duration, Duration) -> String) -> String {
    share_range(parts.server, parts.server_margin, parts.total(), share)
}

/// The margin of the mean over `count`.
pub(crate) fn each(margin: Margin, count: u64) -> Margin {
    let one = |sum: Duration| {
        let mean = sum.as_nanos().checked_div(u128::from(count)).unwrap_or_default();
        Duration::from_nanos(u64::try_from(mean).unwrap_or(u64::MAX))
    };
    Margin {
        below: one(margin.below),
        above: one(margin.above),
    }
}

/// Joins two figures. Omits the unit of the first if it is zero, or both have the same.
pub(crate) fn between([from, to]: [String; 2]) -> String {
    if from == to {
        return to;
    }
    if from == format_duration(Duration::ZERO) {
        return format!("0 to {to}");
    }
    let bare = from.rsplit_once(' ').zip(to.rsplit_once(' '));
    match bare {
        Some(((number, unit), (_, of_the_second))) if unit == of_the_second => format!("{number} to {to}"),
        _ => format!("{from} to {to}"),
    }
}

/// Minimum width of a range to be shown, as a share of its longest figure.
const WIDE: f64 = 0.1;

/// The predicted median, or its bounds where they are too wide for one.
pub(crate) fn median_or_bounds(prediction: &Prediction) -> String {
    match (prediction.bounded(), prediction.bounds()) {
        (Some(median), _) => format_duration(median),
        (None, Some(bounds)) => between(bounds.map(format_duration)),
        (None, None) => DASH.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Share;

    fn margin(below: u64, above: u64) -> Margin {
        Margin {
            below: Duration::from_micros(below),
            above: Duration::from_micros(above),
        }
    }

    #[test]
    fn a_wide_margin_is_a_range_and_a_narrow_one_a_point() {
        let ms = Duration::from_millis;
        assert_eq!(duration_range(ms(2), margin(800, 0)), "1.20 to 2.00 ms");
        assert_eq!(duration_range(ms(2), margin(150, 40)), "2.00 ms");
        assert_eq!(duration_range(ms(1), margin(900, 200)), "100 us to 1.20 ms");
        let share = |part: Duration, whole: Duration| {
            Share::from_parts(part, whole).map_or_else(String::new, |share| share.to_string())
        };
        assert_eq!(duration_range(ms(1), margin(1_000, 200)), "0 to 1.20 ms");
        assert_eq!(share_range(ms(2), margin(1_000, 0), ms(10), share), "10 to 20 %");
        assert_eq!(share_range(ms(2), margin(100, 0), ms(10), share), "20 %");
        assert_eq!(each(margin(900, 90), 9), margin(100, 10));
    }
}
