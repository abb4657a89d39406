//! If longwire is killed, everything it started ends as well.

use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;
use testbed::binary::{longwire, program};
use testbed::waiting::wait_until;
use testbed::{Postgres, Started};

/// Starts processes that ignore termination, some of them orphaned, in another session or group, or
/// without environment. Also starts a daemon, which detached on purpose.
const STARTS: &str = "trap '' TERM HUP INT; \
    sleep 600 & echo $! >> pids; \
    (sleep 600 & echo $! >> pids); \
    setsid sleep 600 & echo $! >> pids; \
    env -i sleep 600 & echo $! >> pids; \
    (set -m; sleep 600 & echo $! >> pids); \
    (setsid sleep 600 & echo $! >> daemon); \
    echo $$ >> pids; echo $PPID > parent; echo > ready; while :; do sleep 0.05; done";
const STARTED: usize = 6;

struct Run {
    folder: TempDir,
    longwire: Started,
}

fn numbers(folder: &Path, name: &str) -> Vec<i32> {
    let text = std::fs::read_to_string(folder.join(name)).expect("it was written");
    text.lines().map(|line| line.parse().expect("a number")).collect()
}

/// Fields of proc_pid_stat(5) from the state on.
fn stat(number: i32) -> Option<Vec<String>> {
    let stat = std::fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(") ")?;
    Some(fields.split(' ').map(String::from).collect())
}

fn is_gone(number: i32) -> bool {
    stat(number).is_none_or(|stat| stat[0] == "Z")
}

/// `rustix` panics for a session outside of the pid namespace.
fn leads_a_session(number: i32) -> bool {
    stat(number).is_some_and(|stat| stat[3] == number.to_string())
}

fn kill(number: i32) {
    let process = rustix::process::Pid::from_raw(number).expect("a number");
    rustix::process::kill_process(process, rustix::process::Signal::KILL).ok();
}

impl Run {
    fn start(arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a directory");
        let mut command = longwire(&[arguments, &["--", "bash", "-c", STARTS]].concat());
        command.current_dir(folder.path()).process_group(0);
        let longwire = Started::heard(command.stdout(Stdio::null()));
        wait_until("the command runs", || folder.path().join("ready").exists());
        let run = Self { folder, longwire };
        assert_eq!(run.pids().len(), STARTED);
        assert!(run.pids().iter().all(|number| !is_gone(*number)));
        wait_until("the daemon has left", || leads_a_session(run.daemon()));
        run
    }

    fn daemon(&self) -> i32 {
        numbers(self.folder.path(), "daemon")[0]
    }

    fn pids(&self) -> Vec<i32> {
        numbers(self.folder.path(), "pids")
    }

    fn all_end(&self, how: &str) {
        wait_until(how, || self.pids().iter().all(|number| is_gone(*number)));
        assert!(!is_gone(self.daemon()), "{how}: a daemon has left on purpose");
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let daemons = numbers(self.folder.path(), "daemon");
        daemons.into_iter().chain(self.pids()).for_each(kill);
    }
}

/// No processes are left after a few seconds.
#[test]
fn what_the_command_started_ends_when_longwire_is_killed() {
    let server = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let target = format!("tcp://{}", server.local_addr().expect("it has one"));
    let database = Postgres::start();
    for arguments in [
        &["watch", &target][..],
        &["relay", &target],
        &["keys", "-o", "keys.log"],
        &["tune", &database.url(), "--rounds", "1", "--set", "UNUSED=1"],
    ] {
        for whole_group in [false, true] {
            let mut run = Run::start(arguments);
            let number = run.longwire.id() as i32;
            match whole_group {
                false => kill(number),
                // Like timeout(1): the process and its group.
                true => {
                    let group = rustix::process::Pid::from_raw(number).expect("a number");
                    rustix::process::kill_process_group(group, rustix::process::Signal::KILL).ok();
                }
            }
            run.longwire.ends_within(Duration::from_secs(20));
            run.all_end(&format!("{arguments:?}, group: {whole_group}"));
        }
    }
}

/// If the intermediate process is killed, the command ends and longwire's status reports it.
#[test]
fn the_command_ends_when_the_process_between_is_killed() {
    let server = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let target = format!("tcp://{}", server.local_addr().expect("it has one"));
    let mut run = Run::start(&["watch", &target]);
    let between = numbers(run.folder.path(), "parent")[0];
    assert_ne!(between, run.longwire.id() as i32);
    kill(between);
    let status = run.longwire.ends_within(Duration::from_secs(20));
    assert_eq!(status.code(), Some(137), "{}", run.longwire.said());
    let command = *run.pids().last().expect("its number");
    wait_until("the command ends", || is_gone(command));
}

/// A fork bomb leaves no processes.
#[test]
fn a_command_that_keeps_forking_is_ended_whole() {
    let folder = tempfile::tempdir().expect("a directory");
    // Each generation starts the next and exits, so parents are gone when looked up. The mark
    // identifies them.
    let script = "trap '' TERM; echo > ready; next() { [ -e stop ] || ( sleep 0.01; next ) & }; next; next; next; wait; sleep 600";
    let mut command = longwire(&["keys", "-o", "keys.log", "--", "bash", "-c", script]);
    let mark = format!("of-{}", folder.path().display());
    command.current_dir(folder.path()).env("MARK_OF_TEST", &mark);
    let mut longwire = Started::heard(command.stdout(Stdio::null()));
    wait_until("the command runs", || folder.path().join("ready").exists());
    kill(longwire.id() as i32);
    longwire.ends_within(Duration::from_secs(20));
    let entry = format!("MARK_OF_TEST={mark}");
    wait_until("none is left", || {
        let all = Command::new("sh")
            .args(["-c", "cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n'"])
            .output()
            .expect("there is a shell");
        let all = String::from_utf8_lossy(&all.stdout).into_owned();
        !all.lines().any(|line| line == entry)
    });
    std::fs::write(folder.path().join("stop"), "").expect("it is written");
}

/// Some supervisors start programs with SIGCHLD ignored, in which case the kernel keeps no exit
/// status.
#[test]
fn ignored_ends_of_children_lose_no_status() {
    for (command, status) in [(&["sh", "-c", "exit 7"][..], 7), (&["/no/such/program"], 127)] {
        let folder = tempfile::tempdir().expect("a folder");
        let mut longwire = Command::new("env");
        longwire
            .arg("--ignore-signal=CHLD")
            .arg(program())
            .args(["keys", "-o"]);
        longwire
            .arg(folder.path().join("keys.log"))
            .arg("--")
            .args(command);
        let mut run = Started::heard(longwire.stdout(Stdio::null()));
        let ended = run.ends_within(Duration::from_secs(60));
        assert_eq!(ended.code(), Some(status), "{command:?}: {}", run.said());
    }
}
