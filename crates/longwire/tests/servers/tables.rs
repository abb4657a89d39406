//! The tables that each command offers (`--csv`), from real runs.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Output, Stdio};
use testbed::binary::{longwire, of_type, records, run, shown, stdout};
use testbed::process::free_port;
use testbed::schema::keys;
use testbed::{Postgres, Started};

/// Runs the command with each table that its help offers: each has a header with all keys of its
/// records. Records of other types are none of the command.
#[track_caller]
fn assert_tables(words: &str, arguments: &[&str]) {
    assert_tables_of(words, arguments, run);
}

#[track_caller]
fn assert_tables_of(words: &str, arguments: &[&str], run_command: impl Fn(&[&str]) -> Output) {
    let words: Vec<&str> = words.split(' ').collect();
    let help = stdout(&run(&[&words[..], &["--help"]].concat()));
    let offered = help
        .split_once("--csv <TABLE>")
        .and_then(|(_, flag)| flag.split_once("[possible values: ")?.1.split_once(']'));
    let (offered, _) = offered.unwrap_or_else(|| panic!("no tables in: {help}"));
    let offered: Vec<&str> = offered.split(',').map(str::trim).collect();
    let output_with = |flags: &[&str]| run_command(&[&words[..], flags, arguments].concat());
    for table in &offered {
        let output = output_with(&["--csv", table]);
        let text = stdout(&output);
        let header: BTreeSet<&str> = text.lines().next().unwrap_or_default().split(',').collect();
        let keys = keys(table);
        let keys: BTreeSet<&str> = keys.iter().map(String::as_str).collect();
        assert_eq!(header, keys, "{words:?} {table}: {}", shown(&output));
    }
    for record in records(&output_with(&["--json"])) {
        let table = record["type"].as_str().expect("a name");
        assert!(offered.contains(&table), "{words:?} offers no {table}");
    }
}

fn capture() -> String {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    data.join("remedies/lib-pq.pcap.gz").display().to_string()
}

/// Two services, the ends of the capture's connection.
fn estate(path: &Path) {
    let connections = records(&run(&["read", "--json", &capture()]));
    let connection = of_type(&connections, "connection")[0];
    let host = |side: &str| {
        let endpoint = connection[side].as_str().expect("an endpoint");
        endpoint.rsplit_once(':').expect("a port").0.to_owned()
    };
    let service = |name: &str, host: &str| {
        format!(
            "[[service]]\nname = \"{name}\"\nplace = \"here\"\nhosts = [\"{host}\"]\nmonth = {{ here = 30, far = 10 }}\n"
        )
    };
    let text = format!(
        "currency = \"EUR\"\nplaces = [\"here\", \"far\"]\n[[link]]\nbetween = [\"here\", \"far\"]\nlink = \"20ms\"\n{}{}",
        service("shop", &host("client")),
        service("database", &host("server"))
    );
    fs::write(path, text).expect("written");
}

#[test]
fn commands_on_files_write_the_tables_that_they_offer() {
    let folder = tempfile::tempdir().expect("a directory");
    fs::copy(capture(), folder.path().join("app.pcap")).expect("copied");
    let captures = folder.path().display().to_string();
    let of_plan = tempfile::tempdir().expect("a directory");
    let estate_file = of_plan.path().join("estate.toml");
    estate(&estate_file);
    assert_tables("read", &[&captures]);
    assert_tables("predict", &[&captures]);
    assert_tables(
        "check",
        &[&captures, "--max-round-trips", "1000", "--baseline", &captures],
    );
    assert_tables("plan", &[&estate_file.display().to_string(), &captures]);
    assert_tables("tunnel advise", &[&captures, "--levels", "1"]);
    assert_tables("estimate", &["--duration", "12ms", "--trips", "4"]);
    let calibration = folder.path().join("calibration.json").display().to_string();
    assert_tables("calibrate", &["-T", "5s", "-o", &calibration]);
}

const LAB: &str = r#"
hosts = ["application", "database"]
[links.network]
between = ["application", "database"]
[workload]
kind = "command"
host = "application"
command = "true"
[measure]
operations = 2
warmup = 0
[[sweep]]
links.network.rtt = ["0ms", "1ms"]
"#;

#[test]
fn commands_with_a_server_write_the_tables_that_they_offer() {
    let server = Postgres::start();
    let url = server.url();
    let folder = tempfile::tempdir().expect("a directory");
    let path = |name: &str| folder.path().join(name).display().to_string();
    fs::write(path("lab.toml"), LAB).expect("written");
    assert_tables("ping", &[&url, "-n", "1"]);
    assert_tables("split", &[&url, "-c", "1", "-T", "1s", "--rounds", "1"]);
    assert_tables("load", &[&url, "--statement", "select 1", "-T", "1s"]);
    assert_tables("watch", &[&url, "--", "true"]);
    assert_tables("relay", &[&url, "--link", "1ms", "--", "true"]);
    assert_tables("link", &["1ms", "--", "true"]);
    let small = ["--jobs", "insert", "--rows", "50", "--rounds", "1", "--predict"];
    assert_tables("tune", &[&[&*url], &small[..]].concat());
    assert_tables("lab run", &[&path("lab.toml"), "--directory", &path("kept")]);
}

#[test]
fn an_echo_writes_the_tables_that_it_offers() {
    let mut command = longwire(&["echo", "--listen", "127.0.0.1:0"]);
    let (_listening, address) = Started::listening(&mut command, " listens on ");
    assert_tables("echo", &[&address.to_string(), "-T", "500ms"]);
}

/// Interrupted once it has said `mark`.
fn run_until(mark: &str, words: &[&str]) -> Output {
    let mut started = Started::heard(longwire(words).stdout(Stdio::piped()));
    started.hears(mark);
    started.interrupt()
}

#[test]
fn what_runs_until_a_signal_writes_the_tables_that_it_offers() {
    let folder = tempfile::tempdir().expect("a directory");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (key, configuration) = (path("one.psk"), path("agent.toml"));
    let made = run(&["tunnel", "keygen", "--psk", &key]);
    assert!(made.status.success(), "{}", shown(&made));
    let text = format!(
        "[[relay]]\ntarget = \"postgres://127.0.0.1:{}\"\nlisten = \"127.0.0.1:{}\"\n[prometheus]\nlisten = \"127.0.0.1:{}\"\n",
        free_port(),
        free_port(),
        free_port()
    );
    fs::write(&configuration, text).expect("written");
    let nowhere = format!("127.0.0.1:{}", free_port());
    let ends = ["--psk-file", &key, "--listen", "127.0.0.1:0", "--to", &nowhere];
    assert_tables_of("tunnel near", &ends, |words| run_until(" listens on ", words));
    assert_tables_of("tunnel far", &ends, |words| run_until(" listens on ", words));
    assert_tables_of("agent", &["--config", &configuration], |words| {
        run_until("series for Prometheus", words)
    });
}
