//! Commands through JDBC drivers, and messages for missing prerequisites.

use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use testbed::binary::{self, ends, shown as said};
use testbed::{Postgres, Started, java};

const PGJDBC: &str = "org.postgresql:postgresql:42.7.4";

fn longwire(command: &str, url: &str, arguments: &[&str]) -> Command {
    let jars = java::jars(&[PGJDBC]);
    let mut longwire = binary::longwire(&[command, url, "--driver"]);
    longwire
        .args(jars)
        .args(arguments)
        .env("LONGWIRE_JDBC_BRIDGE", java::bridge());
    longwire
}

fn summary(output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stdout);
    let last = text.lines().last().expect("there is a summary");
    serde_json::from_str(last).expect("each line is a record")
}

fn url(port: u16) -> String {
    let (user, password) = (Postgres::USER, Postgres::PASSWORD);
    format!("jdbc:postgresql://127.0.0.1:{port}/postgres?user={user}&password={password}")
}

#[test]
fn ping_through_a_driver_is_as_far_as_without_one() {
    let server = Postgres::start();
    let target = format!("tcp://127.0.0.1:{}", server.port());
    let mut relay = binary::longwire(&["relay", &target, "--link", "rtt=10ms"]);
    let (relay, address) = Started::listening(relay.stdout(Stdio::null()), "relaying ");
    let ping = ["-n", "20", "-i", "20ms", "--json"];
    let through = summary(&ends(longwire("ping", &url(address.port()), &ping), 0));
    drop(relay);
    let median = through["p50_ns"].as_u64().expect("a median");
    assert!(median >= 10_000_000, "{through}");
    assert_eq!(through["answered"], 20);
    assert_eq!(through["turns"], 0, "a driver's round trips are not counted");
}

#[test]
fn ping_names_the_driver_and_what_the_bridge_adds() {
    let server = Postgres::start();
    let output = said(&ends(
        longwire("ping", &url(server.port()), &["-n", "2", "-i", "10ms"]),
        0,
    ));
    for wanted in [
        "PostgreSQL JDBC Driver 42.7.4",
        "timed in Java",
        "of the bridge's own",
        "2 answered",
    ] {
        assert!(binary::unwrapped(&output).contains(wanted), "{output}");
    }
    assert!(!output.contains(Postgres::PASSWORD), "{output}");
    let connect = ["--connect", "-n", "2", "-i", "10ms", "--json"];
    assert_eq!(
        summary(&ends(longwire("ping", &url(server.port()), &connect), 0))["answered"],
        2
    );
}

#[test]
fn load_runs_scripts_through_a_driver() {
    let server = Postgres::start();
    server.sql("create table t_lw (id int, v text)");
    let script = "\\set id random(1, 5)\ninsert into t_lw values (:id, 'it''s');\nselect count(*) as found from t_lw \\gset\nselect :found + :id;";
    for mode in ["simple", "extended", "prepared"] {
        let load = ["--statement", script, "-M", mode, "-c", "2", "-t", "5", "--json"];
        let done = summary(&ends(longwire("load", &url(server.port()), &load), 0));
        assert_eq!(
            (&done["operations"], &done["errors"]),
            (&10.into(), &0.into()),
            "{done}"
        );
    }
    assert_eq!(
        server.sql("select count(*) from t_lw where v = 'it''s'").trim(),
        "30"
    );
    let anew = ["--statement", "select 1", "-C", "-t", "2"];
    let output = said(&ends(longwire("load", &url(server.port()), &anew), 0));
    assert!(output.contains("actually processed: 2"), "{output}");
    let refused = ["--statement", "select * from nothere", "-t", "1"];
    let output = said(&ends(longwire("load", &url(server.port()), &refused), 1));
    assert!(output.contains("42P01"), "{output}");
}

#[test]
fn tune_works_through_a_driver_and_leaves_nothing() {
    let server = Postgres::start();
    let tune = [
        "--rows",
        "200",
        "--select-rows",
        "200",
        "--rounds",
        "2",
        "--link",
        "rtt=1ms",
        "--all",
    ];
    let output = said(&ends(longwire("tune", &url(server.port()), &tune), 0));
    assert!(output.contains("rewritten batch"), "{output}");
    assert!(!output.contains(Postgres::PASSWORD), "{output}");
    let left = server.sql("select count(*) from pg_namespace where nspname like 'longwire%'");
    assert_eq!(left.trim(), "0");
}

/// A `JAVA_HOME` with a Java that prints `text` and exits.
fn java_that_says(text: &str) -> tempfile::TempDir {
    let home = tempfile::tempdir().expect("a directory");
    let program = home.path().join("bin/java");
    std::fs::create_dir(home.path().join("bin")).expect("a directory");
    std::fs::write(&program, format!("#!/bin/sh\necho '{text}' >&2\nexit 1\n")).expect("a script");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("may be run");
    home
}

#[test]
fn what_is_missing_is_told_with_what_to_do() {
    let ping = |home: &Path, bridge: Option<&str>| {
        let mut command = longwire("ping", &url(1), &["-n", "1"]);
        command.env("JAVA_HOME", home);
        if let Some(bridge) = bridge {
            command.env("LONGWIRE_JDBC_BRIDGE", bridge);
        }
        said(&ends(command, 2))
    };
    let none = ping(Path::new("/nowhere"), None);
    assert!(
        none.contains("there is no Java here: looked for /nowhere/bin/java (JAVA_HOME)"),
        "{none}"
    );
    assert!(none.contains("hint: install Java 11"), "{none}");
    let eight = "Exception in thread \"main\" java.lang.UnsupportedClassVersionError: longwire/jdbc/Bridge";
    let old = ping(java_that_says(eight).path(), None);
    assert!(old.contains("is older than Java 11"), "{old}");
    let broken = ping(
        java_that_says("Error: Could not reserve enough space").path(),
        None,
    );
    assert!(
        broken.contains("the JDBC bridge ended (exit status: 1): Error: Could not reserve"),
        "{broken}"
    );
    let no_jar = ping(Path::new("/nowhere"), Some("/nowhere/bridge.jar"));
    assert!(
        no_jar.contains("could not read /nowhere/bridge.jar: no such file"),
        "{no_jar}"
    );
    let native = said(&ends(longwire("ping", "postgres://127.0.0.1/x", &[]), 2));
    assert!(native.contains("a JDBC driver is for a jdbc: URL"), "{native}");
}

/// The bridge exits even if longwire cannot notify it.
#[test]
fn nothing_is_left_of_a_longwire_that_is_killed() {
    let server = Postgres::start();
    let mut command = longwire("ping", &url(server.port()), &["-i", "20ms"]);
    let mut ping = command
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("longwire");
    let mut lines = BufReader::new(ping.stdout.take().expect("piped")).lines();
    assert!(
        lines.any(|line| line.is_ok_and(|line| line.starts_with("seq=2"))),
        "no samples"
    );
    let children = format!("/proc/{0}/task", ping.id());
    let children: Vec<String> = std::fs::read_dir(children)
        .expect("it runs")
        .flatten()
        .filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok())
        .flat_map(|text| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
        .collect();
    assert_eq!(children.len(), 1, "Java");
    let java = format!("/proc/{}", children[0]);
    let shown = std::fs::read(format!("{java}/cmdline")).expect("it runs");
    let shown = String::from_utf8_lossy(&shown).into_owned() + &environment(&java);
    assert!(
        !shown.contains("jdbc:postgresql:") && !shown.contains(Postgres::PASSWORD),
        "{shown}"
    );
    ping.kill().expect("it runs");
    ping.wait().expect("it ends");
    let began = Instant::now();
    while Path::new(&java).exists() {
        assert!(
            began.elapsed() < Duration::from_secs(20),
            "Java outlives longwire"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn environment(process: &str) -> String {
    let bytes = std::fs::read(format!("{process}/environ")).expect("it runs");
    String::from_utf8_lossy(&bytes).into_owned()
}
