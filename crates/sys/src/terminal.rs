//! Asking for a password at the terminal, without showing it; and whether a line can be written without
//! waiting.

use crate::target::Secret;
use crate::wait::{self, PollFlags};
use rustix::process::{getpgid, getppid, getsid};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

/// Whether this process has a terminal that a person sits at.
pub fn is_there() -> bool {
    terminal().is_some()
}

/// Whether a write of a line to `out` would not have to wait: a file, a terminal, or a pipe with room. What
/// is broken takes it, and fails.
pub fn takes_a_line(out: BorrowedFd<'_>) -> bool {
    wait::until_ready(out, PollFlags::OUT, Duration::ZERO)
}

/// Whether a shell with job control started this process, so that it can go on after it was stopped: its
/// parent is of the same session and another process group.
pub fn has_job_control() -> bool {
    let Some(parent) = getppid() else { return false };
    let group = |process| getpgid(process).ok();
    let session = |process| getsid(process).ok();
    group(Some(parent)).is_some_and(|parents| group(None) != Some(parents))
        && session(Some(parent)).is_some()
        && session(Some(parent)) == session(None)
}

/// The process group of this process, when it is the one in the foreground of `terminal`; 0 when it lies
/// outside of the pid namespace, where `rustix` knows no groups.
pub fn foreground_group(terminal: BorrowedFd<'_>) -> Option<libc::pid_t> {
    // SAFETY: integers only, of a descriptor that is open.
    let (foreground, own) = unsafe { (libc::tcgetpgrp(terminal.as_raw_fd()), libc::getpgrp()) };
    (foreground == own).then_some(own)
}

/// Asks with `prompt` at the process's terminal, whatever its input and output are, and reads a line that is
/// not shown. `None` if there is no terminal, or on Ctrl-C or Ctrl-D.
pub fn ask_secretly(prompt: &str) -> Option<Secret> {
    let mut terminal = terminal()?;
    let _quiet = Quiet::make(&terminal)?;
    write!(terminal, "{prompt}").ok()?;
    let answer = line(&terminal);
    writeln!(terminal).ok();
    answer
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .map(Secret::new)
}

fn terminal() -> Option<File> {
    OpenOptions::new().read(true).write(true).open("/dev/tty").ok()
}

/// What is typed up to the end of the line.
fn line(mut terminal: &File) -> Option<Vec<u8>> {
    let mut line = Vec::new();
    for _ in 0..MAX_INPUT_LEN {
        // One at a time: what is typed after the line is for the next reader.
        let mut byte = [0];
        terminal.read_exact(&mut byte).ok()?;
        match byte[0] {
            b'\n' | b'\r' => return Some(line),
            CONTROL_C | CONTROL_D => return None,
            BACKSPACE | DELETE => {
                // A letter of several bytes goes whole.
                while line.pop().is_some_and(|byte: u8| byte & 0xc0 == 0x80) {}
            }
            other => line.push(other),
        }
    }
    None
}

/// A terminal that shows nothing and makes no signals of keys, until this is dropped.
struct Quiet {
    terminal: File,
    before: Termios,
}

impl Quiet {
    fn make(terminal: &File) -> Option<Self> {
        let terminal = terminal.try_clone().ok()?;
        let before = tcgetattr(&terminal).ok()?;
        let mut quiet = before.clone();
        quiet
            .local_modes
            .remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
        tcsetattr(&terminal, OptionalActions::Flush, &quiet).ok()?;
        Some(Self { terminal, before })
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        // A terminal that is gone shows nothing.
        tcsetattr(&self.terminal, OptionalActions::Flush, &self.before).ok();
    }
}

const CONTROL_C: u8 = 3;
const CONTROL_D: u8 = 4;
const BACKSPACE: u8 = 8;
const DELETE: u8 = 127;
/// Bytes typed at most.
const MAX_INPUT_LEN: usize = 4096;
