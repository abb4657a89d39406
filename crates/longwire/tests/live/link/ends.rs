//! End of a link: exit statuses, signals, cleanup.

use crate::link::run::{ends, link};
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use testbed::binary::{program, shown};
use testbed::process::heed_interrupts;
use testbed::waiting::{wait_for, wait_until};

#[test]
fn the_status_is_the_commands() {
    ends(link(&["rtt=1ms"], "exit 7"), 7);
    ends(link(&["rtt=1ms"], "kill -TERM $$"), 128 + 15);
    let mut missing = Command::new(program());
    missing.args(["link", "rtt=1ms", "--", "/no/such/program"]);
    let output = missing.output().expect("longwire can be started");
    assert_eq!(output.status.code(), Some(127), "{}", shown(&output));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("could not start /no/such/program: no such program"),
        "{said}"
    );
}

#[test]
fn a_bad_link_is_told_before_anything_is_made() {
    for (link, word) in [
        ("rtt=40", "unit"),
        ("rtt=40ms,speed=1", "speed"),
        ("queue=1MiB", "rate"),
    ] {
        let output = Command::new(program())
            .args(["link", link, "--", "true"])
            .output();
        let output = output.expect("longwire can be started");
        assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains(word), "{said}");
    }
}

#[test]
fn the_shell_shows_the_link_and_its_status_passes() {
    let mut terminal = Command::new(testbed::require("script"));
    let run = format!("{} link rtt=5ms", program().display());
    terminal
        .args(["-qec", &run, "/dev/null"])
        .env("SHELL", "/bin/bash");
    let mut child = piped(&mut terminal);
    let mut keys = child.stdin.take().expect("a pipe");
    keys.write_all(b"echo in-$((40 + 2))\nexit 3\n")
        .expect("the terminal takes keys");
    let output = child.wait_with_output().expect("it ends");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(
        printed.contains("[rtt=5ms] ") && printed.contains("in-42"),
        "{printed}"
    );
    assert_eq!(output.status.code(), Some(3), "{printed}");
}

#[test]
fn ctrl_c_ends_the_command_and_longwire_sums_up() {
    let mut terminal = Command::new(testbed::require("script"));
    let run = format!(
        "{} link rtt=5ms -- sh -c 'echo begun; exec sleep 100'",
        program().display()
    );
    terminal.args(["-qec", &run, "/dev/null"]);
    let mut child = piped(&mut terminal);
    let mut keys = child.stdin.take().expect("a pipe");
    let mut shown = BufReader::new(child.stdout.take().expect("a pipe"));
    // Only once the command runs: until longwire blocks signals, the key kills it like any program.
    let mut printed = String::new();
    while !printed.contains("begun") && shown.read_line(&mut printed).expect("text") > 0 {}
    keys.write_all(b"\x03").expect("the terminal takes keys");
    shown.read_to_string(&mut printed).expect("text");
    let status = child.wait().expect("it ends");
    assert!(printed.contains("requested rtt=5ms"), "{printed}");
    assert_eq!(status.code(), Some(130), "{printed}");
}

#[test]
fn nothing_is_left_however_it_ends() {
    for number in 0..20_u32 {
        let victim = [Victim::Outer, Victim::Init, Victim::Inner][number as usize / 3 % 3];
        let signal = [libc::SIGINT, libc::SIGTERM, libc::SIGKILL][number as usize % 3];
        // PID 1 of a namespace only receives SIGKILL from outside; other signals are forwarded.
        killed(victim, signal);
    }
}

#[derive(Debug, Clone, Copy)]
enum Victim {
    Outer,
    Init,
    Inner,
}

/// Starts a link with a command that leaves a background process, kills `victim`, and checks for
/// leftovers.
fn killed(victim: Victim, signal: i32) {
    let script = "setsid sleep 321 & exec sleep 123";
    let mut child = link(&["rtt=10ms"], script)
        .stderr(Stdio::null())
        .spawn()
        .expect("longwire can be started");
    let outer = child.id();
    let sleeps = wait_for("both commands run", || {
        let sleeps: Vec<u32> = descendants(outer)
            .into_iter()
            .filter(|pid| name(*pid) == "sleep")
            .collect();
        (sleeps.len() == 2).then_some(sleeps)
    });
    let own = namespaces_of("self");
    let made: BTreeSet<PathBuf> = descendants(outer)
        .iter()
        .flat_map(|pid| namespaces_of(&pid.to_string()))
        .filter(|one| !own.contains(one))
        .collect();
    assert!(
        made.len() >= 3,
        "network, mounts and processes of their own: {made:?}"
    );
    let init = children(outer)[0];
    let target = match victim {
        Victim::Outer => outer,
        Victim::Init => init,
        Victim::Inner => children(init)[0],
    };
    // These processes run until they get this signal.
    sys::signals::send(target as i32, signal);
    let status = wait_within(&mut child);
    let expected = if matches!(victim, Victim::Outer) && signal == libc::SIGKILL {
        status.signal() == Some(libc::SIGKILL)
    } else {
        status.code() == Some(128 + signal)
    };
    assert!(expected, "{victim:?} {signal}: {status}");
    wait_until("nothing is left", || {
        let gone = sleeps.iter().all(|pid| name(*pid) != "sleep");
        let used = processes()
            .iter()
            .any(|pid| !namespaces_of(&pid.to_string()).is_disjoint(&made));
        gone && !used
    });
    let devices = fs::read_to_string("/proc/net/dev").expect("devices");
    assert!(
        !devices.lines().any(|line| line.trim().starts_with("lw0:")),
        "{devices}"
    );
    let mounts = fs::read_to_string("/proc/self/mountinfo").expect("mounts");
    assert!(!mounts.contains("longwire "), "{mounts}");
}

fn piped(command: &mut Command) -> Child {
    heed_interrupts(command);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("script can be started")
}

fn wait_within(child: &mut Child) -> std::process::ExitStatus {
    wait_for("its end", || child.try_wait().expect("a child"))
}

fn processes() -> Vec<u32> {
    let entries = fs::read_dir("/proc").expect("processes").flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}

fn name(pid: u32) -> String {
    let text = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    text.trim().to_owned()
}

fn children(of: u32) -> Vec<u32> {
    let parent = |pid: u32| -> Option<u32> {
        let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        text.rsplit(')').next()?.split_whitespace().nth(1)?.parse().ok()
    };
    processes()
        .into_iter()
        .filter(|pid| parent(*pid) == Some(of))
        .collect()
}

fn descendants(of: u32) -> Vec<u32> {
    let mut found = children(of);
    let mut next = 0;
    while next < found.len() {
        found.extend(children(found[next]));
        next += 1;
    }
    found
}

fn namespaces_of(pid: &str) -> BTreeSet<PathBuf> {
    let link = |kind: &str| fs::read_link(Path::new("/proc").join(pid).join("ns").join(kind)).ok();
    ["net", "mnt", "pid"].into_iter().filter_map(link).collect()
}
