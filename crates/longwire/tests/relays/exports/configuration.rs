//! Errors of invalid configurations have line and column, and no secret.

use testbed::binary::{refused, run, shown};

const FAULTS: [(&str, &str, &str); 17] = [
    ("", "1:1", "[[relay]] or [interface]"),
    (
        "[[relay]]\ntarget = \"postgres://db1\"\n",
        "1:1",
        "missing field `listen`",
    ),
    (
        "[[relay]]\ntarget = \"nonsense\"\nlisten = \"5433\"\n",
        "1:1",
        "neither a URL nor",
    ),
    (
        "[[relay]]\ntarget = \"postgres://db1\"\nlisten = \"5433\"\nlink = \"rtt=4\"\n",
        "1:1",
        "unit",
    ),
    ("[interface]\nnames = []\n", "1:1", "names is empty"),
    ("[interface]\nnames = [\"lo\"]\nring = \"64x\"\n", "3:8", "64x"),
    (
        "[interface]\nnames = [\"lo\"]\nport = 1\n",
        "3:1",
        "unknown field `port`",
    ),
    (
        "[interface]\nnames = [\"lo\"]\n[operations]\nrule = \"gap\"\n",
        "4:8",
        "gap",
    ),
    (
        "[interface]\nnames = [\"lo\"]\n[windows]\nlength = \"5\"\n",
        "4:10",
        "unit",
    ),
    (
        "[interface]\nnames = [\"lo\"]\n[names]\nstatements = 0\n",
        "4:14",
        "from 1 to 2000",
    ),
    (
        "[interface]\nnames = [\"lo\"]\n[prometheus]\nlisten = \"db1\"\n",
        "4:10",
        "db1",
    ),
    (
        "[interface]\nnames = [\"lo\"]\n[otlp]\nendpoint = \"http://c:4318\"\ntraces = 2.0\n",
        "5:10",
        "from 0.0 to 1.0",
    ),
    (
        "[interface]\nnames = [\"lo\"]\nfilter = \"portrange 9-1\"\n",
        "3:10",
        "the first port of a range is the lower one",
    ),
    (
        "[interface]\nnames = [\"lo\"]\nfilter = \"port 1 adn port 2\"\n",
        "3:10",
        "at 'adn'",
    ),
    (
        "[[relay]]\ntarget = \"redis://db1\"\nlisten = \"6380\"\n[[relay]]\ntarget = \"tcp://localhost:5433\"\nlisten = \"5433\"\n",
        "4:1",
        "it would connect to itself",
    ),
    (
        "[[relay]]\ntarget = \"tcp://127.0.0.1:5434\"\nlisten = \"5433\"\n[[relay]]\ntarget = \"tcp://127.0.0.1:5433\"\nlisten = \"0.0.0.0:5434\"\n",
        "1:1",
        "it would connect to itself",
    ),
    ("[interface\n", "1:11", "]"),
];

#[test]
fn faults_have_their_place() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("agent.toml");
    let path = file.display().to_string();
    for (text, place, words) in FAULTS {
        std::fs::write(&file, text).expect("it is written");
        let place = format!("{path}:{place}: ");
        eprintln!("{text}");
        refused(
            &["agent", "--config", &path, "--check-config"],
            &[&place, words, "hint: docs/agent.md"],
        );
    }
}

#[test]
fn secrets_of_a_configuration_are_not_shown() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("agent.toml");
    let path = file.display().to_string();
    for text in [
        "[[relay]]\ntarget = \"postgres://me:hunter2@db1:x/shop\"\nlisten = \"5433\"\n",
        "[[relay]]\ntarget = \"postgres://me:hunter2@db1\"\nlisten = \"5433\"\nlink = \"rtt=4\"\n",
        "[[relay]]\ntarget = \"postgres://me:hunter2@db1\" x\n",
    ] {
        std::fs::write(&file, text).expect("it is written");
        let output = refused(&["agent", "--config", &path, "--check-config"], &[&path]);
        assert!(!shown(&output).contains("hunter2"), "{}", shown(&output));
    }
}

#[test]
fn one_that_can_be_used_is_said_to_be() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("agent.toml");
    let text = include_str!("../../../../../docs/examples/agent/agent.toml");
    std::fs::write(&file, text).expect("it is written");
    let output = run(&["agent", "--config", &file.display().to_string(), "--check-config"]);
    testbed::binary::done(&output);
    assert!(
        testbed::binary::stderr(&output).contains("can be used"),
        "{}",
        shown(&output)
    );
}
