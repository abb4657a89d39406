//! Axes: from amounts to places, and where the ticks stand. `page.js` does the same arithmetic.

use std::time::Duration;

/// Amounts from 0 to `most` on a line from `from` to `to`.
#[derive(Debug, Clone, Copy)]
pub struct Scale {
    /// The largest amount.
    pub most: f64,
    /// Place of 0.
    pub from: f64,
    /// Place of the largest amount.
    pub to: f64,
}

impl Scale {
    /// The place of an amount.
    pub fn place(&self, amount: f64) -> f64 {
        if self.most > 0.0 {
            self.from + (self.to - self.from) * amount / self.most
        } else {
            self.from
        }
    }
}

/// Round amounts from 0 up to `most`, about `wanted` of them: steps of 1, 2 or 5 times a power of ten.
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
    (0..=count.min(MOST_TICKS))
        .map(|index| index as f64 * step)
        .collect()
}

/// A round amount of nanoseconds without needless digits: `0`, `40 ms`, `2.5 s`.
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

/// Nanoseconds as a number to draw with.
pub fn nanos(span: Duration) -> f64 {
    span.as_nanos() as f64
}

const MOST_TICKS: usize = 20;

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
    fn tick_texts_have_their_unit_and_no_needless_digit() {
        assert_eq!(tick_text(0.0), "0");
        assert_eq!(tick_text(2.5e9), "2.5 s");
        assert_eq!(tick_text(40e6), "40 ms");
        assert_eq!(tick_text(1e9), "1 s");
        assert_eq!(tick_text(250e3), "250 µs");
    }
}
