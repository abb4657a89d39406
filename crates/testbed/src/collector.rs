//! An OpenTelemetry collector that writes received data to a file.

use std::path::PathBuf;

use serde_json::Value;
use servers::command::CommandServer;
use servers::{Readiness, Running};
use tempfile::TempDir;

use crate::process::launch;

/// On a private port of 127.0.0.1.
#[derive(Debug)]
pub struct Collector {
    // Drop order: the server ends before its directory is removed.
    _running: Running,
    directory: TempDir,
    port: u16,
}

impl Collector {
    /// Accepts metrics and traces.
    pub fn start() -> Self {
        let directory = tempfile::tempdir().expect("a directory of its own");
        let program = program();
        let written = directory.path().join("received.json");
        let (running, port) = launch("the collector", directory.path(), |place| {
            let configuration = directory.path().join("collector.yaml");
            let text = format!(
                "receivers: {{ otlp: {{ protocols: {{ http: {{ endpoint: '127.0.0.1:{}' }} }} }} }}\nexporters: {{ file: {{ path: '{}', flush_interval: 50ms }} }}\nservice: {{ telemetry: {{ metrics: {{ level: none }} }}, pipelines: {{ metrics: {{ receivers: [otlp], exporters: [file] }}, traces: {{ receivers: [otlp], exporters: [file] }} }} }}\n",
                place.port,
                written.display()
            );
            std::fs::write(&configuration, text).expect("its configuration is written");
            let server = CommandServer {
                words: vec![
                    program.display().to_string(),
                    "--config".to_owned(),
                    configuration.display().to_string(),
                ],
                environment: Vec::new(),
                directory: None,
                readiness: Readiness::Log("Everything is ready".to_owned()),
                user: None,
            };
            server.start(place)
        });
        Self {
            _running: running,
            directory,
            port,
        }
    }

    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// All received data, one value per request.
    pub fn received(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.directory.path().join("received.json")).unwrap_or_default();
        // The last line may be incomplete.
        text.lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect()
    }

    /// Points of a metric in the last request that contains it.
    pub fn last_points(&self, metric: &str) -> Vec<Value> {
        let of = |request: &Value| -> Option<Vec<Value>> {
            let metrics = request["resourceMetrics"][0]["scopeMetrics"][0]["metrics"].as_array()?;
            let found = metrics.iter().find(|found| found["name"] == metric)?;
            let kinds = ["histogram", "exponentialHistogram", "sum", "gauge"];
            kinds
                .iter()
                .find_map(|kind| found[kind]["dataPoints"].as_array().cloned())
        };
        self.received().iter().rev().find_map(of).unwrap_or_default()
    }

    pub fn spans(&self) -> Vec<Value> {
        let of = |request: &Value| {
            request["resourceSpans"][0]["scopeSpans"][0]["spans"]
                .as_array()
                .cloned()
        };
        self.received().iter().filter_map(of).flatten().collect()
    }
}

/// Built by `make test` from crates/testbed/collector.
fn program() -> PathBuf {
    let built = crate::binary::program().with_file_name("otelcol");
    assert!(
        built.exists(),
        "{} is missing: run `make test`, or scripts/collector.sh, which builds it from crates/testbed/collector",
        built.display()
    );
    built
}
