//! Starts `longwire link` and local servers for it.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::process::Command;
use testbed::binary::{longwire, shown};

pub fn link(arguments: &[&str], script: &str) -> Command {
    let mut command = longwire(&["link"]);
    command.args(arguments).args(["--", "bash", "-c", script]);
    command
}

#[track_caller]
pub fn ends(mut command: Command, status: i32) -> String {
    let output = command.output().expect("longwire can be started");
    assert_eq!(output.status.code(), Some(status), "{}", shown(&output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// An echo server on 127.0.0.1 that closes each connection after `count` bytes.
pub fn mirror(connections: usize, count: usize) -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has free ports");
    let port = listener
        .local_addr()
        .expect("a bound socket has an address")
        .port();
    std::thread::spawn(move || {
        for stream in listener.incoming().take(connections).flatten() {
            std::thread::spawn(move || {
                let mut stream = stream;
                let mut content = vec![0; count];
                if stream.read_exact(&mut content).is_ok() {
                    stream.write_all(&content).ok();
                }
            });
        }
    });
    port
}

pub fn closed_port() -> u16 {
    testbed::process::free_port()
}

/// Shell code that prints duration in ms and exit status of `work`.
pub fn timed(work: &str) -> String {
    format!(
        "begin=${{EPOCHREALTIME/./}}; {work}; status=$?; end=${{EPOCHREALTIME/./}}; echo $(( (end - begin) / 1000 )) $status"
    )
}

#[track_caller]
pub fn numbers(line: &str) -> Vec<u64> {
    let words = line.split_whitespace();
    words
        .map(|word| word.parse().unwrap_or_else(|_| panic!("no number: {line}")))
        .collect()
}
