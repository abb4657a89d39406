//! Applications that send faster than longwire can process: memory, and the outcome for the rest.

use std::process::{Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};
use testbed::binary::{longwire, program, records_among, sum};
use testbed::{Redis, Tmux, require};

/// Memory limit of a debug build, in kB: 400 MiB, about 100 of it open operations and statement
/// names. Unbounded, a run takes 100 MB more every second.
const BOUND: u64 = 400 << 10;

const REQUESTS: u64 = 400_000;

fn peak(number: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{number}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

fn measured(command: &mut Command) -> (Output, u64) {
    let child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let number = child.id();
    let watching = std::thread::spawn(move || {
        let mut most = 0;
        // An ended process has no memory figures until it is waited for.
        while let Some(kilobytes) = peak(number) {
            most = kilobytes.max(most);
            std::thread::sleep(Duration::from_millis(20));
        }
        most
    });
    let output = child.wait_with_output().expect("it ends");
    (output, watching.join().expect("it does not panic"))
}

/// Each of `requests` commands was recorded, or dropped and counted with a warning.
fn all_is_accounted_for(output: &Output, requests: u64) {
    let records = records_among(output);
    let calls: u64 = sum(&records, "statement", "calls");
    let summary = records.iter().find(|record| record["type"] == "summary");
    let dropped = summary.expect("there is one")["dropped_exchanges"].as_u64();
    // The benchmark also queries the server's configuration once.
    let accounted = calls + dropped.unwrap_or(0);
    let expected = requests..=requests + 4;
    assert!(
        expected.contains(&accounted),
        "{calls} calls and {dropped:?} dropped of {requests}"
    );
    let warned = records.iter().any(|record| {
        let text = record["text"].as_str().unwrap_or_default();
        record["type"] == "warning" && text.starts_with("dropped because longwire did not keep up")
    });
    assert_eq!(warned, dropped.is_some(), "a warning says it");
}

fn benchmark(pipeline: u64) -> String {
    format!(
        "$benchmark -h 127.0.0.1 -p $LONGWIRE_PORT -t ping_mbulk -n {REQUESTS} -P {pipeline} -q >/dev/null"
    )
}

#[test]
fn a_pipeline_through_watch_takes_bounded_memory() {
    let server = Redis::start();
    let script = benchmark(1000);
    let (output, memory) = measured(
        longwire(&["watch", "--json", &server.url(), "--", "sh", "-c", &script])
            .env("benchmark", require("redis-benchmark"))
            .env_remove("REDISCLI_AUTH"),
    );
    assert!(output.status.success(), "{output:?}");
    assert!(memory < BOUND, "{memory} kB");
    all_is_accounted_for(&output, REQUESTS);
}

/// Adjacent commands differ, so that they cannot be merged.
#[test]
fn what_cannot_be_summed_up_is_dropped_and_counted() {
    let server = Redis::start();
    let pairs = 1000;
    let rounds = REQUESTS / 2 / pairs;
    let commands = r"*1\r\n$4\r\nPING\r\n*2\r\n$4\r\nECHO\r\n$5\r\nhello\r\n";
    let replies = pairs * ("+PONG\r\n$5\r\nhello\r\n".len() as u64);
    let script = format!(
        r#"exec 3<>/dev/tcp/127.0.0.1/$LONGWIRE_PORT
        for i in $(seq {rounds}); do
            printf '{commands}%.0s' $(seq {pairs}) >&3
            head -c {replies} <&3 >/dev/null
        done"#
    );
    let (output, memory) = measured(
        longwire(&["watch", "--json", &server.url(), "--", "bash", "-c", &script])
            .env_remove("REDISCLI_AUTH"),
    );
    assert!(output.status.success(), "{output:?}");
    assert!(memory < BOUND, "{memory} kB");
    all_is_accounted_for(&output, REQUESTS);
}

#[test]
fn a_pipeline_through_an_agent_takes_bounded_memory() {
    let server = Redis::start();
    let folder = tempfile::tempdir().expect("a directory");
    let config = folder.path().join("agent.toml");
    let port = free_port();
    let text = format!(
        "[[relay]]\nlisten = \"127.0.0.1:{port}\"\ntarget = \"{}\"\n",
        server.url()
    );
    std::fs::write(&config, text).expect("it is written");
    let mut agent = longwire(&["agent", "--config"])
        .arg(&config)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let until = Instant::now() + Duration::from_secs(60);
    while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(Instant::now() < until, "it does not listen");
        std::thread::sleep(Duration::from_millis(50));
    }
    let status = requests_through(&port.to_string());
    let memory = peak(agent.id()).expect("it runs");
    agent.kill().expect("it can be ended");
    agent.wait().expect("it ends");
    assert!(status.success());
    assert!(memory < BOUND, "{memory} kB");
}

#[test]
fn a_pipeline_behind_top_takes_bounded_memory() {
    let server = Redis::start();
    let terminal = Tmux::start(120, 30);
    terminal.line(&format!("exec {} top '{}'", program().display(), server.url()));
    let shown = terminal.wait_for("relaying 127.0.0.1:");
    let port = shown.split("relaying 127.0.0.1:").nth(1);
    let port = port
        .and_then(|rest| rest.split(' ').next())
        .expect("where it listens");
    let top: u32 = terminal.value("pane_pid").parse().expect("a number");
    let status = requests_through(port);
    let memory = peak(top).expect("it runs");
    terminal.text("q");
    assert!(status.success());
    assert!(memory < BOUND, "{memory} kB");
}

#[test]
fn what_was_recorded_with_losses_is_not_judged() {
    let folder = tempfile::tempdir().expect("a directory");
    let capture = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/data/captures/pgjdbc4274-pg15-trust.pcap"
    );
    let output = longwire(&["read", "--json", "--exchanges", capture])
        .output()
        .expect("it starts");
    let whole = String::from_utf8(output.stdout).expect("it is text");
    let lossy = whole.replace(
        "{\"type\":\"summary\",\"schema\":1,",
        "{\"type\":\"summary\",\"schema\":1,\"dropped_exchanges\":3,",
    );
    assert_ne!(whole, lossy);
    let check = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("it is written");
        let mut command = longwire(&[
            "check",
            "--operations",
            "connection",
            "--max-round-trips",
            "1000000",
        ]);
        command.arg(path).output().expect("it starts")
    };
    let (green, refused) = (check("whole.jsonl", &whole), check("lossy.jsonl", &lossy));
    assert_eq!(green.status.code(), Some(0), "{green:?}");
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(
        said.contains("lacks 3 exchanges that were dropped while it was written"),
        "{said}"
    );
}

fn requests_through(port: &str) -> ExitStatus {
    Command::new(require("redis-benchmark"))
        .args(["-h", "127.0.0.1", "-t", "ping_mbulk", "-q", "-P", "1000"])
        .args(["-p", port, "-n", &REQUESTS.to_string()])
        .stdout(Stdio::null())
        .status()
        .expect("it starts")
}

fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("there is one");
    listener.local_addr().expect("it is bound").port()
}
