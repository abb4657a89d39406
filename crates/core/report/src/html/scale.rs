//! Axes convert amounts to positions and place ticks. `page.js` does the same arithmetic.

use std::time::Duration;

/// A linear axis from 0 to `most`.
#[derive(Debug, Clone, Copy)]
pub struct Scale {
    pub most: f64,
    pub from: f64,
    pub to: f64,
}

impl Scale {
    pub fn position(&self, amount: f64) -> f64 {
        if self.most > 0.0 {
            self.from + (self.to - self.from) * amount / self.most
        } else {
            self.from
        }
    }
}

/// A logarithmic axis, on which amounts below `unit` approach 0 linearly.
#[derive(Debug, Clone, Copy)]
pub struct LogScale {
    pub unit: f64,
    pub least: f64,
    pub most: f64,
    pub from: f64,
    pub to: f64,
}

impl LogScale {
    /// Amounts below `least` are placed at `from`.
    pub fn position(&self, amount: f64) -> f64 {
        let log = |amount: f64| (amount.max(self.least) / self.unit).ln_1p();
        let whole = log(self.most) - log(self.least);
        if whole > 0.0 {
            self.from + (self.to - self.from) * (log(amount) - log(self.least)) / whole
        } else {
            self.from
        }
    }

    /// Amounts at equal distances along the axis: the nodes of a curve.
    pub fn along(&self, count: u32) -> impl Iterator<Item = f64> {
        let log = |amount: f64| (amount / self.unit).ln_1p();
        let (least, whole, unit) = (log(self.least), log(self.most) - log(self.least), self.unit);
        (0..=count).map(move |step| (least + whole * f64::from(step) / f64::from(count)).exp_m1() * unit)
    }
}

/// Powers of ten between `least` and `most`, and 2 and 5 times these if that stays within `wanted`.
pub fn log_ticks(least: f64, most: f64, wanted: usize) -> Vec<f64> {
    let between = |steps: &[f64]| -> Vec<f64> {
        let powers = MIN_EXPONENT..MAX_EXPONENT;
        let all = powers.flat_map(|power| steps.iter().map(move |step| step * 10_f64.powi(power)));
        all.filter(|tick| (least * 0.999..=most * 1.001).contains(tick))
            .collect()
    };
    let fine = between(&[1.0, 2.0, 5.0]);
    let half = between(&[1.0, 3.0]);
    [fine, half]
        .into_iter()
        .find(|ticks| ticks.len() <= wanted)
        .unwrap_or_else(|| between(&[1.0]))
}

/// From a nanosecond to more than a year: the range of all times.
const MIN_EXPONENT: i32 = 0;
const MAX_EXPONENT: i32 = 18;

/// About `wanted` round amounts up to `most`: steps of 1, 2 or 5 times a power of ten.
pub fn ticks(most: f64, wanted: f64) -> Vec<f64> {
    if most <= 0.0 || !most.is_finite() {
        return vec![0.0];
    }
    let rough = most / wanted;
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|times| times * power)
        .find(|step| *step >= rough * 0.999)
        .unwrap_or(power * 10.0);
    let count = (most / step + 1e-9).floor() as usize;
    (0..=count.min(MAX_TICKS))
        .map(|index| index as f64 * step)
        .collect()
}

/// Without needless digits, as in `0`, `40 ms`, `2.5 s`.
pub fn tick_text(nanoseconds: f64) -> String {
    if nanoseconds <= 0.0 {
        return "0".to_owned();
    }
    let (unit, name) = match nanoseconds {
        n if n < 999.5 => (1.0, "ns"),
        n if n < 999_500.0 => (1e3, "µs"),
        n if n < 999_500_000.0 => (1e6, "ms"),
        _ => (1e9, "s"),
    };
    let text = format!("{:.2}", nanoseconds / unit);
    format!("{} {name}", text.trim_end_matches('0').trim_end_matches('.'))
}

/// The quantity of an axis, with the units of its ticks: `duration (ms, s)`.
pub fn axis_title(quantity: &str, ticks: &[f64]) -> String {
    let texts = ticks.iter().map(|tick| tick_text(*tick));
    let mut units: Vec<String> = texts
        .filter_map(|text| Some(text.split_once(' ')?.1.to_owned()))
        .collect();
    units.dedup();
    format!("{quantity} ({})", units.join(", "))
}

pub fn nanos(span: Duration) -> f64 {
    span.as_nanos() as f64
}

const MAX_TICKS: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_cover_the_axis() {
        assert_eq!(ticks(200.0, 4.0), [0.0, 50.0, 100.0, 150.0, 200.0]);
        assert_eq!(ticks(3.3, 4.0), [0.0, 1.0, 2.0, 3.0]);
        assert_eq!(ticks(0.0, 4.0), [0.0]);
        assert_eq!(ticks(f64::NAN, 4.0), [0.0]);
    }

    #[test]
    fn equal_factors_are_equally_long_above_the_unit() {
        let scale = LogScale {
            unit: 1e-6,
            least: 1.0,
            most: 100.0,
            from: 0.0,
            to: 10.0,
        };
        assert!((scale.position(10.0) - 5.0).abs() < 1e-3);
        assert!((scale.position(0.0)).abs() < 1e-9);
        let along: Vec<f64> = scale.along(2).collect();
        assert!(
            (along[1] - 10.0).abs() < 1e-3 && (along[2] - 100.0).abs() < 1e-3,
            "{along:?}"
        );
    }

    #[test]
    fn ticks_of_factors_are_few() {
        assert_eq!(log_ticks(1.0, 10.0, 6), [1.0, 2.0, 5.0, 10.0]);
        assert_eq!(log_ticks(1.0, 100.0, 6), [1.0, 3.0, 10.0, 30.0, 100.0]);
        assert_eq!(log_ticks(1.0, 1000.0, 6), [1.0, 10.0, 100.0, 1000.0]);
    }

    #[test]
    fn tick_texts_have_their_unit_and_no_needless_digit() {
        assert_eq!(tick_text(0.0), "0");
        assert_eq!(tick_text(2.5e9), "2.5 s");
        assert_eq!(tick_text(40e6), "40 ms");
        assert_eq!(tick_text(1e9), "1 s");
        assert_eq!(tick_text(250e3), "250 µs");
    }
}
