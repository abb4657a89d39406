use super::*;

const DELAYS: [Duration; 4] = [
    Duration::ZERO,
    Duration::from_millis(1),
    Duration::from_millis(5),
    Duration::from_millis(20),
];

/// Statements of 50 us to 1 ms after rests of 200 us, where the additional time is `factor` of that
/// assumed, and each computation differs by up to `noise` of itself.
fn samples(rounds: u32, repeats: u32, factor: f64, noise: f64, seed: u64) -> Vec<ComputingSample> {
    let mut state = seed | 1;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1_u64 << 53) as f64 * 2.0 - 1.0
    };
    let mut samples = Vec::new();
    for round in 0..rounds {
        for delay in DELAYS {
            for statement in 1..=20_u64 {
                for _ in 0..repeats {
                    let work = Nanos::new(statement * 50_000);
                    let near = Nanos::new(200_000);
                    let own = near.saturating_add(delay.into());
                    let rest = Rest {
                        measured: near,
                        own,
                        processor: None,
                    };
                    let whole = work.as_f64() + factor * wake_up::allowance(work, rest).as_f64();
                    samples.push(ComputingSample {
                        statement,
                        round,
                        delay,
                        computing: Nanos::from_f64(whole * (1.0 + noise * random())),
                        rest: own,
                    });
                }
            }
        }
    }
    samples
}

#[test]
fn a_known_factor_comes_back_and_nearly_always_within_its_scatter() {
    let (mut all, mut within) = (0, 0);
    for seed in 1..=300_u32 {
        let (factor, noise) = (f64::from(seed % 15) / 10.0, f64::from(seed % 4) / 20.0);
        let samples = samples(10, 4, factor, noise, u64::from(seed) << 32);
        for rest in fit(Side::Server, &samples, &DELAYS[2..]) {
            assert_eq!(rest.refused, None);
            let found = rest.factor.expect("not refused");
            assert!((found.factor - factor).abs() < 0.02 + noise, "{found:?}");
            assert_eq!(rest.samples, 800);
            all += 1;
            within += u32::from((found.factor_low - 1e-6..=found.factor_high + 1e-6).contains(&factor));
        }
    }
    assert!(within * 100 >= all * 99, "{within} of {all}");
}

#[test]
fn exact_samples_have_no_scatter() {
    for rest in fit(Side::Server, &samples(4, 1, 0.5, 0.0, 1), &DELAYS) {
        let found = rest.factor.expect("not refused");
        for value in [found.factor, found.factor_low, found.factor_high] {
            assert!((value - 0.5).abs() < 1e-3, "{found:?}");
        }
    }
}

#[test]
fn too_few_are_refused_and_say_so() {
    let few: Vec<_> = samples(10, 1, 0.5, 0.0, 1).into_iter().take(80 * 3).collect();
    let [rest] = fit(Side::Server, &few, &DELAYS[3..])
        .try_into()
        .expect("one delay");
    assert_eq!(rest.factor, None);
    assert_eq!(
        rest.refused.as_deref(),
        Some("too few: 3 of 4 rounds"),
        "the requests suffice"
    );
    let [none] = fit(Side::Server, &[], &DELAYS[3..])
        .try_into()
        .expect("one delay");
    assert_eq!((none.samples, none.factor), (0, None));
    assert_eq!(
        none.refused.as_deref(),
        Some("too few: 0 of 30 requests, 0 of 4 rounds")
    );
}

#[test]
fn a_statement_that_hardly_rests_longer_does_not_widen_the_percentiles() {
    let mut samples = samples(8, 2, 0.5, 0.0, 1);
    for sample in &mut samples {
        if sample.statement <= 2 && !sample.delay.is_zero() {
            sample.rest = Nanos::new(200_000 + sample.statement - 1);
            sample.computing = Nanos::new(sample.statement * 50_000 + 5_000);
        }
    }
    for rest in fit(Side::Server, &samples, &DELAYS[3..]) {
        let found = rest.factor.expect("not refused");
        assert!(found.factor_high - found.factor_low < 0.05, "{found:?}");
    }
}

#[test]
fn only_pairs_count() {
    let mut samples = samples(8, 10, 0.5, 0.0, 1);
    let mut near = 0;
    samples.retain(|sample| {
        near += u32::from(sample.delay.is_zero());
        !sample.delay.is_zero() || near.is_multiple_of(10)
    });
    for rest in fit(Side::Server, &samples, &DELAYS) {
        assert_eq!(rest.samples, 8 * 20, "{rest:?}");
    }
}

#[test]
fn an_effect_that_the_scatter_hides_is_refused() {
    let [rest] = fit(Side::Server, &samples(10, 1, 0.2, 0.95, 7), &DELAYS[1..2])
        .try_into()
        .expect("one delay");
    assert!(rest.refused.is_some_and(|reason| reason.starts_with("scatter")));
}

#[test]
fn a_drift_over_the_rounds_does_not_count_as_an_effect() {
    let mut samples = samples(8, 2, 0.0, 0.0, 1);
    for sample in &mut samples {
        let slower = 1.0 + f64::from(sample.round) * 0.1;
        sample.computing = Nanos::from_f64(sample.computing.as_f64() * slower);
    }
    for rest in fit(Side::Server, &samples, &DELAYS) {
        assert!(
            rest.factor.is_some_and(|found| found.factor.abs() < 1e-3),
            "{rest:?}"
        );
    }
}

fn rest(longer: u64, factor: Option<f64>) -> CalibratedRest {
    CalibratedRest {
        side: Side::Client,
        longer: Duration::from_millis(longer),
        samples: 100,
        work: Duration::from_micros(100),
        additional_ns: 0,
        factor: factor.map(|factor| CalibratedFactor {
            factor,
            factor_low: factor - 0.1,
            factor_high: factor + 0.2,
        }),
        refused: factor.is_none().then(|| "scatter".to_owned()),
    }
}

#[test]
fn rests_that_no_fit_returns_are_refused() {
    let curves = |rests: &[CalibratedRest]| {
        CalibratedCurve::of_both_sides(&Calibration {
            calibration: Calibration::VERSION,
            host: None,
            kernel: None,
            work: String::new(),
            rests: rests.to_vec(),
        })
    };
    let refused = |rests: &[CalibratedRest], words: &str| {
        let reason = curves(rests).expect_err("refused");
        assert!(reason.contains(words), "{reason}");
    };
    let whole = [rest(1, None), rest(5, Some(1.0)), rest(20, Some(-0.4))];
    assert!(curves(&whole).is_ok_and(|curves| curves[Side::Client].is_some()));
    refused(&[rest(5, Some(1.0)), rest(1, Some(1.0))], "ascending");
    refused(&[rest(5, Some(1.0)), rest(5, Some(1.0))], "ascending");
    refused(
        &[1, 2, 3, 4, 5].map(|longer| rest(longer, Some(1.0))),
        "more than 4",
    );
    refused(&[rest(5, Some(f64::INFINITY))], "must be between");
    refused(&[rest(5, Some(f64::NAN))], "must be between");
    let changed = |low: f64, high: f64| {
        let mut rest = rest(5, Some(1.0));
        rest.factor = rest.factor.map(|factor| CalibratedFactor {
            factor_low: low,
            factor_high: high,
            ..factor
        });
        [rest]
    };
    refused(&changed(1.1, 1.2), "must be between");
    refused(&changed(0.5, 0.9), "must be between");
    refused(&changed(-0.5, 2.0), "at most 2 apart");
    let mut neither = rest(5, None);
    neither.refused = None;
    refused(&[neither], "neither");
}

#[test]
fn factors_are_interpolated_kept_beyond_and_assumed_where_refused() {
    let curve = CalibratedCurve::new(
        Side::Client,
        &[rest(1, None), rest(5, Some(1.0)), rest(20, Some(0.4))],
    );
    let curve = curve.expect("two factors");
    assert!(!curve.is_whole());
    for longer in [0, 1] {
        assert_eq!(curve.at(Nanos::from_millis(longer)), ASSUMED);
    }
    for (longer, factor) in [(5, 1.0), (10, 0.8), (20, 0.4), (500, 0.4)] {
        let found = curve.at(Nanos::from_millis(longer));
        assert!((found.factor - factor).abs() < 1e-9, "{longer} ms: {found:?}");
        assert!((found.factor_high - factor - 0.2).abs() < 1e-9);
    }
    assert_eq!(CalibratedCurve::new(Side::Client, &[rest(1, None)]), None);
}
