//! Files shipped with the agent: a real Prometheus accepts the dashboard's queries and the alerts;
//! systemd and Kubernetes accept their files.

use super::agent::Agent;
use super::traffic;
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;
use testbed::process::{require, run};
use testbed::waiting::wait_until;
use testbed::{Postgres, PrometheusServer};

pub(super) fn example(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/examples/agent")).join(name)
}

#[test]
fn each_query_of_the_dashboard_has_an_answer() {
    let server = Postgres::start();
    // All queries end within a window.
    let agent = Agent::start(&server, "[windows]\nlength = \"10s\"\n", &[]);
    let prometheus = PrometheusServer::scraping_classic(agent.metrics);
    wait_until("the first scrape", || {
        prometheus.number("longwire_connections_open").is_some()
    });
    traffic(&server, agent.relay);
    wait_until("findings", || {
        !prometheus.query("longwire_finding_turns").is_empty()
    });
    let text = std::fs::read_to_string(example("grafana.json")).expect("the dashboard");
    let dashboard: Value = serde_json::from_str(&text).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    assert!(panels.len() > 10);
    for panel in panels {
        let title = panel["title"].as_str().expect("a title");
        for target in panel["targets"].as_array().expect("queries") {
            let query = target["expr"].as_str().expect("a query");
            let query = query.replace("$__rate_interval", "1m").replace("$job", ".*");
            // A rate needs two scrapes.
            wait_until(&format!("{title}: {query}"), || {
                !prometheus.query(&query).is_empty()
            });
        }
    }
}

#[test]
fn queries_of_the_documentation_have_an_answer() {
    let server = Postgres::start();
    let agent = Agent::start(&server, "", &[]);
    let prometheus = PrometheusServer::scraping_classic(agent.metrics);
    wait_until("the first scrape", || {
        prometheus.number("longwire_connections_open").is_some()
    });
    traffic(&server, agent.relay);
    wait_until("operations", || {
        !prometheus.query("longwire_operation_turns_sum").is_empty()
    });
    let page = include_str!("../../../../../docs/export.md");
    let queries = page
        .lines()
        .filter(|line| line.starts_with("| ") && line.contains("rate("));
    let mut count = 0;
    for line in queries {
        let query = line
            .rsplit_once("| `")
            .and_then(|(_, query)| query.strip_suffix("` |"))
            .expect("a query");
        wait_until(query, || !prometheus.query(query).is_empty());
        count += 1;
    }
    assert_eq!(count, 4);
}

#[test]
fn alerts_fire_on_series_of_a_real_run() {
    let mut promtool = Command::new(require("promtool"));
    promtool.args(["test", "rules"]).arg(example("alerts-test.yaml"));
    run(promtool);
}

#[test]
fn kubernetes_files_are_as_its_schemas_say() {
    let programs = testbed::python::environment(&["kubernetes-validate==1.34.1"]);
    for name in ["daemonset.yaml", "sidecar.yaml"] {
        let mut validate = Command::new(programs.join("kubernetes-validate"));
        validate
            .args(["--strict", "--kubernetes-version", "1.34"])
            .arg(example(name));
        run(validate);
    }
}

#[test]
fn systemd_understands_the_unit() {
    let directory = tempfile::tempdir().expect("a directory");
    let text = std::fs::read_to_string(example("longwire-agent.service")).expect("the unit");
    let program = testbed::binary::program().display().to_string();
    let unit = directory.path().join("longwire-agent.service");
    // It is not installed here.
    std::fs::write(&unit, text.replace("/usr/bin/longwire", &program)).expect("it is written");
    let mut verify = Command::new(require("systemd-analyze"));
    verify.args(["verify", "--man=no"]).arg(&unit);
    let output = verify.output().expect("systemd-analyze starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && !said.contains("longwire-agent.service:"),
        "{said}"
    );
}
