use super::assert_whole;
use load::script::{Quoting, Scripts};
use load::sql::SqlLoad;
use load::{Error, Outcome, Plan, QueryMode, Rate, RunControl};
use std::time::{Duration, Instant};
use sys::StopToken;
use sys::Target;
use testbed::Postgres;
use testbed::floor::told_on_failure;

fn load(server: &Postgres, statement: &str) -> SqlLoad {
    let scripts = Scripts::parse([statement], Quoting::Standard).unwrap();
    SqlLoad::new(&Target::parse(&server.url()).unwrap(), scripts, QueryMode::Simple).unwrap()
}

fn run(load: &SqlLoad, plan: &Plan) -> Result<Outcome, Error> {
    load::run(load, plan, &RunControl::new(&StopToken::never()).unwrap(), None)
}

fn rated(clients: u32, rate: f64, duration: Duration) -> Plan {
    Plan {
        clients,
        threads: Some(1),
        duration: Some(duration),
        rate: Some(Rate::per_second(rate).unwrap()),
        ..Plan::default()
    }
}

#[test]
#[ignore = "timing: make test runs it alone"]
fn operations_begin_when_they_are_to_begin() {
    let _floor = told_on_failure();
    let server = Postgres::start();
    let plan = rated(8, 100.0, Duration::from_secs(2));
    let outcome = run(&load(&server, "select 1"), &plan).unwrap();
    let measured = outcome.measured.unwrap();
    let begun = measured.operations + outcome.not_begun;
    // 200 expected, standard deviation 14; constant for a seed.
    assert!((130..=270).contains(&begun), "{begun}");
    let (intended, lag) = (outcome.intended.unwrap(), outcome.lag.unwrap());
    assert_eq!(
        (intended.count, lag.count),
        (measured.operations, measured.operations)
    );
    assert!(intended.p50 >= measured.spread.p50);
    // Duration from the intended start = duration from the real start + lag.
    let sum = |spread: &model::Distribution| spread.mean.unwrap().as_secs_f64();
    let apart = sum(&intended) - sum(&measured.spread) - sum(&lag);
    assert!(apart.abs() < 1e-6, "{apart}");
    assert!(lag.p50 < Some(Duration::from_millis(20)), "{lag:?}");
    let rate = measured.per_second;
    assert!((measured.operations as f64 / outcome.elapsed.as_secs_f64() - rate).abs() < 1e-6);
}

#[test]
#[ignore = "timing: make test runs it alone"]
fn what_a_slow_server_makes_others_wait_is_counted() {
    let _floor = told_on_failure();
    let server = Postgres::start();
    // Two clients of 20 ms each reach 100 per second; four times as many are scheduled.
    let plan = rated(2, 400.0, Duration::from_secs(1));
    let outcome = run(&load(&server, "select pg_sleep(0.02)"), &plan).unwrap();
    let measured = outcome.measured.unwrap();
    assert!(
        (10..=104).contains(&measured.operations),
        "{}",
        measured.operations
    );
    let total = measured.operations + outcome.not_begun;
    assert!((300..=500).contains(&total), "{total}");
    let (intended, lag) = (outcome.intended.unwrap(), outcome.lag.unwrap());
    assert!(lag.max > Some(Duration::from_millis(300)), "{lag:?}");
    assert!(
        intended.p50.unwrap() > measured.duration + Duration::from_millis(100),
        "{intended:?}"
    );
}

#[test]
fn clients_join_one_after_another() {
    let server = Postgres::start();
    let plan = Plan {
        clients: 5,
        threads: Some(2),
        operations_per_client: Some(1),
        ramp: Duration::from_millis(500),
        ..Plan::default()
    };
    let outcome = run(&load(&server, "select 1"), &plan).unwrap();
    assert_whole(&outcome, 5);
    // The last of five joins after four fifths.
    assert!(
        outcome.elapsed >= Duration::from_millis(400),
        "{:?}",
        outcome.elapsed
    );
}

#[test]
fn a_run_is_ended_from_outside_and_what_was_done_counts() {
    let server = Postgres::start();
    let control = RunControl::new(&StopToken::never()).unwrap();
    for (clients, statement) in [(1, "select pg_sleep(0.01)"), (4, "select pg_sleep(0.01)")] {
        control.stop.reset();
        let load = load(&server, statement);
        let plan = Plan {
            clients,
            ..Plan::default()
        };
        let before = control.progress();
        let (outcome, took) = std::thread::scope(|scope| {
            let run = scope.spawn(|| load::run(&load, &plan, &control, None));
            while control.progress().since(&before).done < 10 {
                std::thread::sleep(Duration::from_millis(5));
            }
            let stopped = Instant::now();
            control.stop.stop();
            (run.join().unwrap().unwrap(), stopped.elapsed())
        });
        assert!(took < Duration::from_secs(5), "{took:?}");
        let since = control.progress().since(&before);
        let measured = outcome.measured.unwrap();
        assert_eq!((measured.operations, outcome.errors), (since.done, vec![]));
        assert!(since.mean() >= Some(Duration::from_millis(10)));
    }
}
