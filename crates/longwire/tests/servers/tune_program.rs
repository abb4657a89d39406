//! Runs real programs with each setting and checks the report of `longwire tune`.

use serde_json::Value;
use std::process::{Command, Output, Stdio};
use testbed::binary::{self, longwire, number, stderr, stdout, unwrapped};
use testbed::waiting::wait_until;
use testbed::{JavaProgram, MariaDb, Postgres};

fn tune(arguments: &[&str]) -> Output {
    longwire(&["tune"])
        .args(arguments)
        .output()
        .expect("the binary starts")
}

fn records(output: &Output, kind: &str) -> Vec<Value> {
    let all = binary::records(output).into_iter();
    all.filter(|record| record["type"] == kind).collect()
}

fn with_rows() -> Postgres {
    let server = Postgres::start();
    server.sql("CREATE TABLE t AS SELECT i, repeat('x', 40) AS x FROM generate_series(1, 2000) i");
    server
}

#[test]
fn fetch_turns_of_psql_fall_as_its_fetch_count_grows() {
    let server = with_rows();
    let script = "psql -X -q -v FETCH_COUNT=$FETCH -c 'select * from t' >/dev/null";
    let output = tune(&[
        &server.url(),
        "--json",
        "--rounds",
        "2",
        "--link",
        "rtt=10ms",
        "--set",
        "FETCH=1000,10,100",
        "--",
        "sh",
        "-c",
        script,
    ]);
    assert!(output.status.success(), "{}", stderr(&output));
    let told = records(&output, "program");
    let of = |link: Option<&str>| -> Vec<(String, u64)> {
        let told = told.iter().filter(|record| record["link"].as_str() == link);
        told.map(|record| {
            (
                record["setting"].as_str().expect("a text").to_owned(),
                number(record, "turns"),
            )
        })
        .collect()
    };
    // 2000 rows arrive in 200, 20 or 2 fetches, plus a final empty one.
    let turns = of(None);
    let names: Vec<&str> = turns.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["FETCH=10", "FETCH=100", "FETCH=1000"]);
    assert_eq!(turns[0].1 - turns[1].1, 180, "{turns:?}");
    assert_eq!(turns[1].1 - turns[2].1, 18, "{turns:?}");
    assert_eq!(
        of(Some("rtt=10ms")),
        turns,
        "distance does not change what is asked"
    );
    let [here, far] = records(&output, "program_best")
        .try_into()
        .expect("two distances");
    assert!(here.get("link").is_none());
    // 100 and 1000 differ by 18 round trips, which a busy machine can hide; 10 differs by 180 round
    // trips, 1.8 s.
    let measured = told.iter().filter(|record| record["link"] == "rtt=10ms");
    let fastest = measured.min_by_key(|record| number(record, "p50_ns"));
    assert_eq!(far["setting"], fastest.expect("three settings")["setting"]);
    assert_ne!(far["setting"], "FETCH=10");
    assert_eq!(far["worst_setting"], "FETCH=10");
    let more = number(&far, "worst_ns") - number(&far, "p50_ns");
    assert!(more > 1_500_000_000, "{far}");
    assert!(records(&output, "program_unchanged").is_empty());
    for record in &told {
        assert!(
            number(record, "connected_ns") < number(record, "p50_ns"),
            "{record}"
        );
        assert!(number(record, "client_memory_bytes") > 1_000_000, "{record}");
        assert_eq!(number(record, "runs"), 2);
    }
    assert!(!stdout(&output).contains(Postgres::PASSWORD));
}

#[test]
fn fetch_turns_of_a_jdbc_driver_fall_with_a_parameter_of_its_url() {
    let server = with_rows();
    let jars = testbed::java::jars(&["org.postgresql:postgresql:42.7.4"]);
    let source = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/servers/tune_program/FetchRows.java"
    );
    let program = JavaProgram::compile(source.as_ref(), &jars);
    let target = format!(
        "jdbc:postgresql://127.0.0.1:{}/{}?user={}&password={}",
        server.port(),
        Postgres::DATABASE,
        Postgres::USER,
        Postgres::PASSWORD
    );
    let command = program.command(&jars);
    let mut arguments = vec![&*target, "--json", "--rounds", "1"];
    arguments.extend(["--set", "URL:defaultRowFetchSize=10,100,1000", "--"]);
    let words: Vec<String> = std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    arguments.extend(words.iter().map(String::as_str));
    arguments.extend(["{url}", "t"]);
    let output = tune(&arguments);
    assert!(output.status.success(), "{}", stderr(&output));
    let turns: Vec<u64> = records(&output, "program")
        .iter()
        .map(|record| number(record, "turns"))
        .collect();
    let [ten, hundred, thousand] = turns.try_into().expect("three settings");
    assert_eq!((ten - hundred, hundred - thousand), (180, 18));
    assert!(!stdout(&output).contains(Postgres::PASSWORD));
}

#[test]
fn a_parameter_that_the_driver_ignores_shows_itself() {
    let server = with_rows();
    let target = server.url().replacen("postgres://", "kingbase://", 1);
    let mut arguments = vec![&*target, "--rounds", "2", "--set", "URL:ziplevel=0,9", "--"];
    arguments.extend(["sh", "-c", "psql -X -q -c 'select 1' >/dev/null"]);
    let output = tune(&arguments);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = unwrapped(&stdout(&output));
    assert!(
        text.contains("URL:ziplevel=0, URL:ziplevel=9: the setting changed nothing on the wire"),
        "{text}"
    );
    assert!(text.contains("zipLevel, in this spelling only"), "{text}");
}

#[test]
fn a_program_that_fails_is_told_and_counted() {
    let server = with_rows();
    let script = "psql -X -q -c \"select * from $TABLE\" >/dev/null";
    let mut arguments = vec!["--rounds", "2", "--set", "TABLE=t,missing", "--"];
    let url = server.url();
    arguments.insert(0, &url);
    arguments.extend(["sh", "-c", script]);
    let output = tune(&arguments);
    assert_eq!(output.status.code(), Some(1));
    let (text, errors) = (stdout(&output), stderr(&output));
    assert!(
        errors.contains("with TABLE=missing the program ended with status 1"),
        "{errors}"
    );
    assert!(errors.contains("does not exist"), "{errors}");
    assert!(text.contains("best, as it is here: TABLE=t\n"), "{text}");
}

#[test]
fn no_decoder_is_needed_and_mariadb_is_counted_too() {
    let server = MariaDb::start();
    let target = format!("tcp://127.0.0.1:{}", server.port());
    let script = format!(
        "i=0; while [ $i -lt $TIMES ]; do echo 'select 1;'; i=$((i+1)); done | \
         mariadb --no-defaults --skip-ssl -h {{host}} -P {{port}} -u {} -p{} >/dev/null",
        MariaDb::USER,
        MariaDb::PASSWORD
    );
    let output = tune(&[
        &target,
        "--json",
        "--rounds",
        "1",
        "--set",
        "TIMES=5,25",
        "--",
        "sh",
        "-c",
        &script,
    ]);
    assert!(output.status.success(), "{}", stderr(&output));
    let [five, many] = records(&output, "program").try_into().expect("two settings");
    assert_eq!(number(&many, "turns") - number(&five, "turns"), 20);
    assert!(
        !stdout(&output).contains(MariaDb::PASSWORD),
        "arguments are not shown"
    );
}

#[test]
fn a_program_that_goes_past_the_relay_is_no_comparison() {
    let server = with_rows();
    let output = tune(&[&server.url(), "--rounds", "1", "--set", "X=1,2", "--", "true"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(
        unwrapped(&stdout(&output)).contains("made no connection through longwire"),
        "{}",
        stdout(&output)
    );
}

#[test]
fn what_was_run_is_told_when_the_user_ends_it() {
    let server = with_rows();
    let mut command = longwire(&["tune"]);
    let folder = tempfile::tempdir().expect("a folder");
    let script = "psql -X -q -c 'select 1' >/dev/null; : >\"$FOLDER/ran-$LONG\"; sleep $LONG";
    command
        .env("FOLDER", folder.path())
        .args([
            &server.url(),
            "--rounds",
            "1",
            "--set",
            "LONG=0,60",
            "--",
            "sh",
            "-c",
            script,
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let running = command.spawn().expect("the binary starts");
    wait_until("the second setting runs", || {
        folder.path().join("ran-60").exists()
    });
    let number = running.id().to_string();
    let killed = Command::new("kill")
        .args(["-INT", &number])
        .status()
        .expect("kill");
    assert!(killed.success());
    let output = running.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert!(stdout(&output).contains("LONG=60"), "{}", stdout(&output));
}

#[test]
fn settings_that_cannot_be_tried_are_refused() {
    let refused = |arguments: &[&str], reason: &str| {
        let output = tune(arguments);
        assert_eq!(
            output.status.code(),
            Some(2),
            "{arguments:?}: {}",
            stdout(&output)
        );
        assert!(
            stderr(&output).contains(reason),
            "{arguments:?}: {}",
            stderr(&output)
        );
    };
    let target = "postgres://127.0.0.1:1/x";
    refused(&[target, "--set", "A", "--", "true"], "write NAME=VALUE");
    refused(&[target, "--set", "PGPORT=1,2", "--", "true"], "longwire sets it");
    refused(
        &[target, "--set", "URL:sslmode=disable", "--", "true"],
        "write it into the target",
    );
    refused(
        &[
            target,
            "--rounds",
            "1000",
            "--set",
            "A=1,2,3,4,5,6,7,8,9,10,11",
            "--",
            "true",
        ],
        "11000 runs",
    );
    refused(&[target, "--set", "A=1,2", "--", "true"], "127.0.0.1:1");
    refused(&[target, "--set", "A=1,2"], "COMMAND");
}
