//! Pages of real frameworks: verifies docs/frameworks on naming requests and on findings. The
//! programs are those of `bench/predictions`; `bench/frameworks.sh` tests the other frameworks.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use testbed::binary::{longwire, of_type, records};
use testbed::capture::Capture;
use testbed::process::free_port;
use testbed::started::Started;
use testbed::waiting::wait_for;
use testbed::{Postgres, python};

const PAGES: u64 = 5;

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../bench/predictions")
        .join(name)
}

fn text(name: &str) -> String {
    std::fs::read_to_string(source(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// `None` until the server is up.
fn page(port: u16, method: &str, path: &str, trace: u64) -> Option<String> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok()?;
    let head = format!(
        "{method} /{path} HTTP/1.1\r\nHost: shop\r\nConnection: close\r\nContent-Length: 0\r\n\
         traceparent: 00-{trace:032x}-00f067aa0ba902b7-01\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).ok()?;
    let mut reply = String::new();
    stream.read_to_string(&mut reply).ok()?;
    assert!(reply.starts_with("HTTP/1.1 200 "), "{reply}");
    reply.split_once("\r\n\r\n").map(|(_, body)| body.to_owned())
}

/// Records for a capture of [`PAGES`] pages of each kind, with naming enabled in the framework.
fn seen(framework: &str, program: &str, port_is: &str) -> Vec<Value> {
    let requirements = text(&format!("{framework}/requirements.txt"));
    let programs = python::environment(&requirements.lines().collect::<Vec<_>>());
    let server = Postgres::start();
    server.sql(&text("schema.sql"));
    let port = free_port();
    let capture = Capture::start_ports(&[port, server.port()]);
    let mut command = Command::new(programs.join(program));
    command
        .arg(format!("{port_is}{port}"))
        .args(["--log-level=error", "app:app"])
        .current_dir(source(framework))
        .envs([
            ("PGHOST", "127.0.0.1"),
            ("PGUSER", Postgres::USER),
            ("PGPASSWORD", Postgres::PASSWORD),
        ])
        .envs([
            ("PGDATABASE", Postgres::DATABASE),
            ("PGSSLMODE", "disable"),
            ("SQLCOMMENTER", "own"),
        ])
        .env("PGPORT", server.port().to_string())
        .env("PYTHONDONTWRITEBYTECODE", "1");
    let mut started = Started::start(&mut command);
    wait_for("the program serves", || page(port, "POST", "joined", 1000));
    for number in 1..=PAGES {
        let rows = page(port, "GET", "n1", number).expect("it is served");
        assert_eq!(rows.matches("author ").count(), 12, "{rows}");
        page(port, "GET", "joined", 100 + number).expect("it is served");
    }
    started.signal(libc::SIGTERM);
    started.ends_within(std::time::Duration::from_secs(20));
    let capture = capture.stop();
    let read = longwire(&["read", "--json", "--exchanges"])
        .arg(capture.path())
        .output();
    records(&read.expect("the binary starts"))
}

fn statements<'r>(seen: &'r [Value], of: &str) -> Vec<&'r Value> {
    let is_of = |exchange: &&Value| {
        exchange["fingerprint"]
            .as_str()
            .is_some_and(|text| text.contains(of))
    };
    of_type(seen, "exchange")
        .into_iter()
        .filter(|exchange| exchange["protocol"] == "postgres")
        .filter(is_of)
        .collect()
}

fn turns_of(seen: &[Value], name: &str) -> Vec<u64> {
    of_type(seen, "operation")
        .iter()
        .filter(|operation| operation["operation_name"] == name)
        .map(|operation| operation["turns"].as_u64().expect("its round trips"))
        .collect()
}

fn findings<'r>(seen: &'r [Value], kind: &str) -> Vec<&'r Value> {
    let findings = of_type(seen, "finding").into_iter();
    findings.filter(|finding| finding["kind"] == kind).collect()
}

#[test]
fn django_names_its_requests_and_its_lazy_loading_is_found() {
    let seen = seen("django", "gunicorn", "--bind=127.0.0.1:");
    let look_ups = statements(&seen, "from \"authors\"");
    assert_eq!(look_ups.len() as u64, 12 * PAGES);
    for exchange in look_ups.iter().chain(&statements(&seen, "join \"authors\"")) {
        assert_eq!(exchange["assigned"], "identifier", "{exchange}");
        assert!(exchange["tags"]["route"] == "n1" || exchange["tags"]["route"] == "joined");
    }
    assert_eq!(turns_of(&seen, "GET /n1"), [15; PAGES as usize]);
    assert_eq!(turns_of(&seen, "GET /joined"), [3; PAGES as usize]);
    let [found] = findings(&seen, "n+1")[..] else {
        panic!("one loop: {:?}", findings(&seen, "n+1"))
    };
    assert!(found["fingerprint"].to_string().contains("authors"), "{found}");
}

#[test]
fn transactions_of_sqlalchemy_are_named_whole_and_cost_two_turns() {
    let seen = seen("fastapi", "uvicorn", "--port=");
    let look_ups = statements(&seen, "from authors");
    assert_eq!(look_ups.len() as u64, 12 * PAGES);
    // asyncpg prepares the page's statement once. Only that one has the comment; the transaction
    // covers the others.
    for exchange in &look_ups {
        let proved =
            ["identifier", "transaction"].contains(&exchange["assigned"].as_str().unwrap_or_default());
        assert!(proved, "{exchange}");
    }
    assert!(look_ups.iter().any(|exchange| exchange["tags"]["route"] == "n1"));
    let [found] = findings(&seen, "n+1")[..] else {
        panic!("one loop: {:?}", findings(&seen, "n+1"))
    };
    assert_eq!(found["operation_name"], "GET /n1", "{found}");
    // The insert is a second transaction with one statement.
    let found = findings(&seen, "control-round-trips");
    let of_page: Vec<_> = found
        .iter()
        .filter(|finding| finding["operation_name"] == "GET /joined")
        .map(|finding| finding["operations"].as_u64())
        .collect();
    assert_eq!(of_page, [Some(PAGES)], "{found:?}");
}
