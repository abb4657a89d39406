//! Unmodified clients get the same results through a tunnel as without.

#[allow(dead_code, reason = "the soak kills ends and weighs them")]
mod ends;
mod jdbc;
mod mariadb;
mod postgres;
mod redis;

use ends::{Tunnel, Wanted};
use std::process::{Command, Stdio};
use testbed::process::heed_interrupts;
use testbed::waiting::wait_until;

/// One level per codec, and the adaptive one.
const LEVELS: [&str; 4] = ["auto", "1", "6", "9"];

fn tunnels_to(port: u16) -> Vec<(&'static str, Tunnel)> {
    let start = |level: &'static str| {
        let tunnel = Tunnel::start(&Wanted::to_port(port, &["--level", level]));
        (level, tunnel)
    };
    std::thread::scope(|scope| {
        let starting = LEVELS.map(|level| scope.spawn(move || start(level)));
        starting
            .into_iter()
            .map(|tunnel| tunnel.join().expect("it starts"))
            .collect()
    })
}

#[track_caller]
fn output(command: &mut Command) -> Vec<u8> {
    let output = command.stdin(Stdio::null()).output().expect("it starts");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{command:?}: {}\n{complaint}",
        output.status
    );
    output.stdout
}

#[track_caller]
fn assert_same(through: &[u8], direct: &[u8], what: &str) {
    if through != direct {
        let same = through.iter().zip(direct).take_while(|(a, b)| a == b).count();
        let (got, wanted) = (through.len(), direct.len());
        panic!("{what}: {got} bytes instead of {wanted}, the same up to {same}");
    }
}

#[track_caller]
fn interrupted(command: &mut Command, is_running: impl Fn() -> bool) -> String {
    heed_interrupts(command);
    let client = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn();
    let client = client.expect("it starts");
    wait_until("the statement runs", is_running);
    output(Command::new(testbed::require("kill")).args(["-INT", &client.id().to_string()]));
    let output = client.wait_with_output().expect("it ends");
    String::from_utf8_lossy(&output.stderr).into_owned()
}
