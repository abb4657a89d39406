//! A web application with a database and a cache, and the expected content of its pages.

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Output, Stdio};
use testbed::binary::{done, longwire, number, of_type};
use testbed::process::free_port;
use testbed::waiting::wait_until_listening;
use testbed::{Postgres, Redis, Started, http, python};

/// Round trips of a page of `data/stores/shop.py` on open connections: its response, four
/// statements, two cache calls.
const TURNS: u64 = 1 + 4 + 2;

pub struct Shop {
    pub database: Postgres,
    pub cache: Redis,
    pub port: u16,
}

impl Shop {
    pub fn start() -> Self {
        Self {
            database: Postgres::start(),
            cache: Redis::start(),
            port: free_port(),
        }
    }

    pub fn http(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub fn application(&self, requests: usize) -> [String; 4] {
        let programs = python::environment(&["psycopg[binary]==3.2.13", "redis==5.3.1"]);
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/stores/shop.py");
        [
            programs.join("python3").display().to_string(),
            script.display().to_string(),
            self.port.to_string(),
            requests.to_string(),
        ]
    }

    pub fn wait_until_it_listens(&self) {
        wait_until_listening(self.port);
    }

    pub fn watched(&self, options: &[&str], pages: usize) -> Output {
        let mut command = longwire(&["watch", "--json", "--quiet"]);
        command
            .args([self.http(), self.database.url(), self.cache.url()])
            .args(options)
            .arg("--")
            .args(self.application(pages))
            .stdout(Stdio::piped());
        let (running, relay) = Started::listening(&mut command, "relaying ");
        self.wait_until_it_listens();
        request_pages(relay.port(), pages);
        let output = running.output();
        done(&output);
        output
    }
}

pub fn request_pages(port: u16, pages: usize) {
    for page in 0..pages {
        let page = http::get(port, &format!("/category/{page}"), "*/*").expect("the page comes");
        assert_eq!(page.text(), "3 products\n");
    }
}

pub fn operations(records: &[Value]) -> Vec<&Value> {
    let all = of_type(records, "operation").into_iter();
    all.filter(|operation| operation["kind"] == "http").collect()
}

fn contents(records: &[Value]) -> BTreeMap<u64, Vec<String>> {
    let mut contents: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for exchange in of_type(records, "exchange") {
        if let (Some(operation), Some(fingerprint)) =
            (exchange["operation"].as_u64(), exchange["fingerprint"].as_str())
        {
            contents
                .entry(operation)
                .or_default()
                .push(fingerprint.to_owned());
        }
    }
    contents
}

#[track_caller]
pub fn assert_pages(records: &[Value], pages: usize) {
    let operations = operations(records);
    assert_eq!(operations.len(), pages, "{records:#?}");
    let contents = contents(records);
    for operation in operations {
        assert_eq!(operation["operation_name"], "GET /category/?");
        // Plus the browser's handshake.
        assert_eq!(number(operation, "turns"), TURNS + 1, "{operation}");
        assert_eq!(number(operation, "connections"), 3, "{operation}");
        let mut content = contents[&number(operation, "id")].clone();
        content.sort();
        let mut expected = vec!["select ? || ?"; 3];
        expected.extend([
            "select i from generate_series(?, ?) i",
            "GET ?",
            "SET ? ?",
            "GET /category/?",
        ]);
        expected.sort_unstable();
        assert_eq!(content, expected, "{operation}");
    }
}
