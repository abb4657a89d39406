//! A command at a terminal: the shell's keys work as without longwire.

use std::process::Command;
use testbed::binary::program;
use testbed::waiting::wait_until;
use testbed::{Tmux, require};

fn descendants(process: &str) -> Vec<String> {
    let children = std::fs::read_to_string(format!("/proc/{process}/task/{process}/children"));
    let children = children.unwrap_or_default();
    let each = children.split_whitespace().map(str::to_owned);
    each.flat_map(|child| {
        let below = descendants(&child);
        std::iter::once(child).chain(below)
    })
    .collect()
}

fn state(process: &str) -> String {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let rest = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
    rest.chars().take(1).collect()
}

fn start(terminal: &Tmux) {
    let script =
        "trap \\\"echo heard\\\" INT; n=0; while :; do sleep 0.1; n=\\$((n + 1)); echo \\$n > count; done";
    let run = format!("{} keys -o keys.log -- sh -c \"{script}\"", program().display());
    terminal.line(&format!("cd {}; clear", terminal.folder().display()));
    terminal.line(&format!("{run}; echo \"ended $?\""));
    // Not by its output: the terminal echoes the typed line.
    wait_until("the command runs", || terminal.folder().join("count").exists());
}

#[test]
fn keys_stop_a_command_let_it_go_on_and_interrupt_it() {
    let terminal = Tmux::start(100, 30);
    start(&terminal);
    let count = || std::fs::read_to_string(terminal.folder().join("count")).unwrap_or_default();
    for says in ["ended 148", "finished 148"] {
        terminal.keys(&["C-z"]);
        // 128 + SIGTSTP.
        terminal.wait_for(says);
        let shell = terminal.value("pane_pid");
        let states = || -> Vec<String> { descendants(&shell).iter().map(|process| state(process)).collect() };
        let began = std::time::Instant::now();
        while states().iter().filter(|state| *state == "T").count() < 2 {
            assert!(
                began.elapsed().as_secs() < 30,
                "longwire and the command: {:?}",
                states()
            );
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        let stopped_at = count();
        terminal.line("clear; fg; echo \"finished $?\"");
        wait_until("it goes on", || count() != stopped_at && !count().is_empty());
    }
    // The command decides how to handle Ctrl-C.
    terminal.keys(&["C-c"]);
    terminal.wait_for("heard");
    let shell = terminal.value("pane_pid");
    let longwire = descendants(&shell)[0].clone();
    let sent = Command::new(require("kill"))
        .args(["-s", "TERM", &longwire])
        .status();
    assert!(sent.expect("kill starts").success());
    terminal.wait_for("finished 143");
    wait_until("nothing is left", || descendants(&shell).is_empty());
}

#[test]
fn a_command_at_a_terminal_ends_when_longwire_is_killed() {
    let terminal = Tmux::start(100, 30);
    start(&terminal);
    let shell = terminal.value("pane_pid");
    let all = descendants(&shell);
    assert!(
        all.len() >= 3,
        "longwire, the process between, the command: {all:?}"
    );
    let sent = Command::new(require("kill"))
        .args(["-s", "KILL", &all[0]])
        .status();
    assert!(sent.expect("kill starts").success());
    terminal.wait_for("ended 137");
    wait_until("all have ended", || {
        all.iter().all(|process| matches!(&*state(process), "" | "Z"))
    });
}
