//! A live run behind a delay: the screen's predictions equal those of `predict` on the recording.

use super::{pgbench, relay_on, restored, server_of_pgbench, start};
use std::time::Duration;
use testbed::Tmux;
use testbed::binary::{done, longwire, number, of_type, records};

fn p50(row: &str) -> Duration {
    let words: Vec<&str> = row.split_whitespace().collect();
    let pair = words
        .windows(2)
        .find(|pair| pair[0].parse::<f64>().is_ok() && matches!(pair[1], "us" | "ms" | "s"))
        .unwrap_or_else(|| panic!("no duration in: {row}"));
    model::parse_duration(&pair.concat()).expect("a duration")
}

#[test]
fn what_is_predicted_of_a_live_run_is_what_predict_says_of_its_recording() {
    const NAME: &str = "update pgbench_accounts";
    let (server, _) = server_of_pgbench();
    let terminal = Tmux::start(200, 40);
    start(
        &terminal,
        &format!("'{}' --link rtt=5ms -o run.lwr", server.url()),
    );
    let relay = relay_on(&terminal);
    let load = pgbench(&relay, &["-n", "-c", "2", "-t", "30"]).status();
    assert!(load.expect("it starts").success());
    terminal.text("+");
    terminal.wait_for("PREDICTED over rtt=10ms  mean");
    terminal.wait_for("open: 0 connections");
    std::thread::sleep(Duration::from_secs(3));
    let shown = terminal.shown();
    terminal.text("q");
    restored(&terminal, 0);
    let recording = terminal.folder().join("run.lwr").display().to_string();
    let mut predict = longwire(&[
        "predict",
        "--json",
        "--rtt",
        "10ms",
        "--operations",
        "transaction",
    ]);
    let predicted = predict.arg(&recording).output().expect("it starts");
    done(&predicted);
    let predicted = records(&predicted);
    let predicted = of_type(&predicted, "prediction").into_iter().find(|record| {
        record["operation_name"]
            .as_str()
            .is_some_and(|name| name.starts_with(NAME))
    });
    let predicted = Duration::from_nanos(number(predicted.expect("a prediction"), "duration_ns"));
    let row = shown.lines().find(|line| line.starts_with(NAME));
    let row = p50(row.unwrap_or_else(|| panic!("{NAME} is not in\n{shown}")));
    // Seven round trips; five on the link take at least 50 ms.
    assert!(predicted > Duration::from_millis(60), "{predicted:?}");
    let apart = row.abs_diff(predicted).as_secs_f64() / predicted.as_secs_f64();
    assert!(apart < 0.05, "{row:?} on the screen, {predicted:?} by predict");
}
