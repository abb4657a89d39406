//! A collector of OpenTelemetry of a test's own, which writes what it receives into a file.

use std::path::PathBuf;

use serde_json::Value;
use servers::command::CommandServer;
use servers::{Readiness, Running};
use tempfile::TempDir;

use crate::process::launch;

/// A running collector on a private port of 127.0.0.1; gone when dropped.
#[derive(Debug)]
pub struct Collector {
    // Dropped in this order: the server ends before its directory goes.
    _running: Running,
    directory: TempDir,
    port: u16,
}

impl Collector {
    /// A collector that takes metrics and traces.
    ///
    /// # Panics
    /// When the program is not built, and with the end of its log, when it does not get ready.
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

    /// What exporters are given: `http://127.0.0.1:PORT`.
    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// All it has received so far, one value for each request.
    pub fn received(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.directory.path().join("received.json")).unwrap_or_default();
        // The last line may still be written.
        text.lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect()
    }

    /// The points of a metric in the last request that has it.
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

    /// All spans it has received.
    pub fn spans(&self) -> Vec<Value> {
        let of = |request: &Value| {
            request["resourceSpans"][0]["scopeSpans"][0]["spans"]
                .as_array()
                .cloned()
        };
        self.received().iter().filter_map(of).flatten().collect()
    }
}

/// Where `make test` has built it from crates/testbed/collector.
fn program() -> PathBuf {
    let built = crate::binary::program().with_file_name("otelcol");
    assert!(
        built.exists(),
        "{} is missing: run `make test`, or scripts/collector.sh, which builds it from crates/testbed/collector",
        built.display()
    );
    built
}
