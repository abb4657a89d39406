//! `longwire top` in a real terminal: keys, display under real load, and restoring the terminal.

mod interface;
mod live;
mod suspended;

use longwire::commands::top::terminal::{ScreenTerminal, is_there};
use std::io::{IsTerminal, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use testbed::binary::{done, longwire, number, of_type, program, records, refused};
use testbed::waiting::wait_until;
use testbed::{Postgres, Started, Tmux, require};

const CAPTURE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/data/requests/threads-carried.pcap.gz"
);

fn start(terminal: &Tmux, arguments: &str) {
    start_with(terminal, "", arguments);
}

fn start_with(terminal: &Tmux, before: &str, arguments: &str) {
    let line = format!(
        "stty -a >before; {before} {} top {arguments}; echo \"ended $?\"; stty -a >after",
        program().display()
    );
    terminal.line(&format!("cd {}; clear", terminal.folder().display()));
    terminal.line(&line);
}

/// Waits for `top` to exit and checks that the terminal is restored.
fn restored(terminal: &Tmux, status: i32) -> String {
    let shown = terminal.wait_for(&format!("ended {status}"));
    let file = |name: &str| std::fs::read_to_string(terminal.folder().join(name)).unwrap_or_default();
    wait_until("stty after", || !file("after").is_empty());
    assert_eq!(file("before"), file("after"));
    assert_eq!(terminal.value("alternate_on"), "0");
    assert_eq!(terminal.value("cursor_flag"), "1");
    shown
}

fn process(terminal: &Tmux) -> String {
    let shell = terminal.value("pane_pid");
    let children = std::fs::read_to_string(format!("/proc/{shell}/task/{shell}/children"));
    children.expect("the kernel lists children").trim().to_owned()
}

fn pgbench(address: &str, arguments: &[&str]) -> Command {
    let (host, port) = address.split_once(':').expect("an address");
    let mut command = Command::new(require("pgbench"));
    command
        .args(["-h", host, "-p", port, "-U", "postgres"])
        .args(arguments)
        .arg("postgres");
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn server_of_pgbench() -> (Postgres, String) {
    let server = Postgres::start();
    let address = format!("127.0.0.1:{}", server.port());
    let made = pgbench(&address, &["-i", "-q"]).status();
    assert!(made.expect("it starts").success());
    (server, address)
}

fn relay_on(terminal: &Tmux) -> String {
    let shown = terminal.wait_for("relaying 127.0.0.1:");
    let relay = shown
        .split("relaying ")
        .nth(1)
        .and_then(|rest| rest.split(' ').next());
    relay.expect("where it listens").to_owned()
}

#[test]
fn a_run_is_shown_predicted_and_left_as_the_terminal_was() {
    let (server, _) = server_of_pgbench();
    let terminal = Tmux::start(120, 30);
    start(&terminal, &format!("'{}' -o run.lwr", server.url()));
    let relay = relay_on(&terminal);
    let _load = Started::start(&mut pgbench(&relay, &["-c", "2", "-T", "120", "-R", "40"]));
    terminal.wait_for("UPDATE pgbench_".to_lowercase().as_str());
    terminal.text("2");
    terminal.wait_for("insert into pgbench_history");
    terminal.text("++++");
    let predicted = terminal.wait_for("PREDICTED over rtt=10ms");
    assert!(predicted.contains(" ms"), "{predicted}");
    terminal.text("l");
    terminal.wait_for("link: rtt=10ms");
    terminal.text(" rate=1mbit");
    terminal.keys(&["Enter"]);
    terminal.wait_for("PREDICTED over rtt=10ms rate=1mbit");
    terminal.text("0?");
    terminal.wait_for("type a link");
    terminal.text(" ");
    terminal.text(" ");
    terminal.wait_for("PAUSED");
    terminal.text(" m");
    terminal.wait_for("since baseline ");
    terminal.text("3");
    terminal.wait_for("rows held");
    terminal.text("4");
    terminal.wait_for("in transaction");
    terminal.text("h");
    terminal.wait_for("the page is in longwire-top.html");
    terminal.resize(80, 24);
    terminal.text("1");
    terminal.wait_for("q quit");
    terminal.resize(40, 10);
    terminal.wait_for("needs 60 x 16");
    terminal.resize(120, 30);
    terminal.text("q");
    let shown = restored(&terminal, 0);
    assert!(shown.contains("operations of"), "{shown}");
    let page = std::fs::read_to_string(terminal.folder().join("longwire-top.html")).expect("the page");
    assert!(page.contains("pgbench_accounts"), "the page names the statements");
    let recording = terminal.folder().join("run.lwr").display().to_string();
    done(&longwire(&["read", &recording]).output().expect("it starts"));
}

#[test]
fn a_recording_is_shown_at_any_moment_of_it() {
    let terminal = Tmux::start(100, 30);
    start(&terminal, CAPTURE);
    let end = terminal.wait_for(" operations ");
    let (_, length) = end
        .lines()
        .next()
        .and_then(|line| line.split_once(" of "))
        .expect("a position");
    terminal.keys(&["Home"]);
    terminal.wait_for(&format!("at 0.0 s of {length}"));
    terminal.keys(&["Right"]);
    terminal.keys(&["End"]);
    terminal.wait_for(&format!("at {length} of {length}"));
    terminal.text("++++");
    terminal.wait_for("PREDICTED over rtt=10ms");
    terminal.text("q");
    restored(&terminal, 0);
}

#[test]
fn what_is_predicted_is_what_predict_says() {
    let recording = concat!(env!("CARGO_MANIFEST_DIR"), "/../core/screen/tests/data/pages.lwr");
    let rule = ["--operations", "transaction"];
    let mut predict = longwire(&["predict", "--json", "--rtt", "10ms", recording]);
    let predicted = predict.args(rule).output().expect("it starts");
    done(&predicted);
    let predicted = records(&predicted);
    let predicted = of_type(&predicted, "prediction");
    assert!(predicted.len() > 2, "{predicted:?}");
    let terminal = Tmux::start(200, 40);
    start(&terminal, &format!("{} {recording}", rule.join(" ")));
    terminal.wait_for("as measured");
    terminal.text("++++");
    terminal.wait_for("PREDICTED over rtt=10ms");
    for prediction in predicted {
        let name = prediction["operation_name"].as_str().expect("a name");
        let name: String = name.chars().take(60).collect();
        let p50 = model::format_duration(Duration::from_nanos(number(prediction, "duration_ns")));
        // The terminal may have drawn only part of the screen.
        let shown = terminal.wait_for(&format!(" {p50} "));
        let row = shown.lines().find(|line| line.starts_with(&name));
        let row = row.unwrap_or_else(|| panic!("{name} is not in\n{shown}"));
        assert!(row.contains(&format!(" {p50} ")), "{p50} is not in: {row}");
    }
    terminal.text("q");
    restored(&terminal, 0);
}

#[test]
fn the_terminal_is_as_it_was_after_control_c_and_signals() {
    for (signal, status) in [("", 130), ("TERM", 143), ("HUP", 129)] {
        let terminal = Tmux::start(80, 24);
        start(&terminal, CAPTURE);
        terminal.wait_for("q quit");
        assert_eq!(terminal.value("alternate_on"), "1");
        match signal {
            "" => terminal.keys(&["C-c"]),
            signal => {
                let sent = Command::new(require("kill"))
                    .args(["-s", signal, &process(&terminal)])
                    .status();
                assert!(sent.expect("kill starts").success());
            }
        }
        restored(&terminal, status);
    }
}

/// Like a serial console or session recorder: accepts output and answers no query (`ESC[6n`
/// requests the cursor position).
#[test]
fn a_terminal_that_answers_nothing_is_asked_nothing() {
    let mut terminal = Command::new(require("script"));
    let run = format!(
        "stty cols 100 rows 30; exec {} top {CAPTURE}",
        program().display()
    );
    terminal.args(["-qec", &run, "/dev/null"]).env("TERM", "xterm");
    let mut child = terminal
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("script starts");
    let mut keys = child.stdin.take().expect("a pipe");
    let mut shown = child.stdout.take().expect("a pipe");
    let (mut written, mut some) = (Vec::new(), [0; 4096]);
    // The screen appears after the terminal was taken and cleared.
    while !String::from_utf8_lossy(&written).contains("q quit") {
        let count = shown.read(&mut some).expect("it can be read");
        assert!(count > 0, "it ended: {}", String::from_utf8_lossy(&written));
        written.extend_from_slice(&some[..count]);
    }
    keys.write_all(b"q").expect("the terminal takes keys");
    shown.read_to_end(&mut written).expect("it ends");
    assert!(child.wait().expect("it ends").success());
    assert!(!written.windows(4).any(|four| four == b"\x1b[6n"), "it asked");
}

#[test]
fn a_terminal_that_is_gone_ends_it() {
    let terminal = Tmux::start(80, 24);
    start(&terminal, CAPTURE);
    terminal.wait_for("q quit");
    let process = format!("/proc/{}", process(&terminal));
    assert!(Path::new(&process).exists());
    drop(terminal);
    wait_until("the end of top", || !Path::new(&process).exists());
}

/// Skipped if this test does not run in a terminal.
#[test]
fn a_panic_in_a_terminal() {
    if !std::io::stdout().is_terminal() {
        return assert!(!is_there());
    }
    let _screen = ScreenTerminal::open_terminal().expect("the terminal is taken");
    panic!("on purpose");
}

#[test]
fn the_terminal_is_as_it_was_after_a_panic() {
    let terminal = Tmux::start(120, 40);
    let test = std::env::current_exe().expect("this program");
    terminal.line(&format!(
        "cd {}; clear; stty -a >before",
        terminal.folder().display()
    ));
    terminal.line(&format!(
        "RUST_BACKTRACE=0 {} --exact top::a_panic_in_a_terminal --nocapture; echo \"ended $?\"; stty -a >after",
        test.display()
    ));
    let shown = restored(&terminal, 101);
    assert!(shown.contains("on purpose"), "{shown}");
}

#[test]
fn what_a_command_writes_stays_off_the_screen() {
    let server = Postgres::start();
    let terminal = Tmux::start(120, 24);
    let command = "sh -c 'echo on the screen; psql -X -q -h {host} -p {port} -c \"select 41 + 1\"; exit 3'";
    start(&terminal, &format!("'{}' -- {command}", server.url()));
    let shown = terminal.wait_for("the command has ended with status 3");
    assert!(!shown.contains("on the screen"), "{shown}");
    let file = shown
        .split("the command writes to ")
        .nth(1)
        .expect("the file's name");
    let file = file.split_whitespace().next().expect("a path");
    let written = std::fs::read_to_string(Path::new(file)).expect("it is there");
    assert!(
        written.contains("on the screen") && written.contains("42"),
        "{written}"
    );
    std::fs::remove_file(file).expect("it can be removed");
    terminal.text("q");
    restored(&terminal, 3);
}

#[test]
fn without_a_terminal_it_names_what_to_use() {
    refused(
        &["top", "postgres://127.0.0.1:1"],
        &["no terminal", "longwire watch"],
    );
    refused(&["top", CAPTURE], &["longwire read"]);
}

#[test]
fn watch_in_a_terminal_names_it() {
    let server = Postgres::start();
    let terminal = Tmux::start(120, 24);
    terminal.line(&format!("{} watch '{}'", program().display(), server.url()));
    terminal.wait_for("longwire top shows a screen");
    terminal.keys(&["C-c"]);
    terminal.wait_for("No TCP connection was seen");
}

#[test]
fn wrong_arguments_are_named() {
    for (arguments, words) in [
        ("nowhere.lwr", "could not open nowhere.lwr"),
        (
            &*format!("{CAPTURE} postgres://127.0.0.1"),
            "targets and files cannot be shown together",
        ),
        (&*format!("{CAPTURE} --listen 5433"), "--listen is for targets"),
    ] {
        let terminal = Tmux::start(120, 24);
        start(&terminal, arguments);
        let shown = terminal.wait_for("ended 2");
        assert!(shown.replace('\n', "").contains(words), "{shown}");
    }
}
