//! Starting `longwire link` and servers of this system for it.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::process::Command;
use testbed::binary::{longwire, shown};

/// `longwire link` with these arguments, and `script` as the command behind it.
pub fn link(arguments: &[&str], script: &str) -> Command {
    let mut command = longwire(&["link"]);
    command.args(arguments).args(["--", "bash", "-c", script]);
    command
}

/// What it printed; its status must be `status`.
#[track_caller]
pub fn ends(mut command: Command, status: i32) -> String {
    let output = command.output().expect("longwire can be started");
    assert_eq!(output.status.code(), Some(status), "{}", shown(&output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A server on 127.0.0.1 that sends back what each of `connections` sent, `count` bytes of it, and then ends
/// it.
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

/// A port of 127.0.0.1 on which nothing listens.
pub fn closed_port() -> u16 {
    testbed::process::free_port()
}

/// Shell text that prints the milliseconds that `work` took, and its status.
pub fn timed(work: &str) -> String {
    format!(
        "begin=${{EPOCHREALTIME/./}}; {work}; status=$?; end=${{EPOCHREALTIME/./}}; echo $(( (end - begin) / 1000 )) $status"
    )
}

/// The numbers of a line that [`timed`] printed.
#[track_caller]
pub fn numbers(line: &str) -> Vec<u64> {
    let words = line.split_whitespace();
    words
        .map(|word| word.parse().unwrap_or_else(|_| panic!("no number: {line}")))
        .collect()
}
