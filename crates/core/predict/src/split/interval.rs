//! Combines the forecasts of several rounds into an interval, or refuses.

use super::{Forecast, MIN_SECONDS, span};
use crate::bounds::{class, scale_in};
use link::LinkDescription;
use model::{BoundBy, SplitForecast, SplitRefusal, median};
use std::time::Duration;

/// Median of the rounds' forecasts, with the interval of another run elsewhere.
///
/// 1. Logarithms are assumed normal: 19 of 20 further rounds lie within Student's quantile times standard
///    deviation times sqrt(1 + 1/n) of the mean.
/// 2. The model's uncertainty in any round and its measured error are added, and scaled (split conformal).
/// 3. Refused with fewer rounds than [`SplitRefusal::MIN_ROUNDS`], or an interval wider than [`WIDEST`].
///
/// # Errors
/// The reason for the refusal.
pub fn forecast(
    rounds: &[Forecast],
    clients: u32,
    link: &LinkDescription,
) -> Result<SplitForecast, SplitRefusal> {
    let few = SplitRefusal::Rounds {
        measured: u32::try_from(rounds.len()).unwrap_or(u32::MAX),
    };
    let all = |figure: fn(&Forecast) -> Duration| rounds.iter().map(figure);
    let (Some(transaction), Some(low), Some(high), Some(first)) = (
        median(all(|round| round.transaction)),
        all(|round| round.low).min(),
        all(|round| round.high).max(),
        rounds.first(),
    ) else {
        return Err(few);
    };
    if rounds.len() < SplitRefusal::MIN_ROUNDS as usize {
        return Err(few);
    }
    let [least, most] = scatter(rounds);
    let unscaled = [
        low.min(least).div_f64(1.0 + MODEL_ERROR),
        high.max(most).mul_f64(1.0 + MODEL_ERROR),
    ];
    let class = class(clients, first.bound_by == BoundBy::RoundTrips);
    let scale = scale_in(SCALES, class, clients, &[*link], true);
    let [low, high] = scaled(transaction, unscaled, scale.factor);
    if high.as_secs_f64() > low.as_secs_f64() * WIDEST {
        return Err(SplitRefusal::Wide { low, high });
    }
    Ok(SplitForecast {
        transaction,
        low,
        high,
        unscaled,
        scale,
        bound_by: first.bound_by,
    })
}

fn scaled(middle: Duration, [low, high]: [Duration; 2], factor: f64) -> [Duration; 2] {
    let [below, above] = [middle.saturating_sub(low), high.saturating_sub(middle)];
    [
        middle.saturating_sub(below.mul_f64(factor)),
        middle.saturating_add(above.mul_f64(factor)),
    ]
}

/// Mean of the logarithms, and expected deviation of another round.
fn scatter(rounds: &[Forecast]) -> [Duration; 2] {
    let count = rounds.len() as f64;
    let logarithms = || {
        rounds
            .iter()
            .map(|round| round.transaction.as_secs_f64().max(MIN_SECONDS).ln())
    };
    let mean = logarithms().sum::<f64>() / count;
    let squares: f64 = logarithms().map(|logarithm| (logarithm - mean).powi(2)).sum();
    let deviation = (squares / (count - 1.0).max(1.0)).sqrt();
    let quantile = STUDENT
        .get(rounds.len().saturating_sub(2))
        .copied()
        .unwrap_or(STUDENT_OF_MANY);
    let spread = quantile * deviation * (1.0 + 1.0 / count).sqrt();
    [mean - spread, mean + spread].map(|logarithm| span(logarithm.exp()))
}

/// Written by `make golden-accept` from throughputs.
const SCALES: &str = include_str!("scales.tsv");
/// Student's 97.5 % quantile for each number of degrees of freedom, from 1.
const STUDENT: [f64; 10] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
];
const STUDENT_OF_MANY: f64 = 2.2;
/// Measured deviation of another run beyond the spread of the rounds, see
/// docs/accuracy.md#throughput-elsewhere.
const MODEL_ERROR: f64 = 0.05;
/// Maximum of the upper end divided by the lower end.
const WIDEST: f64 = 2.0;

#[cfg(test)]
mod tests {
    use super::*;
    use model::BoundBy;

    fn rounds(micros: &[u64]) -> Vec<Forecast> {
        let round = |&micros: &u64| Forecast {
            transaction: Duration::from_micros(micros),
            low: Duration::from_micros(micros),
            high: Duration::from_micros(micros),
            bound_by: BoundBy::RoundTrips,
        };
        micros.iter().map(round).collect()
    }

    fn of_one_client(rounds: &[Forecast]) -> Result<SplitForecast, SplitRefusal> {
        forecast(rounds, 1, &LinkDescription::with_rtt(Duration::from_millis(10)))
    }

    #[test]
    fn unscaled_bounds_hold_the_next_round_and_the_models_error() {
        let same = of_one_client(&rounds(&[1_000; 5])).expect("a forecast");
        assert_eq!(same.transaction, Duration::from_micros(1_000));
        let [low, high] = same.unscaled;
        assert!(low.abs_diff(Duration::from_nanos(952_381)) < Duration::from_nanos(10));
        assert!(high.abs_diff(Duration::from_micros(1_050)) < Duration::from_nanos(10));
        // Logarithms with a standard deviation of 0.0791: 2.776 x 0.0791 x sqrt(1.2) = 0.2405 each
        // way, wider than minimum to maximum.
        let spread = of_one_client(&rounds(&[905, 951, 1_000, 1_051, 1_105])).expect("a forecast");
        let [low, high] = spread.unscaled;
        let [least, most] = [1e-3 * (-0.2405_f64).exp() / 1.05, 1e-3 * 0.2405_f64.exp() * 1.05];
        assert!((low.as_secs_f64() / least - 1.0).abs() < 0.002, "{spread:?}");
        assert!((high.as_secs_f64() / most - 1.0).abs() < 0.002, "{spread:?}");
    }

    #[test]
    fn what_the_model_cannot_decide_is_in_the_interval() {
        let mut undecided = rounds(&[1_000; 3]);
        undecided[1].high = Duration::from_micros(1_300);
        undecided[2].low = Duration::from_micros(900);
        let [low, high] = of_one_client(&undecided).expect("a forecast").unscaled;
        assert!(high > Duration::from_micros(1_300) && low < Duration::from_micros(900));
    }

    #[test]
    fn margins_are_scaled_as_measured_and_only_grow_beyond() {
        for clients in [1, 8, 500] {
            for millis in [10, 500] {
                let link = LinkDescription::with_rtt(Duration::from_millis(millis));
                let there = forecast(&rounds(&[1_000; 5]), clients, &link).expect("a forecast");
                let is_measured = there.scale.measured.is_some();
                assert_eq!(is_measured, clients < 500 && millis < 500, "{there:?}");
                assert!(is_measured || there.scale.factor >= 1.0, "{there:?}");
                let scaled = (there.unscaled[1] - there.transaction).mul_f64(there.scale.factor);
                assert_eq!(there.high, there.transaction + scaled);
                assert!(there.low < there.transaction, "{there:?}");
            }
        }
    }

    #[test]
    fn few_rounds_and_wide_intervals_are_refused() {
        for few in 0..3_u32 {
            let refused = of_one_client(&rounds(&vec![1_000; few as usize]));
            assert_eq!(refused, Err(SplitRefusal::Rounds { measured: few }));
        }
        let refused = of_one_client(&rounds(&[1_000, 1_500, 1_000, 2_000, 1_100]));
        let Err(SplitRefusal::Wide { low, high }) = refused else {
            panic!("{refused:?}");
        };
        assert!(high > 2 * low, "{low:?} {high:?}");
    }
}
