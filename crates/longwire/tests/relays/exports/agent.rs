//! Tests continuous observation over a few seconds.

use super::{attribute, psql, text_number, traffic};
use std::io::Write;
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;
use testbed::binary::{longwire, number, records};
use testbed::process::{free_port, run};
use testbed::waiting::{wait_for, wait_until};
use testbed::{Collector, ObjectStore, Postgres, PrometheusServer, Started, http};

pub(super) struct Agent {
    pub(super) started: Started,
    pub(super) relay: u16,
    pub(super) metrics: u16,
    pub(super) configuration: PathBuf,
    _directory: tempfile::TempDir,
}

impl Agent {
    pub(super) fn start(server: &Postgres, more: &str, environment: &[(&str, String)]) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let (relay, metrics) = (free_port(), free_port());
        let configuration = directory.path().join("agent.toml");
        let text = format!(
            "[[relay]]\ntarget = \"postgres://127.0.0.1:{}\"\nlisten = \"127.0.0.1:{relay}\"\n\n[prometheus]\nlisten = \"127.0.0.1:{metrics}\"\n\n{more}",
            server.port()
        );
        std::fs::write(&configuration, text).expect("the configuration is written");
        let mut command = longwire(&[
            "agent",
            "--json",
            "--config",
            &configuration.display().to_string(),
        ]);
        command.stdout(Stdio::piped());
        command.envs(environment.iter().map(|(name, value)| (name, value)));
        let mut started = Started::heard(&mut command);
        started.hears("series for Prometheus");
        Self {
            started,
            relay,
            metrics,
            configuration,
            _directory: directory,
        }
    }
}

/// Runs the health check of docs/examples/agent/Containerfile, as an engine would.
fn is_healthy_by_the_container_file(port: u16) -> bool {
    let text = std::fs::read_to_string(super::examples::example("Containerfile")).expect("the file");
    let (_, check) = text.split_once("HEALTHCHECK ").expect("a health check");
    let (_, check) = check.split_once("CMD ").expect("its command");
    let check = check.lines().next().expect("a line");
    let words: Vec<String> = serde_json::from_str(check).expect("JSON");
    let command = words.iter().map(|word| word.replace("9464", &port.to_string()));
    let command: Vec<String> = command.collect();
    let check = Command::new(&command[0]).args(&command[1..]).output();
    check.expect("it starts").status.success()
}

#[test]
fn windows_series_and_spans_have_all_that_passed_when_a_signal_ends_it() {
    let server = Postgres::start();
    let collector = Collector::start();
    let more = format!(
        "[windows]\nlength = \"1s\"\n\n[otlp]\nendpoint = \"{}\"\ninterval = \"200ms\"\ntraces = 1.0\n",
        collector.endpoint()
    );
    let agent = Agent::start(
        &server,
        &more,
        &[
            ("OTEL_BSP_SCHEDULE_DELAY", "100".to_owned()),
            ("OTEL_BSP_MAX_QUEUE_SIZE", "100000".to_owned()),
        ],
    );
    let prometheus = PrometheusServer::scraping(agent.metrics);
    traffic(&server, agent.relay);
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    run(psql(
        &server,
        agent.relay,
        &format!("select 'zqliteral' /*traceparent='{trace}'*/"),
    ));
    wait_until("all connections are closed", || {
        prometheus.number("longwire_connections_open") == Some(0.0)
    });
    let output = agent.started.interrupt();
    let said = testbed::binary::stderr(&output);
    let records = records(&output);
    let exchanges = testbed::binary::sum(&records, "summary", "exchanges");
    let operations = testbed::binary::sum(&records, "summary", "operations");
    assert!(
        testbed::binary::of_type(&records, "summary").len() > 1,
        "several windows"
    );
    assert!(
        said.contains(&format!("{exchanges} exchanges in {operations} operations")),
        "{said}"
    );
    let target = collector.last_points("longwire.target.duration");
    assert_eq!(
        target
            .iter()
            .map(|point| text_number(point, "count"))
            .sum::<u64>(),
        exchanges
    );
    let spans = collector.spans();
    let roots = spans
        .iter()
        .filter(|span| attribute(span, "longwire.chosen").is_some())
        .count();
    assert_eq!(roots as u64, operations);
    assert!(
        !format!("{spans:?}{records:?}").contains("zqliteral"),
        "no literal leaves longwire"
    );
    let of_trace = spans
        .iter()
        .filter(|span| span["traceId"] == "0af7651916cd43dd8448eb211c80319c");
    let below = of_trace
        .filter(|span| span["parentSpanId"] == "b7ad6b7169203331")
        .count();
    assert_eq!(below, 1, "the statement is a child of the span that it names");
}

#[test]
fn it_tells_its_service_manager_how_it_is_and_reads_its_configuration_again() {
    let server = Postgres::start();
    let directory = tempfile::tempdir().expect("a directory");
    let socket = directory.path().join("notify");
    let manager = UnixDatagram::bind(&socket).expect("a socket");
    manager
        .set_read_timeout(Some(Duration::from_secs(20)))
        .expect("a limit");
    let notification = || {
        let mut bytes = [0; 1024];
        let count = manager.recv(&mut bytes).expect("the agent tells something");
        String::from_utf8_lossy(&bytes[..count]).into_owned()
    };
    let environment = [
        ("NOTIFY_SOCKET", socket.display().to_string()),
        ("WATCHDOG_USEC", "400000".to_owned()),
    ];
    let mut agent = Agent::start(&server, "", &environment);
    assert!(notification().starts_with("READY=1\nSTATUS="));
    assert_eq!(notification(), "WATCHDOG=1");
    let healthy = || http::get(agent.metrics, "/health", "*/*").expect("it answers");
    assert_eq!((healthy().status, healthy().text()), (200, "ok\n".to_owned()));
    assert!(is_healthy_by_the_container_file(agent.metrics));
    let mut file = std::fs::OpenOptions::new()
        .append(true)
        .open(&agent.configuration)
        .expect("it is there");
    writeln!(file, "nonsense = 1").expect("it is written");
    agent.started.signal(libc::SIGHUP);
    agent.started.hears("agent.toml:8:1: unknown field `nonsense`");
    wait_until("it is told that it reads again", || {
        notification().starts_with("RELOADING=1\nMONOTONIC_USEC=")
    });
    wait_until("and that it is ready", || notification().starts_with("READY=1"));
    let trouble = wait_for("the trouble", || {
        Some(healthy()).filter(|answer| answer.status == 503)
    });
    assert!(trouble.text().contains("nonsense"), "{}", trouble.text());
    assert!(!is_healthy_by_the_container_file(agent.metrics));
    let text = std::fs::read_to_string(&agent.configuration).expect("it is there");
    std::fs::write(&agent.configuration, text.replace("nonsense = 1", "")).expect("it is written");
    agent.started.signal(libc::SIGHUP);
    agent.started.hears("the configuration was read again");
    wait_until("all is well again", || healthy().status == 200);
    let page = http::get(agent.metrics, "/metrics", "*/*")
        .expect("it answers")
        .text();
    for line in [
        "longwire_config_reloads_total{result=\"failed\"} 1",
        "longwire_config_reloads_total{result=\"succeeded\"} 1",
    ] {
        assert!(page.lines().any(|found| found == line), "{page}");
    }
    agent.started.signal(libc::SIGTERM);
    assert!(agent.started.ends_within(Duration::from_secs(20)).success());
    wait_until("the end is told", || notification() == "STOPPING=1");
}

#[test]
fn names_beyond_the_limit_are_summed_and_none_is_lost() {
    let server = Postgres::start();
    let agent = Agent::start(&server, "[names]\nstatements = 10\n", &[]);
    let script = (0..300).fold(String::new(), |text, number| {
        text + &format!("select 1 as column{number};\n")
    });
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("many.sql");
    std::fs::write(&file, script).expect("it is written");
    let mut psql = server.client_at("psql", agent.relay);
    psql.args(["-X", "-q", "-f", &file.display().to_string()]);
    run(psql);
    let line = |name: &str, label: &str| -> f64 {
        let page = http::get(agent.metrics, "/metrics", "*/*")
            .expect("it answers")
            .text();
        let lines = page
            .lines()
            .filter(|line| line.starts_with(name) && line.contains(label));
        lines
            .filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok())
            .sum()
    };
    let counted = "longwire_statement_duration_seconds_count";
    wait_until("all statements are counted", || {
        line(counted, "statement=") >= 300.0
    });
    let page = http::get(agent.metrics, "/metrics", "*/*")
        .expect("it answers")
        .text();
    assert_eq!(page.lines().filter(|line| line.starts_with(counted)).count(), 11);
    assert_eq!(line(counted, "statement=\"(other)\""), 290.0);
    let output = agent.started.interrupt();
    let statements: u64 = testbed::binary::of_type(&records(&output), "statement")
        .into_iter()
        .map(|statement| number(statement, "calls"))
        .sum();
    assert_eq!(statements, 300, "windows have all names");
}

#[test]
fn tables_of_all_windows_have_what_the_windows_have() {
    let server = Postgres::start();
    let directory = tempfile::tempdir().expect("a directory");
    let folder = directory.path().join("tables");
    let more = format!(
        "[windows]\nlength = \"1s\"\n\n[parquet]\nfolder = \"{}\"\nhost = \"db1\"\n",
        folder.display()
    );
    let agent = Agent::start(&server, &more, &[]);
    // Idle windows come first: without a time, they belong to the day of the first traffic.
    std::thread::sleep(Duration::from_millis(1_500));
    traffic(&server, agent.relay);
    std::thread::sleep(Duration::from_millis(1_500));
    traffic(&server, agent.relay);
    let records = records(&agent.started.interrupt());
    assert!(
        testbed::binary::of_type(&records, "summary").len() > 1,
        "several windows"
    );
    let read = longwire(&["read", &folder.display().to_string(), "--json"]).output();
    let read = testbed::binary::records(&read.expect("the binary starts"));
    for key in ["exchanges", "turns", "connections", "statements"] {
        let (windows, tables) = [&records, &read]
            .map(|records| testbed::binary::sum(records, "summary", key))
            .into();
        assert_eq!(windows, tables, "{key}");
    }
    let tables = walk(&folder);
    assert!(
        !tables
            .iter()
            .any(|path| path.display().to_string().contains("date=1970")),
        "{tables:?}"
    );
    let mut parts = walk(&folder.join("exchanges"));
    parts.retain(|path| path.extension().is_some_and(|extension| extension == "parquet"));
    assert!(
        parts.len() > 1
            && parts
                .iter()
                .all(|path| path.display().to_string().contains("/host=db1/")),
        "{parts:?}"
    );
}

/// Windows without a bucket have no tables, but later ones do.
#[test]
fn tables_go_on_when_their_bucket_is_there_again() {
    let server = Postgres::start();
    let store = ObjectStore::start("estate");
    let more = "[windows]\nlength = \"1s\"\n\n[parquet]\nfolder = \"s3://estate/tables\"\n";
    let mut agent = Agent::start(&server, more, &store.variables());
    let bucket = store.files("estate");
    let has_tables = || bucket.join("tables/exchanges").is_dir();
    traffic(&server, agent.relay);
    wait_until("tables of a window", has_tables);
    // The store would recreate the folders of an object being written.
    wait_until("tables of all windows", || {
        let count = walk(&bucket).len();
        std::thread::sleep(Duration::from_millis(2_500));
        count == walk(&bucket).len()
    });
    std::fs::rename(&bucket, bucket.with_file_name("gone")).expect("it is ours");
    traffic(&server, agent.relay);
    agent.started.hears("the tables are given up");
    std::fs::create_dir(&bucket).expect("a bucket");
    wait_until("tables of a later window", || {
        traffic(&server, agent.relay);
        has_tables()
    });
    let output = agent.started.interrupt();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("s3://estate/tables/"), "{said}");
}

fn walk(folder: &std::path::Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths
        .flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] })
        .collect()
}
