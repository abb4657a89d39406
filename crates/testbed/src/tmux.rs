//! A terminal in tmux, with a shell.

use crate::process::require;
use crate::waiting::MAX_WAIT;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use tempfile::TempDir;

#[derive(Debug)]
pub struct Tmux {
    folder: TempDir,
}

impl Tmux {
    pub fn start(columns: u16, lines: u16) -> Self {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let tmux = Self { folder };
        let mut command = tmux.command();
        command
            .args(["-f", "/dev/null", "new-session", "-d", "-x"])
            .arg(columns.to_string());
        command.arg("-y").arg(lines.to_string());
        command.args(["env", "PS1=ready> ", "LC_ALL=C.UTF-8", "sh"]);
        run(command);
        tmux.wait_for("ready>");
        tmux
    }

    /// Directory for the test's files, removed with the terminal.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Types a line and Enter.
    pub fn line(&self, line: &str) {
        self.text(line);
        self.keys(&["Enter"]);
    }

    pub fn text(&self, text: &str) {
        let mut command = self.command();
        command.args(["send-keys", "-l", "--", text]);
        run(command);
    }

    /// Presses keys by their tmux names, such as `C-c`.
    pub fn keys(&self, keys: &[&str]) {
        let mut command = self.command();
        command.arg("send-keys").args(keys);
        run(command);
    }

    pub fn resize(&self, columns: u16, lines: u16) {
        let mut command = self.command();
        command.args(["resize-window", "-x"]).arg(columns.to_string());
        command.arg("-y").arg(lines.to_string());
        run(command);
    }

    pub fn shown(&self) -> String {
        let mut command = self.command();
        command.args(["capture-pane", "-p"]);
        run(command)
    }

    /// Lines that the terminal wrapped are one.
    pub fn unwrapped(&self) -> String {
        let mut command = self.command();
        command.args(["capture-pane", "-p", "-J"]);
        run(command)
    }

    /// The value of a tmux format, such as `alternate_on`.
    pub fn value(&self, name: &str) -> String {
        let mut command = self.command();
        command
            .args(["display-message", "-p"])
            .arg(format!("#{{{name}}}"));
        run(command).trim().to_owned()
    }

    /// Waits until `text` is visible; returns all visible text.
    #[track_caller]
    pub fn wait_for(&self, text: &str) -> String {
        let begin = Instant::now();
        loop {
            let shown = self.shown();
            if shown.contains(text) {
                return shown;
            }
            assert!(begin.elapsed() < MAX_WAIT, "'{text}' is not shown, but:\n{shown}");
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// Uses a separate tmux server.
    fn command(&self) -> Command {
        let mut command = Command::new(require("tmux"));
        command.arg("-u").arg("-S").arg(self.folder.path().join("socket"));
        command.env_remove("TMUX").env("LC_ALL", "C.UTF-8");
        command
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        self.command().arg("kill-server").output().ok();
    }
}

fn run(mut command: Command) -> String {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {complaint}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

const POLL_INTERVAL: Duration = Duration::from_millis(50);
