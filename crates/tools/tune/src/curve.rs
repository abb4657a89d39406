//! Estimates figures of settings that were not run.

use crate::search::MethodSetting;

/// Interpolates a figure over a parameter's values with straight lines on logarithmic axes, where both
/// round-trip cost (inverse of the value) and constant cost are straight. Extrapolates with
/// `slope`, -1 for a figure that halves when the value doubles. `None` without known points.
pub fn at(value: u64, known: &[(u64, f64)], slope: f64) -> Option<f64> {
    let x = log(value);
    let point = |(value, figure): &(u64, f64)| (log(*value), figure.max(EPSILON).ln());
    let mut below: Option<(f64, f64)> = None;
    let mut above: Option<(f64, f64)> = None;
    for (at, figure) in known.iter().map(point) {
        if at <= x && below.is_none_or(|(best, _)| at > best) {
            below = Some((at, figure));
        }
        if at >= x && above.is_none_or(|(best, _)| at < best) {
            above = Some((at, figure));
        }
    }
    let figure = match (below, above) {
        (Some((from, low)), Some((to, high))) if to > from => low + (high - low) * (x - from) / (to - from),
        (Some((from, low)), _) => low + slope * (x - from),
        (None, Some((to, high))) => high + slope * (x - to),
        (None, None) => return None,
    };
    Some(figure.exp())
}

pub fn of_method<'a>(
    method: usize,
    values: &'a [u64],
    figures: impl IntoIterator<Item = (MethodSetting, f64)> + 'a,
) -> Vec<(u64, f64)> {
    let of_method = figures
        .into_iter()
        .filter(|(setting, _)| setting.method == method);
    let known = of_method.filter_map(|(setting, figure)| Some((*values.get(setting.place)?, figure)));
    known.collect()
}

fn log(value: u64) -> f64 {
    (value.max(1) as f64).ln()
}

const EPSILON: f64 = 1e-9;

#[cfg(test)]
mod tests {
    use super::at;

    #[test]
    fn turns_are_straight_between_and_beyond() {
        let known = [(16, 2_000.0), (256, 125.0)];
        let near = |value, expected: f64| {
            let found = at(value, &known, -1.0).expect("known");
            assert!((found / expected - 1.0).abs() < 1e-9, "{value}: {found}");
        };
        near(16, 2_000.0);
        near(64, 500.0);
        near(1024, 31.25);
        near(2, 16_000.0);
        assert_eq!(at(2, &[], -1.0), None);
        assert_eq!(
            at(2, &[(8, 3.0)], 0.0),
            Some(at(8, &[(8, 3.0)], -1.0).expect("known"))
        );
    }
}
