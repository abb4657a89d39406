//! The port of `--prometheus` (figures and /health): a slow client's effect on others and on
//! shutdown, threads, memory.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};
use testbed::Started;
use testbed::binary::longwire;

fn served() -> (Started, SocketAddr) {
    let mut command = longwire(&["tunnel", "far", "--listen", "127.0.0.1:0", "--to", "127.0.0.1:1"]);
    command
        .args(["--prometheus", "127.0.0.1:0"])
        .stdout(Stdio::null());
    Started::listening(&mut command, "figures for Prometheus are at http://")
}

fn agent(folder: &Path) -> (Started, SocketAddr) {
    let config = folder.join("agent.toml");
    let text = "[[relay]]\ntarget = \"tcp://127.0.0.1:1\"\nlisten = \"127.0.0.1:0\"\n\n[prometheus]\nlisten = \"127.0.0.1:0\"\n";
    std::fs::write(&config, text).expect("it can be written");
    let mut command = longwire(&["agent", "--config"]);
    command.arg(config).stdout(Stdio::null());
    Started::listening(&mut command, "series for Prometheus are at http://")
}

fn connected(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("it listens");
    stream
        .set_read_timeout(Some(Duration::from_secs(10)))
        .expect("a socket");
    stream
}

fn get(address: SocketAddr, path: &str) -> String {
    let mut stream = connected(address);
    stream
        .write_all(format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes())
        .expect("it takes it");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("an answer");
    text
}

/// Sends an incomplete request byte by byte until disconnected.
fn dribble(address: SocketAddr) {
    let mut stream = TcpStream::connect(address).expect("it listens");
    std::thread::spawn(move || {
        while stream.write_all(b"x").is_ok() {
            std::thread::sleep(Duration::from_millis(100));
        }
    });
}

#[test]
fn a_client_that_dribbles_keeps_nobody_from_the_figures() {
    let (_server, address) = served();
    dribble(address);
    std::thread::sleep(Duration::from_millis(200));
    let text = get(address, "/metrics");
    assert!(text.starts_with("HTTP/1.1 200 OK"), "{text}");
}

#[test]
fn a_client_that_dribbles_does_not_hold_up_the_end() {
    let (mut server, address) = served();
    dribble(address);
    std::thread::sleep(Duration::from_millis(500));
    server.signal(libc::SIGINT);
    assert_eq!(server.ends_within(Duration::from_secs(10)).code(), Some(130));
}

#[test]
fn strangers_who_say_nothing_keep_nobody_from_figures_and_health() {
    let folder = tempfile::tempdir().expect("a directory");
    let (process, address) = agent(folder.path());
    let threads = process.figure("Threads").expect("it runs");
    // More than the connection limit.
    let silent: Vec<TcpStream> = (0..600).map(|_| connected(address)).collect();
    let began = Instant::now();
    for _ in 0..5 {
        for path in ["/health", "/metrics"] {
            let text = get(address, path);
            assert!(text.starts_with("HTTP/1.1 200 OK"), "{path}: {text}");
        }
    }
    // Sequential timeouts of 1 s, or 5 s per slot, would take ten minutes.
    let took = began.elapsed();
    assert!(
        took < Duration::from_secs(4),
        "{took:?} with {} silent",
        silent.len()
    );
    let now = process.figure("Threads").expect("it runs");
    assert!(now <= threads + 1, "{now} threads, {threads} before");
    let open = std::fs::read_dir(format!("/proc/{}/fd", process.id()))
        .expect("it runs")
        .count();
    assert!(open < 350, "{open} descriptors");
}

#[test]
fn answers_that_nobody_reads_do_not_fill_memory() {
    let folder = tempfile::tempdir().expect("a directory");
    let (process, address) = agent(folder.path());
    let before = process.figure("VmHWM").expect("it runs");
    let mut deaf = Vec::new();
    for _ in 0..2000 {
        let mut stream = connected(address);
        stream
            .write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
            .expect("it takes it");
        deaf.push(stream);
    }
    assert!(get(address, "/health").starts_with("HTTP/1.1 200 OK"));
    let more = process.figure("VmHWM").expect("it runs") - before;
    assert!(more < 64 * 1024, "{more} KiB for {} answers", deaf.len());
}

#[test]
fn a_head_without_an_end_is_refused_and_not_kept() {
    let (_server, address) = served();
    let mut stream = connected(address);
    let mut sent = 0;
    while stream.write_all(&[b'x'; 1024]).is_ok() && sent < 1024 {
        sent += 1;
    }
    let mut text = Vec::new();
    // A response, or a reset if not all input was read.
    stream.read_to_end(&mut text).ok();
    let text = String::from_utf8_lossy(&text);
    assert!(text.is_empty() || text.starts_with("HTTP/1.1 431 "), "{text}");
    assert!(get(address, "/metrics").starts_with("HTTP/1.1 200 OK"));
}
