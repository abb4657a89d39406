//! Searches over synthetic curves with noise and drift.

use super::*;

/// `turns / value + fixed + value * weight`, in milliseconds, over 1, 2, 4, ...
#[derive(Debug, Clone, Copy)]
struct Curve {
    values: usize,
    turns: f64,
    fixed: f64,
    weight: f64,
}

impl Curve {
    const fn flat(fixed: f64) -> Self {
        Self {
            values: 1,
            turns: 0.0,
            fixed,
            weight: 0.0,
        }
    }

    fn at(&self, place: usize) -> f64 {
        let value = f64::from(1_u32 << place);
        self.turns / value + self.fixed + self.weight * value
    }

    fn best(&self) -> f64 {
        (0..self.values)
            .map(|place| self.at(place))
            .fold(f64::INFINITY, f64::min)
    }
}

/// Reproducible numbers from 0 to 1.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f64 / (1_u64 << 24) as f64
    }
}

/// Deviations from the curve: one-sided scatter of runs, and periods in which the whole machine is
/// slower.
#[derive(Debug, Clone, Copy)]
struct Machine {
    scatter: f64,
    drift: f64,
    /// Runs between changes of speed.
    pace: f64,
    seed: u64,
}

fn run(curves: &[Curve], machine: Machine, mut search: Search) -> Search {
    let mut noise = Noise(machine.seed);
    let mut clock = noise.next() * 100.0;
    loop {
        let settings = search.next_settings();
        if settings.is_empty() {
            return search;
        }
        for setting in settings {
            let scatter = 1.0 + machine.scatter * noise.next() * noise.next();
            let drift = 1.0 + machine.drift * (clock / machine.pace).sin().max(0.0);
            clock += 1.0;
            let time = curves[setting.method].at(setting.place) * scatter * drift;
            search.ran(setting, vec![Duration::from_secs_f64(time / 1_000.0)]);
            assert!(search.taken() < 100_000, "never ends");
        }
    }
}

fn searched(curves: &[Curve], machine: Machine) -> Search {
    let values: Vec<usize> = curves.iter().map(|curve| curve.values).collect();
    run(curves, machine, Search::new(&values, 5, Thoroughness::Search))
}

fn cost(curves: &[Curve], search: &Search) -> f64 {
    let best = curves.iter().map(Curve::best).fold(f64::INFINITY, f64::min);
    let chosen = search.recommended().expect("a recommendation");
    curves[chosen.method].at(chosen.place) / best
}

fn curve(turns: f64, fixed: f64, weight: f64) -> Curve {
    Curve {
        values: 12,
        turns,
        fixed,
        weight,
    }
}

const QUIET: Machine = Machine {
    scatter: 0.0,
    drift: 0.0,
    pace: 1.0,
    seed: 1,
};

fn insert() -> Vec<Curve> {
    vec![
        Curve::flat(4_000.0),
        curve(3_900.0, 300.0, 0.05),
        curve(3_500.0, 420.0, 0.0),
        curve(3_700.0, 900.0, 0.0),
        curve(200.0, 160.0, 0.01),
    ]
}

#[test]
fn a_quiet_machine_gives_the_smallest_value_within_five_percent() {
    for curves in [
        insert(),
        vec![curve(1_000.0, 100.0, 0.0)],
        vec![curve(1_000.0, 100.0, 1.0), curve(500.0, 101.0, 0.0)],
        vec![curve(0.0, 100.0, 0.0), Curve::flat(99.0)],
        vec![curve(10.0, 100.0, 10.0)],
    ] {
        let search = searched(&curves, QUIET);
        let chosen = search.recommended().expect("a recommendation");
        let ratio = cost(&curves, &search);
        assert!(ratio <= GOOD, "{curves:?}: {ratio}");
        let best = curves[chosen.method].best();
        let smallest = (0..curves[chosen.method].values)
            .find(|place| curves[chosen.method].at(*place) <= best * GOOD)
            .expect("one is best");
        assert_eq!(chosen.place, smallest, "{curves:?}");
    }
}

#[test]
fn it_takes_a_quarter_of_a_full_sweep() {
    for seed in 0..50 {
        let machine = Machine {
            scatter: 0.3,
            drift: 1.0,
            pace: 7.0,
            seed,
        };
        let search = searched(&insert(), machine);
        assert_eq!(search.full_sweep(), (12 * 4 + 1) * 5);
        assert!(
            search.taken() * 4 <= search.full_sweep(),
            "{} of {}",
            search.taken(),
            search.full_sweep()
        );
    }
}

#[test]
fn noise_and_drift_seldom_decide() {
    // `most`: machines of 200 that may recommend a setting over 10 % slower than the best.
    for (scatter, drift, pace, most) in [
        (0.1, 0.0, 1.0, 0),
        (0.3, 0.0, 1.0, 4),
        (0.1, 1.0, 30.0, 4),
        (0.1, 2.0, 30.0, 8),
    ] {
        let far_off = |seed: &u64| {
            let machine = Machine {
                scatter,
                drift,
                pace,
                seed: *seed,
            };
            cost(&insert(), &searched(&insert(), machine)) > 1.10
        };
        let bad = (0..200).filter(far_off).count();
        assert!(bad <= most, "{scatter} {drift} {pace}: {bad} of 200");
    }
}

#[test]
fn nothing_that_is_reported_is_better_than_what_is_recommended() {
    for seed in 0..400 {
        let machine = Machine {
            scatter: 1.0,
            drift: 0.4,
            pace: 9.0,
            seed,
        };
        let search = searched(&insert(), machine);
        let chosen = search.recommended().expect("something was run");
        let bound = search.reported(chosen).expect("it was run").as_secs_f64();
        for setting in search.settings() {
            let Some(time) = search.reported(setting) else {
                continue;
            };
            assert!(
                bound <= time.as_secs_f64() * GOOD + 1e-9,
                "seed {seed}: {chosen:?} takes {bound}, {setting:?} next to it {time:?}"
            );
        }
    }
}

#[test]
fn what_takes_long_runs_once() {
    let search = searched(&insert(), QUIET);
    assert_eq!(search.count(MethodSetting { method: 0, place: 0 }), 1);
}

#[test]
fn guesses_spare_runs() {
    let far: Vec<Curve> = insert()
        .iter()
        .map(|curve| Curve {
            turns: curve.turns * 20.0,
            ..*curve
        })
        .collect();
    let values: Vec<usize> = far.iter().map(|curve| curve.values).collect();
    let mut search = Search::new(&values, 5, Thoroughness::Search);
    for (method, curve) in far.iter().enumerate() {
        for place in 0..curve.values {
            // Wrong by 10 %, in turn too long and too short.
            let guess = curve.at(place) * if place % 2 == 0 { 1.1 } else { 0.9 } / 1_000.0;
            search.expect(MethodSetting { method, place }, Duration::from_secs_f64(guess));
        }
    }
    let machine = Machine {
        scatter: 0.1,
        drift: 0.5,
        pace: 7.0,
        seed: 3,
    };
    let search = run(&far, machine, search);
    assert!(cost(&far, &search) <= GOOD);
    assert_eq!(search.count(MethodSetting { method: 0, place: 0 }), 0);
    assert!(
        search.taken() * 5 <= search.full_sweep(),
        "{} of {}",
        search.taken(),
        search.full_sweep()
    );
}

#[test]
fn a_full_sweep_runs_everything() {
    let curves = [curve(100.0, 10.0, 0.0), Curve::flat(90.0)];
    let values = [12, 1];
    let search = run(&curves, QUIET, Search::new(&values, 3, Thoroughness::FullSweep));
    assert_eq!(search.taken(), search.full_sweep());
    assert!(search.settings().all(|setting| search.count(setting) == 3));
}

#[test]
fn what_is_closed_is_not_run() {
    let curves = [curve(100.0, 10.0, 0.0)];
    for thoroughness in [Thoroughness::Search, Thoroughness::FullSweep] {
        let mut search = Search::new(&[12], 3, thoroughness);
        for place in 8..12 {
            search.close(MethodSetting { method: 0, place });
        }
        let search = run(&curves, QUIET, search);
        assert!((8..12).all(|place| search.count(MethodSetting { method: 0, place }) == 0));
        assert_eq!(search.recommended(), Some(MethodSetting { method: 0, place: 7 }));
    }
}

#[test]
fn nothing_to_run_is_no_recommendation() {
    let mut search = Search::new(&[2], 3, Thoroughness::Search);
    search.close(MethodSetting { method: 0, place: 0 });
    search.close(MethodSetting { method: 0, place: 1 });
    assert_eq!(search.next_settings(), []);
    assert_eq!(search.recommended(), None);
}

#[test]
fn what_is_as_good_is_named() {
    // Equal times, 2 % slower, 20 % slower.
    let curves = [Curve::flat(100.0), Curve::flat(102.0), Curve::flat(120.0)];
    for seed in 0..100 {
        let machine = Machine {
            scatter: 0.02,
            drift: 1.0,
            pace: 40.0,
            seed,
        };
        // A quarter of a sweep of three settings only has room for a final if each runs often.
        let search = run(&curves, machine, Search::new(&[1; 3], 40, Thoroughness::Search));
        let chosen = search.recommended().expect("a recommendation");
        let others = search.as_good();
        let either: Vec<usize> = [chosen]
            .iter()
            .chain(&others)
            .map(|setting| setting.method)
            .collect();
        assert!(chosen.method < 2, "seed {seed}: {chosen:?}");
        assert!(
            either.contains(&0) && !either.contains(&2),
            "seed {seed}: {either:?}"
        );
    }
}

#[test]
fn nothing_is_as_good_as_what_is_far_ahead() {
    let search = searched(&insert(), QUIET);
    let chosen = search.recommended().expect("a recommendation");
    let others = search.as_good();
    assert!(!others.is_empty(), "its neighbours take hardly longer");
    assert!(
        others.iter().all(|other| other.method == chosen.method),
        "{others:?}"
    );
    assert!(!others.contains(&chosen));
}

#[test]
fn a_smaller_value_is_recommended_only_where_it_is_surely_good() {
    // The smaller value is 1 % slower; times scatter by 20 %.
    let mut search = Search::new(&[2], 8, Thoroughness::FullSweep);
    let mut noise = Noise(7);
    let mut settings = search.next_settings();
    while !settings.is_empty() {
        for setting in settings {
            let job = |_| (1.0 + 0.4 * noise.next()) * if setting.place == 0 { 1.01 } else { 1.0 };
            search.ran(setting, (0..3).map(job).map(Duration::from_secs_f64).collect());
        }
        settings = search.next_settings();
    }
    let [small, large] = [0, 1].map(|place| MethodSetting { method: 0, place });
    assert_eq!(search.recommended(), Some(large));
    assert_eq!(search.as_good(), [small]);
}
