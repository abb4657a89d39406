use super::*;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;

fn started(script: &str, apart: bool) -> (Application, BufReader<std::process::ChildStdout>) {
    // A shell started with Ctrl-C ignored, as in a background job, could not trap it.
    let mut command = Command::new("env");
    command
        .args(["--default-signal=INT", "sh", "-c", script])
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    let mut application = Application::start_in(&mut command, apart).expect("there is a shell");
    let out = application.supervisor.stdout.take().expect("its output is ours");
    (application, BufReader::new(out))
}

fn line(out: &mut impl BufRead) -> String {
    let mut line = String::new();
    out.read_line(&mut line).expect("it says something");
    line
}

fn end_of(application: &mut Application) -> ExitStatus {
    loop {
        if let Some(status) = application.ended().expect("it is reported") {
            return status;
        }
        application.wait(&StopToken::never());
    }
}

#[test]
fn it_has_time_to_end_by_itself() {
    let script = "trap 'sleep 0.2; echo saved; exit 3' INT; echo ready; while :; do sleep 0.05; done";
    for apart in [true, false] {
        let (mut application, mut out) = started(script, apart);
        assert_eq!(line(&mut out), "ready\n");
        application.end(if application.apart {
            libc::SIGINT
        } else {
            libc::SIGTERM
        });
        if application.apart {
            assert_eq!(end_of(&mut application).code(), Some(3));
            assert_eq!(line(&mut out), "saved\n");
        } else {
            assert_eq!(end_of(&mut application).signal(), Some(libc::SIGTERM));
        }
    }
}

#[test]
fn what_it_started_ends_with_it() {
    for apart in [true, false] {
        let (mut application, mut out) = started("sh -c 'sleep 600 & echo ready; wait' & wait", apart);
        assert_eq!(line(&mut out), "ready\n");
        application.end(libc::SIGTERM);
        assert_eq!(end_of(&mut application).signal(), Some(libc::SIGTERM));
        let mut rest = String::new();
        // The end of the pipe: no process holds it any more.
        assert_eq!(out.read_to_string(&mut rest).expect("it ends"), 0);
    }
}

#[test]
fn who_does_not_listen_is_killed_when_told_twice() {
    let (mut application, mut out) =
        started("trap '' INT TERM; echo ready; while :; do sleep 0.05; done", true);
    assert_eq!(line(&mut out), "ready\n");
    application.end(libc::SIGINT);
    std::thread::sleep(TWICE);
    assert!(application.ended().expect("it is reported").is_none());
    application.end(libc::SIGINT);
    assert_eq!(end_of(&mut application).signal(), Some(libc::SIGKILL));
}

#[test]
fn one_that_is_forgotten_is_ended() {
    let (application, mut out) = started("echo ready; sleep 600", true);
    assert_eq!(line(&mut out), "ready\n");
    drop(application);
    assert_eq!(out.read_to_string(&mut String::new()).expect("it ends"), 0);
}

#[test]
fn a_program_that_is_not_there_is_said_to_be_missing() {
    let error = Application::start(&mut Command::new("/no/such/program")).expect_err("it is not there");
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
}

#[test]
fn a_program_that_ends_at_once_has_its_status() {
    for status in 0..20 {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("exit {status}")]);
        let mut application = Application::start(&mut command).expect("there is a shell");
        assert_eq!(end_of(&mut application).code(), Some(status));
    }
}
