//! `--spare`: some exchanges pass without the link's delay, in every second operation.

use crate::relay::{milliseconds, one, with_application};
use testbed::Postgres;
use testbed::binary::{longwire, records, stderr};

const CHILD: &str = "select relname from pg_class where oid = ?";
const OPERATIONS: usize = 16;
/// Of the catalogue: one row each.
const TABLES: [u32; 5] = [1247, 1249, 1255, 1259, 1260];
const CHILDREN: usize = TABLES.len();

/// Transactions of a loop, each with a number of its own.
fn script(operations: usize) -> String {
    let operations = (0..operations).map(|operation| {
        let rounds = TABLES.map(|oid| format!("select relname from pg_class where oid = {oid};"));
        let rounds = rounds.concat();
        format!("begin; select {operation} as operation; {rounds} commit;")
    });
    let script: String = operations.collect();
    format!("echo '{script}' | psql -X -q -A -t")
}

fn spared(flags: &[&str]) -> (serde_json::Value, String) {
    let server = Postgres::start();
    let (url, script) = (server.url(), script(OPERATIONS));
    let plain = with_application(&["relay", &url], &script);
    let arguments = [&["relay", &url, "--link", "20ms"], flags].concat();
    let shown = with_application(&arguments, &script);
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    let plain = String::from_utf8_lossy(&plain.stdout).into_owned();
    assert!(shown.starts_with(&plain), "{shown}\n{plain}");
    assert_eq!(plain.lines().count(), OPERATIONS * (1 + CHILDREN));
    let output = with_application(&[&arguments[..], &["--json"]].concat(), &script);
    (one(&records(&output), "spared").clone(), shown)
}

#[test]
fn of_every_second_transaction_all_rounds_but_the_first_take_no_delay() {
    let (record, shown) = spared(&["--spare", CHILD]);
    let half = OPERATIONS / 2;
    let removed = half * (CHILDREN - 1);
    for (key, count) in [
        ("executions", half * CHILDREN),
        ("removable_executions", removed),
        ("spared_executions", removed),
        ("operations", half),
        ("operations_spared", half),
        ("operations_mixed", 0),
    ] {
        assert_eq!(record[key], count, "{record}");
    }
    // Four round trips of 20 ms, on a busy machine.
    assert!(
        (40.0..200.0).contains(&milliseconds(&record, "saves_ns")),
        "{record}"
    );
    assert!(shown.contains(&format!("Spared {removed} of")), "{shown}");
    // On a busy machine the scatter may be larger than the saving.
    let words: Vec<&str> = shown.split_whitespace().collect();
    assert!(words.join(" ").contains("(8 and 8 operations)"), "{shown}");
}

#[test]
fn a_control_alternates_and_saves_nothing() {
    let (record, shown) = spared(&["--spare", "control"]);
    assert_eq!(record["operations_spared"], OPERATIONS / 2, "{record}");
    assert!(milliseconds(&record, "saves_ns").abs() < 40.0, "{record}");
    assert!(shown.contains("Control: nothing was spared"), "{shown}");
}

#[test]
fn of_two_transactions_no_difference_is_stated() {
    let server = Postgres::start();
    let arguments = ["relay", &server.url(), "--link", "5ms", "--spare", CHILD];
    let once = "psql -X -q -c 'select relname from pg_class where oid = 1247'";
    let output = with_application(&arguments, once);
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(
        shown.contains("Nothing is proved: none was seen that could be removed."),
        "{shown}"
    );
}

#[test]
fn a_statement_that_never_ran_is_refused_with_those_that_did() {
    let server = Postgres::start();
    let wrong = "select several words from nowhere where name = 'secret'";
    for command in ["relay", "watch"] {
        let arguments = [command, &server.url(), "--link", "5ms", "--spare", wrong];
        let script = ["--", "sh", "-c", "psql -X -q -c 'select relname from pg_class'"];
        let output = longwire(&arguments).args(script).output();
        let output = output.expect("the binary starts");
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(
            said.contains("name = ?' did not run"),
            "without the literal: {said}"
        );
        assert!(said.contains("'select relname from pg_class'"), "{said}");
    }
}

/// Enough to observe, and to prove the loop with any scatter.
const MANY_OPERATIONS: usize = 200;

#[test]
fn what_was_found_is_proved_next_to_its_promise() {
    let server = Postgres::start();
    let url = server.url();
    let script = script(MANY_OPERATIONS);
    let arguments = ["watch", &url, "--link", "10ms", "--prove"];
    let output = with_application(&[&arguments[..], &["--json"]].concat(), &script);
    let seen = records(&output);
    let proved: Vec<_> = seen.iter().filter(|record| record["type"] == "spared").collect();
    let of_loop = proved
        .iter()
        .find(|record| record["finding"] == "n+1")
        .unwrap_or_else(|| panic!("{proved:?}"));
    assert_eq!(of_loop["spared"], CHILD);
    // Four round trips of 10 ms, by arithmetic and on a busy machine.
    for key in ["promised_ns", "saves_ns"] {
        assert!((20.0..100.0).contains(&milliseconds(of_loop, key)), "{of_loop}");
    }
    assert_eq!(of_loop["round_trips_spared"], CHILDREN - 1);
    assert_eq!(of_loop["refusal"], serde_json::Value::Null);
    let control = proved.iter().find(|record| record["spared"] == "control");
    let observed = control.map(|control| {
        control["operations"]
            .as_u64()
            .zip(control["operations_spared"].as_u64())
    });
    let (with, without) = observed.flatten().expect("a control");
    assert!(with + without >= 20, "{control:?}");
    // The first is named `connect, ...`; one was in progress when proving began.
    let is_observed = |record: &&serde_json::Value| {
        record["type"] == "operation" && record["operation_name"] == of_loop["operation_name"]
    };
    let summed = seen.iter().filter(is_observed).count() as u64;
    assert!(
        (with + without - 1..=with + without + 1).contains(&summed),
        "{summed}"
    );
}

#[test]
fn proving_without_a_link_or_at_an_interface_is_refused_with_what_to_do() {
    let server = Postgres::start();
    for (arguments, hint) in [
        (&["watch", &server.url(), "--prove"][..], "add --link 40ms"),
        (
            &["watch", "--interface", "lo", "--prove"],
            "leave out --interface",
        ),
    ] {
        let output = longwire(arguments).output().expect("the binary starts");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(stderr(&output).contains(hint), "{}", stderr(&output));
    }
}
