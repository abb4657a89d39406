use super::{assert_whole, plan, run};
use load::command::CommandLoad;
use load::{Error, RunControl};
use std::process::Command;
use std::time::{Duration, Instant};
use sys::StopToken;

fn shell(script: &'static str) -> impl Fn() -> Command + Sync {
    move || {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }
}

#[test]
fn runs_take_as_long_as_the_command() {
    let make = shell("sleep 0.05");
    let outcome = run(&CommandLoad::new(&make), &plan(2, 6)).unwrap();
    assert_whole(&outcome, 6);
    assert!(outcome.measured.unwrap().spread.min >= Some(Duration::from_millis(50)));
}

#[test]
fn a_command_that_fails_is_counted_and_one_that_is_missing_too() {
    let make = shell("exit 3");
    let outcome = run(&CommandLoad::new(&make), &plan(1, 4)).unwrap();
    assert_eq!(outcome.measured, None);
    assert_eq!(outcome.errors[0].text, "the command ended with exit status: 3");
    assert_eq!(outcome.errors[0].count, 4);
    let missing = || Command::new("no-such-program");
    let outcome = run(&CommandLoad::new(&missing), &plan(1, 2)).unwrap();
    assert_eq!(
        outcome.errors[0].text,
        "the command could not be started: no such file or directory"
    );
}

#[test]
fn a_command_that_takes_too_long_is_killed_with_its_children() {
    let make = shell("sleep 1000 & wait");
    let mut plan = plan(1, 1);
    plan.timeout = Duration::from_millis(100);
    let outcome = run(&CommandLoad::new(&make), &plan).unwrap();
    assert_eq!(outcome.errors[0].text, "server: no complete reply within 0.1 s");
}

#[test]
fn a_run_can_be_ended_from_outside() {
    let make = shell("sleep 1000");
    let control = RunControl::new(&StopToken::never()).unwrap();
    let started = Instant::now();
    let outcome = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(100));
            control.stop.stop();
        });
        load::run(&CommandLoad::new(&make), &plan(3, 100), &control, None)
    });
    let outcome = outcome.unwrap();
    assert_eq!((outcome.measured, outcome.errors), (None, vec![]));
    assert!(started.elapsed() < Duration::from_secs(60));
    let stopped = load::run(&CommandLoad::new(&make), &plan(1, 1), &control, None);
    assert_eq!(stopped, Err(Error::Stopped));
}
