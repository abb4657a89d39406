//! Real servers of stores that are not SQL databases, and programs with their own drivers. A page
//! needs ten documents: by ten requests, or by one.

mod dynamodb;
mod grpc;
mod mongodb;

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use testbed::binary::{done, longwire, number, of_type, records, records_among, run, shown};
use testbed::process::free_port;
use testbed::waiting::wait_until_listening;
use testbed::{Capture, Started, http};

/// Documents of a page.
const DOCUMENTS: u64 = 10;
/// Requests of a page in a run.
const PAGES: usize = 4;
/// Pages, and the requests to the store that each makes in a row.
const PATHS: [(&str, u64); 2] = [("/loop", DOCUMENTS), ("/once", 1)];

struct Store<'a> {
    /// Name of its protocol.
    protocol: &'a str,
    /// Scheme of its URL.
    scheme: &'a str,
    port: u16,
    /// The program in `tests/data/stores`, and Python with its packages.
    script: &'a str,
    python: PathBuf,
}

struct Near {
    capture: testbed::capture::CaptureFile,
    /// Requests and replies as the driver counts them.
    counted: [u64; 2],
}

impl Store<'_> {
    fn url(&self) -> String {
        format!("{}://127.0.0.1:{}", self.scheme, self.port)
    }

    fn program(&self, port: u16, requests: usize) -> [String; 4] {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/stores");
        [
            self.python.display().to_string(),
            script.join(self.script).display().to_string(),
            port.to_string(),
            requests.to_string(),
        ]
    }

    /// Runs the program next to its store.
    fn captured(&self, path: &str) -> Near {
        let port = free_port();
        let capture = Capture::start_ports(&[port, self.port]);
        let [program, words @ ..] = self.program(port, PAGES);
        let mut command = Command::new(program);
        let variable = format!("LONGWIRE_{}_PORT", self.scheme.to_uppercase());
        command.args(words).env(variable, self.port.to_string());
        let program = Started::heard(command.stdout(Stdio::piped()));
        wait_until_listening(port);
        request_pages(port, path);
        let output = program.output();
        let counts = serde_json::from_slice(&output.stdout);
        let counts: Value = counts.unwrap_or_else(|_| panic!("{}", shown(&output)));
        Near {
            capture: capture.stop(),
            counted: ["requests", "replies"].map(|key| number(&counts, key)),
        }
    }

    /// The records of pages that wait for a store so far away.
    fn far(&self, rtt: &str, paths: &[(&str, u64)]) -> Vec<Value> {
        let port = free_port();
        let page = format!("http://127.0.0.1:{port}");
        let link = format!("{}=rtt={rtt}", self.scheme);
        let mut command = longwire(&["watch", "--json", "--quiet", &page, &self.url(), "--link", &link]);
        let program = self.program(port, paths.len() * PAGES);
        command.arg("--").args(program).stdout(Stdio::piped());
        let (running, relay) = Started::listening(&mut command, "relaying ");
        wait_until_listening(port);
        for (path, _) in paths {
            request_pages(relay.port(), path);
        }
        let output = running.output();
        done(&output);
        records_among(&output)
    }
}

impl Near {
    fn path(&self) -> String {
        self.capture.path().display().to_string()
    }

    #[track_caller]
    fn check(&self, status: i32, words: &[&str]) {
        let output = run(&["check", "--forbid", "n+1", &self.path()]);
        assert_eq!(output.status.code(), Some(status), "{}", shown(&output));
        for word in words {
            assert!(shown(&output).contains(word), "{word}: {}", shown(&output));
        }
    }

    /// Round trips of a page at 20 ms, and the time that all pages wait for them.
    fn predicted(&self, path: &str) -> (f64, u64) {
        let output = run(&["predict", "--json", "--rtt", "20ms", &self.path()]);
        done(&output);
        let read = records(&output);
        let pages = of_type(&read, "prediction").into_iter();
        let mut pages = pages.filter(|page| page["operation_name"] == format!("GET {path}"));
        let page = pages.next().unwrap_or_else(|| panic!("{}", shown(&output)));
        (
            page["turns"].as_f64().expect("a number"),
            number(page, "round_trip_ns"),
        )
    }
}

/// The driver's counts, the findings, and the round trips near, predicted and far.
fn is_right(store: &Store<'_>, finding: &[&str]) {
    let far = store.far("20ms", &PATHS);
    for (path, turns) in PATHS {
        let near = store.captured(path);
        let output = run(&["read", "--json", "--exchanges", &near.path()]);
        done(&output);
        assert_eq!(seen(&records(&output), store.protocol), near.counted, "{path}");
        if turns > 1 {
            near.check(1, finding);
        } else {
            near.check(0, &[]);
        }
        let waits = turns * 20_000_000;
        let (predicted, waited) = near.predicted(path);
        assert!((predicted - turns as f64).abs() < 0.1, "{path}: {predicted}");
        assert!(waited >= PAGES as u64 * waits, "{path}: {waited}");
        pages_wait(&far, path, turns, waits);
    }
}

#[track_caller]
fn pages_wait(far: &[Value], path: &str, turns: u64, waits: u64) {
    let pages = of_type(far, "operation").into_iter();
    let pages: Vec<&Value> = pages
        .filter(|page| page["operation_name"] == format!("GET {path}"))
        .collect();
    assert_eq!(pages.len(), PAGES);
    for page in pages {
        // The browser's handshake and its request.
        assert_eq!(number(page, "turns"), turns + 2, "{page}");
        assert!(number(page, "round_trip_ns") >= waits, "{page}");
    }
}

/// Requests and replies of the program's own work; drivers watch their server besides.
fn seen(records: &[Value], protocol: &str) -> [u64; 2] {
    let connections = of_type(records, "connection").into_iter();
    let of_store: Vec<&Value> = connections
        .filter(|connection| connection["protocol"] == protocol)
        .map(|connection| &connection["id"])
        .collect();
    let own = of_type(records, "exchange").into_iter().filter(|exchange| {
        let phase = exchange["phase"].as_str().unwrap_or_default();
        let is_watching = exchange["fingerprint"]
            .as_str()
            .is_some_and(|text| text.starts_with('('));
        of_store.contains(&&exchange["connection"]) && ["work", "close"].contains(&phase) && !is_watching
    });
    let mut sums = [0; 2];
    for exchange in own {
        sums[0] += 1;
        sums[1] += u64::from(number(exchange, "reply_messages") > 0);
    }
    sums
}

fn answers(url: &str) {
    // More than the PINGs that a server of gRPC accepts.
    let output = run(&["ping", "-n", "9", "-i", "10ms", "--json", url]);
    done(&output);
    let read = records(&output);
    assert_eq!(number(of_type(&read, "summary")[0], "lost"), 0);
}

fn request_pages(port: u16, path: &str) {
    for _ in 0..PAGES {
        let page = http::get(port, path, "*/*").expect("the page comes");
        assert_eq!(page.text(), format!("{DOCUMENTS} documents\n"));
    }
}
