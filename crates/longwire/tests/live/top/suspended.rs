//! After Ctrl-Z, the shell owns the terminal until `top` is continued.

use super::{CAPTURE, process, start};
use std::process::Command;
use testbed::waiting::wait_until;
use testbed::{Tmux, require};

fn said(terminal: &Tmux, name: &str) -> String {
    let path = terminal.folder().join(name);
    wait_until(name, || {
        std::fs::read_to_string(&path).is_ok_and(|text| !text.is_empty())
    });
    std::fs::read_to_string(path).expect("it is there")
}

#[test]
fn it_stops_with_the_terminal_as_it_was_and_goes_on() {
    for asked in ["key", "signal"] {
        let terminal = Tmux::start(100, 30);
        start(&terminal, CAPTURE);
        terminal.wait_for("q quit");
        match asked {
            "key" => terminal.keys(&["C-z"]),
            _ => {
                let sent = Command::new(require("kill"))
                    .args(["-s", "TSTP", &process(&terminal)])
                    .status();
                assert!(sent.expect("kill starts").success());
            }
        }
        // Shells report 128 + SIGSTOP or SIGTSTP.
        let stopped = terminal.wait_for("ended 1");
        assert!(
            stopped.contains("ended 147") || stopped.contains("ended 148"),
            "{stopped}"
        );
        assert_eq!(said(&terminal, "before"), said(&terminal, "after"), "{asked}");
        assert_eq!(terminal.value("alternate_on"), "0");
        assert_eq!(terminal.value("cursor_flag"), "1");
        terminal.line("clear; fg; echo \"finished $?\"; stty -a >finished");
        terminal.wait_for("q quit");
        assert_eq!(terminal.value("alternate_on"), "1");
        terminal.text("++++");
        terminal.wait_for("PREDICTED over rtt=10ms");
        terminal.text("q");
        terminal.wait_for("finished 0");
        assert_eq!(said(&terminal, "before"), said(&terminal, "finished"), "{asked}");
        assert_eq!(terminal.value("alternate_on"), "0");
    }
}
