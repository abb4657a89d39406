use std::fmt::Write;

use serde_json::Value;
use servers::command::CommandServer;
use servers::{Readiness, Running};
use tempfile::TempDir;

use crate::http;
use crate::process::{launch, require};

/// On a private port of 127.0.0.1.
#[derive(Debug)]
pub struct PrometheusServer {
    // Drop order: the server ends before its directory is removed.
    _running: Running,
    _directory: TempDir,
    port: u16,
}

impl PrometheusServer {
    /// Scrapes `http://127.0.0.1:PORT/metrics` every 200 ms, with native histograms.
    pub fn scraping(scraped: u16) -> Self {
        Self::start(scraped, &["--enable-feature=native-histograms"])
    }

    /// Without native histograms, as by default.
    pub fn scraping_classic(scraped: u16) -> Self {
        Self::start(scraped, &[])
    }

    fn start(scraped: u16, more: &[&str]) -> Self {
        let directory = tempfile::tempdir().expect("a directory of its own");
        let configuration = directory.path().join("prometheus.yml");
        let text = format!(
            "global: {{ scrape_interval: 200ms, scrape_timeout: 200ms }}\nscrape_configs: [ {{ job_name: longwire, static_configs: [ {{ targets: ['127.0.0.1:{scraped}'] }} ] }} ]\n"
        );
        std::fs::write(&configuration, text).expect("its configuration is written");
        let program = require("prometheus").display().to_string();
        let (running, port) = launch("Prometheus", directory.path(), |place| {
            let mut words = vec![
                program.clone(),
                format!("--config.file={}", configuration.display()),
                format!("--storage.tsdb.path={}", directory.path().join("data").display()),
                format!("--web.listen-address=127.0.0.1:{}", place.port),
            ];
            words.extend(more.iter().map(|word| (*word).to_owned()));
            let server = CommandServer {
                words,
                environment: Vec::new(),
                directory: None,
                readiness: Readiness::Log("Server is ready to receive web requests".to_owned()),
                user: None,
            };
            server.start(place)
        });
        Self {
            _running: running,
            _directory: directory,
            port,
        }
    }

    /// The series of an expression's vector, with labels and value.
    pub fn query(&self, expression: &str) -> Vec<Value> {
        let encoded = expression.bytes().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "%{byte:02X}");
            text
        });
        let answer = http::get(self.port, &format!("/api/v1/query?query={encoded}"), "*/*");
        let answer = answer.expect("Prometheus answers").text();
        let answer: Value = serde_json::from_str(&answer).expect("JSON");
        assert_eq!(answer["status"], "success", "{expression}: {answer}");
        answer["data"]["result"].as_array().cloned().unwrap_or_default()
    }

    /// The single value of an expression; `None` if there is none yet.
    pub fn number(&self, expression: &str) -> Option<f64> {
        let found = self.query(expression);
        assert!(found.len() <= 1, "{expression}: {found:?}");
        found.first()?["value"][1].as_str()?.parse().ok()
    }
}
