//! Unmodified toxiproxy clients for Python, and for Java as used by Testcontainers. The feature
//! `stacks` adds Go, toxiproxy-cli and toxiproxy's own tests (`scripts/toxiproxy-clients.sh`).

use crate::toxiproxy::api::Api;
use std::path::Path;
use std::process::Command;
use testbed::{JavaProgram, Redis, java, python};

/// Passes ports of the API and of a Redis.
#[track_caller]
fn runs_through(mut client: Command, says: &str) {
    let (api, redis) = (Api::start(&[]), Redis::start());
    let ports = [api.address.port(), redis.port()].map(|port| port.to_string());
    let output = client.args(ports).output().expect("it starts");
    let (stdout, stderr) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(
        output.status.success() && stdout.contains(says),
        "{stdout}{stderr}{}",
        api.program.said()
    );
}

fn source(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/relays/toxiproxy")
        .join(name)
}

#[test]
fn the_python_client_does_what_it_does_with_toxiproxy() {
    let programs = python::environment(&["toxiproxy-python==0.1.1"]);
    let mut client = Command::new(programs.join("python"));
    client.arg(source("python_client.py"));
    runs_through(client, "python client: done");
}

#[test]
fn the_java_client_does_what_it_does_with_toxiproxy() {
    let jars = java::jars(&[
        "eu.rekawek.toxiproxy:toxiproxy-java:2.1.7",
        "com.google.code.gson:gson:2.9.0",
    ]);
    let program = JavaProgram::compile(&source("JavaClient.java"), &jars);
    runs_through(program.command(&jars), "java client: done");
}

#[cfg(feature = "stacks")]
mod go {
    use super::*;
    use std::collections::BTreeSet;
    use std::process::Output;
    use testbed::require;

    const VERSION: &str = "github.com/Shopify/toxiproxy/v2@v2.12.0";

    /// Tests that longwire does not pass, with reasons in docs/relay-api.md.
    const DIFFERENT: [&str; 1] = ["TestVersionEndpointReturnsVersion"];

    /// Server sources of toxiproxy; tests run against longwire instead.
    const SERVER: [&str; 5] = [
        "api.go",
        "link.go",
        "proxy.go",
        "proxy_collection.go",
        "toxic_collection.go",
    ];

    /// Unit tests of the server, unreachable through the API.
    const OF_PARTS: [&str; 5] = [
        "link_test.go",
        "metrics_test.go",
        "proxy_collection_test.go",
        "toxics/limit_data_test.go",
        "toxics/slicer_test.go",
    ];

    fn go(directory: &Path, arguments: &[&str]) -> Output {
        let mut command = Command::new(require("go"));
        let command = command
            .args(arguments)
            .current_dir(directory)
            .env("GOFLAGS", "-mod=mod");
        command.output().expect("go starts")
    }

    fn module(into: &Path) {
        let downloaded = go(into, &["mod", "download", "-json", VERSION]);
        let told: serde_json::Value = serde_json::from_slice(&downloaded.stdout).expect("go answers in JSON");
        let directory = told["Dir"].as_str().unwrap_or_else(|| panic!("{told}"));
        let copied = Command::new("cp")
            .args(["-r", "--no-preserve=mode", &format!("{directory}/."), "."])
            .current_dir(into)
            .status();
        assert!(
            copied.is_ok_and(|status| status.success()),
            "{directory} is copied"
        );
    }

    #[test]
    fn toxiproxys_own_tests_pass_but_for_those_that_are_explained() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        module(directory.path());
        for file in SERVER.iter().chain(&OF_PARTS) {
            std::fs::remove_file(directory.path().join(file))
                .unwrap_or_else(|error| panic!("{file}: {error}"));
        }
        std::fs::copy(source("go/remote.go"), directory.path().join("remote.go")).expect("it is copied");
        let api = Api::start_at("127.0.0.1:8475", &[]);
        let mut command = Command::new(require("go"));
        let tests = [
            "test", "-p", "1", "-count", "1", "-timeout", "120s", "-json", ".", "./toxics",
        ];
        let command = command
            .args(tests)
            .current_dir(directory.path())
            .env("GOFLAGS", "-mod=mod");
        let output = command
            .env("LONGWIRE_API", format!("http://{}", api.address))
            .output()
            .expect("go starts");
        let (passed, failed) = outcomes(&output);
        println!(
            "toxiproxy's own tests: {} passed, {} failed: {failed:?}",
            passed.len(),
            failed.len()
        );
        assert!(
            passed.len() >= 65,
            "{passed:?}\n{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let expected = DIFFERENT
            .iter()
            .map(|name| (*name).to_owned())
            .collect::<BTreeSet<_>>();
        assert_eq!(failed, expected, "{}", String::from_utf8_lossy(&output.stdout));
    }

    fn outcomes(output: &Output) -> (BTreeSet<String>, BTreeSet<String>) {
        let (mut passed, mut failed) = (BTreeSet::new(), BTreeSet::new());
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            let event: serde_json::Value = serde_json::from_str(line).unwrap_or_default();
            let Some(name) = event["Test"].as_str() else {
                continue;
            };
            match event["Action"].as_str() {
                Some("pass") => _ = passed.insert(name.to_owned()),
                Some("fail") => _ = failed.insert(name.to_owned()),
                _ => {}
            }
        }
        (passed, failed)
    }

    #[test]
    fn toxiproxy_cli_does_what_it_does_with_toxiproxy() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        module(directory.path());
        let built = go(directory.path(), &["build", "-o", "toxiproxy-cli", "./cmd/cli"]);
        assert!(
            built.status.success(),
            "{}",
            String::from_utf8_lossy(&built.stderr)
        );
        let (api, redis) = (Api::start(&[]), Redis::start());
        let host = format!("http://{}", api.address);
        let cli = |arguments: &[&str]| {
            let mut command = Command::new(directory.path().join("toxiproxy-cli"));
            let output = command
                .args(["-h", &host])
                .args(arguments)
                .output()
                .expect("it starts");
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(
                output.status.success(),
                "{arguments:?}: {said}{}",
                String::from_utf8_lossy(&output.stderr)
            );
            said
        };
        let upstream = format!("127.0.0.1:{}", redis.port());
        cli(&["create", "-l", "127.0.0.1:0", "-u", &upstream, "redis"]);
        assert!(cli(&["list"]).contains("redis"));
        cli(&[
            "toxic",
            "add",
            "-t",
            "latency",
            "-n",
            "slow",
            "-a",
            "latency=100",
            "-a",
            "jitter=5",
            "redis",
        ]);
        cli(&["toxic", "update", "-n", "slow", "-a", "jitter=2", "redis"]);
        assert!(cli(&["inspect", "redis"]).contains("jitter=2"));
        let toxics = api.get("/proxies/redis/toxics");
        assert_eq!(
            toxics[0]["attributes"],
            serde_json::json!({ "latency": 100, "jitter": 2 })
        );
        cli(&["toxic", "delete", "-n", "slow", "redis"]);
        cli(&["toggle", "redis"]);
        assert_eq!(api.get("/proxies/redis")["enabled"], serde_json::json!(false));
        cli(&["delete", "redis"]);
    }
}
