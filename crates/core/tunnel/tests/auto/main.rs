//! The level controller on simulated lanes: it finds the best fixed level, and costs little over
//! the better of off and the best.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod lane;

use lane::{Data, Demand, NOISE, Outcome, ROWS, Simulation, TEXT};
use model::Timestamp;
use std::time::Duration;
use tunnel::{Auto, CompressionLevel};

/// In bytes per second.
const RATES: [f64; 6] = [450e3, 1.25e6, 12.5e6, 125e6, 1.25e9, 1e12];
const DATA: [(&str, Data); 3] = [("rows", ROWS), ("text", TEXT), ("noise", NOISE)];

fn clients(clients: usize, result: usize) -> Demand {
    Demand::Clients {
        clients,
        result,
        think: Duration::from_millis(3),
    }
}

/// Speeds of fixed levels, off first.
fn fixed(simulation: &Simulation, span: Duration) -> Vec<f64> {
    [0, 1, 2, 4, 6, 7, 9]
        .map(|level| simulation.fixed(level, span))
        .to_vec()
}

fn check(what: &str, simulation: &Simulation, span: Duration, least: f64) -> Outcome {
    let fixed = fixed(simulation, span);
    let best = fixed.iter().copied().fold(0.0, f64::max);
    let outcome = simulation.auto(span);
    let auto = outcome.speed;
    let levels = &outcome.levels;
    assert!(
        auto > 0.97 * fixed[0],
        "{what}: auto {auto:.4e}, off {:.4e}, {levels:?}",
        fixed[0]
    );
    assert!(
        auto > least * best,
        "{what}: auto {auto:.4e}, fixed {fixed:?}, {levels:?}"
    );
    outcome
}

#[test]
fn a_lane_that_always_has_something_to_send_gets_the_best_level() {
    for rate in RATES {
        for (name, data) in DATA {
            let span = Duration::from_secs(if rate < 1e8 { 20 } else { 4 });
            let what = format!("{name} at {rate:.3e}");
            let outcome = check(&what, &Simulation::new(rate, data, Demand::Endless), span, 0.97);
            assert!(outcome.levels.len() < 16, "{what}: {:?}", outcome.levels);
        }
    }
}

#[test]
fn results_that_never_fill_the_lane_are_compressed_where_they_take_long() {
    for (rate, rtt, least) in [
        (450e3, 10, 0.97),
        (450e3, 40, 0.96),
        (1.25e6, 10, 0.95),
        (125e6, 1, 0.96),
        (1e12, 0, 0.97),
    ] {
        for (name, data) in DATA {
            let simulation = Simulation::new(rate, data, clients(1, 20_000)).rtt(Duration::from_millis(rtt));
            check(
                &format!("{name} at {rate:.3e}, {rtt} ms"),
                &simulation,
                Duration::from_secs(20),
                least,
            );
        }
    }
}

#[test]
fn the_first_results_of_a_new_lane_are_compressed_over_a_distance() {
    for (rate, rtt) in [(450e3, 10), (1.25e6, 40), (12.5e6, 40)] {
        for (name, data) in DATA {
            let simulation = Simulation::new(rate, data, clients(1, 100_000)).rtt(Duration::from_millis(rtt));
            let what = format!("{name} at {rate:.3e}, {rtt} ms");
            check(&what, &simulation, Duration::from_millis(400), 0.96);
        }
    }
}

#[test]
fn clients_that_wait_for_each_other_s_results_get_a_good_level() {
    for rate in [450e3, 1.25e6, 12.5e6, 125e6] {
        for (name, data) in DATA {
            for count in [1, 40] {
                let simulation =
                    Simulation::new(rate, data, clients(count, 800_000)).rtt(Duration::from_millis(1));
                check(
                    &format!("{name} at {rate:.3e}, {count} clients"),
                    &simulation,
                    Duration::from_secs(10),
                    0.93,
                );
            }
        }
    }
}

#[test]
fn a_slow_processor_gets_a_lower_level() {
    let simulation = Simulation::new(12.5e6, TEXT, Demand::Endless).slower(4.0);
    let outcome = check("busy", &simulation, Duration::from_secs(20), 0.97);
    assert!(outcome.last() < 6, "{:?}", outcome.levels);
}

#[test]
fn a_rate_that_changes_is_followed() {
    let second = Duration::from_secs(1);
    let simulation = Simulation::new(1.25e9, TEXT, Demand::Endless)
        .then(5 * second, 450e3)
        .then(15 * second, 1.25e9);
    let outcome = simulation.auto(20 * second);
    let level_at = |at: Duration| outcome.at(at);
    assert_eq!(level_at(4 * second), 0, "{:?}", outcome.levels);
    assert!(level_at(7 * second) > 5, "{:?}", outcome.levels);
    assert_eq!(level_at(19 * second), 0, "{:?}", outcome.levels);
}

#[test]
fn a_lane_that_stands_still_for_a_while_goes_on_as_before() {
    let second = Duration::from_secs(1);
    let simulation = Simulation::new(1.25e6, TEXT, Demand::Endless).outage(5 * second, 3 * second);
    let outcome = check("outage", &simulation, 20 * second, 0.97);
    assert!(outcome.last() > 5, "{:?}", outcome.levels);
}

#[test]
fn after_a_pause_what_was_found_out_is_still_known() {
    let mut auto = Auto::new(Timestamp::default(), None);
    let mut at = Timestamp::default();
    for _ in 0..40 {
        let level = auto.level(at);
        let bytes = if level == CompressionLevel::OFF {
            32_768
        } else {
            8_192
        };
        auto.chunk(at, level, 32_768, bytes, Duration::from_micros(200));
        auto.sent(at, bytes);
        auto.full(at);
        at = at.after(Duration::from_secs_f64(bytes as f64 / 64e3));
    }
    assert_ne!(auto.level(at), CompressionLevel::OFF);
    auto.sent(at, 1);
    auto.idle(at);

    at = at.after(Duration::from_secs(600));
    // Small uncompressed logins, which the lane has room for.
    for _ in 0..200 {
        assert_ne!(auto.level(at), CompressionLevel::OFF);
        auto.chunk(at, CompressionLevel::OFF, 300, 308, Duration::ZERO);
        auto.sent(at, 308);
        auto.idle(at);
        at = at.after(Duration::from_millis(1));
    }
}

#[test]
fn data_that_changes_is_followed() {
    let second = Duration::from_secs(1);
    let simulation = Simulation::new(1.25e6, NOISE, Demand::Endless)
        .then_data(10 * second, TEXT)
        .then_data(30 * second, NOISE);
    let outcome = simulation.auto(40 * second);
    assert_eq!(outcome.at(9 * second), 0, "{:?}", outcome.levels);
    assert!(outcome.at(29 * second) > 5, "{:?}", outcome.levels);
    let off = simulation.fixed(0, 40 * second);
    assert!(outcome.speed > off, "{:e} {off:e}", outcome.speed);
}
