//! Password prompts without echo, and writes that do not block.

use crate::target::Secret;
use crate::wait::{self, PollFlags};
use rustix::process::getppid;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

pub fn is_there() -> bool {
    terminal().is_some()
}

/// Whether a line can be written to `out` without blocking: a file, a terminal, or a pipe with
/// room. A broken one accepts the write, and fails.
pub fn takes_a_line(out: BorrowedFd<'_>) -> bool {
    wait::until_ready(out, PollFlags::OUT, Duration::ZERO)
}

/// Whether this process can resume after a stop: its parent has the same session and another
/// process group.
pub fn has_job_control() -> bool {
    let Some(parent) = getppid() else { return false };
    let parent = parent.as_raw_nonzero().get();
    // SAFETY: integers only; 0 if outside of the pid namespace, where `rustix` panics.
    let (groups, sessions) = unsafe {
        let groups = (libc::getpgid(parent), libc::getpgid(0));
        (groups, (libc::getsid(parent), libc::getsid(0)))
    };
    groups.0 >= 0 && groups.0 != groups.1 && sessions.0 >= 0 && sessions.0 == sessions.1
}

/// Only if it is in the foreground of `terminal`; 0 if outside of the pid namespace.
pub fn foreground_group(terminal: BorrowedFd<'_>) -> Option<libc::pid_t> {
    // SAFETY: integers only, of a descriptor that is open.
    let (foreground, own) = unsafe { (libc::tcgetpgrp(terminal.as_raw_fd()), libc::getpgrp()) };
    (foreground == own).then_some(own)
}

/// Uses the process's terminal, regardless of redirections. `None` without a terminal, or on Ctrl-C
/// or Ctrl-D.
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

fn line(mut terminal: &File) -> Option<Vec<u8>> {
    let mut line = Vec::new();
    for _ in 0..MAX_INPUT_LEN {
        // One byte at a time: input after the line is for the next reader.
        let mut byte = [0];
        terminal.read_exact(&mut byte).ok()?;
        match byte[0] {
            b'\n' | b'\r' => return Some(line),
            CONTROL_C | CONTROL_D => return None,
            BACKSPACE | DELETE => {
                // Removes all bytes of a multi-byte character.
                while line.pop().is_some_and(|byte: u8| byte & 0xc0 == 0x80) {}
            }
            other => line.push(other),
        }
    }
    None
}

/// Disables echo and signal keys until dropped.
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
        // A terminal that is gone shows no input.
        tcsetattr(&self.terminal, OptionalActions::Flush, &self.before).ok();
    }
}

const CONTROL_C: u8 = 3;
const CONTROL_D: u8 = 4;
const BACKSPACE: u8 = 8;
const DELETE: u8 = 127;
const MAX_INPUT_LEN: usize = 4096;
