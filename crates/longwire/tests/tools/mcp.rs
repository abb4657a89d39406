//! `longwire mcp` with the official Python client of the Model Context Protocol.

use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use testbed::binary::{self, done, longwire, number, of_type, run};
use testbed::python;

fn capture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/captures")
        .join(CAPTURE)
}

fn json_of(arguments: &[&str]) -> Vec<Value> {
    let output = run(arguments);
    done(&output);
    binary::records(&output)
}

fn asked(mode: &str, file: &Path) -> Value {
    let programs = python::environment(&["mcp==2.3.0"]);
    let client = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/mcp/client.py");
    let output = Command::new(programs.join("python"))
        .arg(client)
        .arg(mode)
        .arg(binary::program())
        .arg(file)
        .output()
        .expect("python starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"))
}

fn same(given: &Value, expected: &[&Value]) {
    let given: Vec<&Value> = given.as_array().expect("a list").iter().collect();
    assert!(!expected.is_empty(), "there is something to compare");
    assert_eq!(given, expected);
}

#[test]
fn the_protocols_own_client_gets_the_figures_of_the_records() {
    let file = capture();
    let path = file.to_str().expect("a plain name");
    let given = asked("auto", &file);
    assert_eq!(given["version"], "2026-07-28");
    assert_eq!(given["server"], "longwire");
    assert_eq!(
        given["tools"],
        serde_json::json!(["findings", "predict", "statements", "summary"])
    );

    let records = json_of(&["read", path, "--json"]);
    assert_eq!(&given["summary"]["summary"], of_type(&records, "summary")[0]);
    same(&given["findings"]["findings"], &of_type(&records, "finding"));

    let mut statements = of_type(&records, "statement");
    statements.sort_by_key(|one| std::cmp::Reverse((number(one, "turns"), number(one, "total_ns"))));
    assert_eq!(given["statements"]["distinct_statements"], statements.len());
    statements.truncate(3);
    let turns = |all: &[&Value]| all.iter().map(|one| number(one, "turns")).collect::<Vec<_>>();
    let shown: Vec<&Value> = given["statements"]["statements"]
        .as_array()
        .expect("a list")
        .iter()
        .collect();
    assert_eq!(turns(&shown), turns(&statements));
    for one in shown {
        assert!(of_type(&records, "statement").contains(&one), "{one}");
    }

    let predicted = json_of(&["predict", path, "--json", "--rtt", "7ms,40ms", "--rate", "10mbit"]);
    same(
        &given["predict"]["predictions"],
        &of_type(&predicted, "prediction"),
    );

    assert_eq!(given["refused"], -32602);
    let wrong = given["wrong"].as_str().expect("text");
    assert!(wrong.contains("rtt"), "{wrong}");

    let mut of_session = asked("legacy", &file);
    assert_eq!(of_session["version"], "2025-11-25");
    of_session["version"] = given["version"].clone();
    assert_eq!(of_session, given);
}

#[test]
fn texts_are_sentences_with_units_and_begin_with_the_answer() {
    let file = capture();
    let given = asked("auto", &file);
    let text = |tool: &str| given["text"][tool].as_str().expect("text").to_owned();
    let output = run(&["read", "--all", file.to_str().expect("a plain name")]);
    let view = String::from_utf8_lossy(&output.stdout).into_owned();
    let (answer, _) = view.split_once("\n\n").expect("a paragraph");
    let answer = answer.replace('\n', " ");
    let last = view.lines().last().expect("a line");
    assert_eq!(text("summary"), format!("{answer}\n{last}"));

    let findings = text("findings");
    assert_eq!(findings.lines().next(), Some(answer.as_str()));
    assert!(findings.contains("9 in 1 operation; it costs 8 of 9 round trips, 326 ms at 40.0 ms."));

    let predicted = text("predict");
    assert!(
        predicted.starts_with("Each millisecond of round-trip time adds about 207.0 ms to "),
        "{predicted}"
    );
    assert!(
        predicted.contains("\nAt 40.0 ms, 10.0 Mbit/s, \"rollback\" takes 81.0 ms "),
        "{predicted}"
    );

    let statements = text("statements");
    assert!(
        statements.starts_with("3 of 13 distinct statements, those with most round trips first.\n"),
        "{statements}"
    );
    assert!(
        statements
            .contains("\n\"insert into t_lw values(?, ?)\": 201 round trips for 200 calls, 49.2 ms in all "),
        "{statements}"
    );
    for tool in ["summary", "findings", "predict", "statements"] {
        let text = text(tool);
        assert!(!text.contains("_ns") && !text.contains('{'), "{text}");
        assert!(text.lines().all(|line| line.ends_with('.')), "{text}");
    }
}

#[test]
fn nothing_but_answers_is_on_stdout_and_a_missing_file_is_said_at_once() {
    let mut server = longwire(&["mcp"])
        .arg(capture())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut input = server.stdin.take().expect("it is piped");
    input
        .write_all(
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"findings\"}}\n",
        )
        .expect("it reads");
    drop(input);
    let output = server.wait_with_output().expect("it ends with its input");
    assert!(output.status.success());
    let answers: Vec<Value> = output
        .stdout
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).expect("each line is an answer"))
        .collect();
    assert_eq!(answers.len(), 1, "{answers:?}");
    assert_eq!(answers[0]["result"]["isError"], false);

    for (file, said) in [("does-not-exist.lwr", "does-not-exist.lwr"), ("-", "stdin")] {
        let output = run(&["mcp", file]);
        assert_eq!(output.status.code(), Some(2));
        assert!(output.stdout.is_empty());
        assert!(
            binary::stderr(&output).contains(said),
            "{}",
            binary::stderr(&output)
        );
    }
}

const CAPTURE: &str = "mysqljdbc910-mariadb10.11-serverprep-cursor.pcap";
