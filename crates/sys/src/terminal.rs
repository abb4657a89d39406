//! Asking for a password at the terminal, without showing it; and whether a line can be written without waiting.

use crate::target::Secret;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Whether this process has a terminal that a person sits at.
pub fn is_there() -> bool {
    terminal().is_some()
}

/// Whether a write of a line to `out` would not have to wait: a file, a terminal, or a pipe with room. What is broken takes it,
/// and fails.
pub fn takes_a_line(out: BorrowedFd<'_>) -> bool {
    let mut entry = libc::pollfd {
        fd: out.as_raw_fd(),
        events: libc::POLLOUT,
        revents: 0,
    };
    // SAFETY: one valid entry.
    unsafe { libc::poll(&raw mut entry, 1, 0) };
    entry.revents & (libc::POLLOUT | libc::POLLERR | libc::POLLHUP | libc::POLLNVAL) != 0
}

/// Asks with `prompt` at the process's terminal, whatever its input and output are, and reads a line that is not shown.
/// Absent when there is no terminal, or on Ctrl-C or Ctrl-D.
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
    for _ in 0..LONGEST {
        // One at a time: what is typed behind the line is for whoever reads next.
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
    before: libc::termios,
}

impl Quiet {
    fn make(terminal: &File) -> Option<Self> {
        let terminal = terminal.try_clone().ok()?;
        let mut before = MaybeUninit::<libc::termios>::uninit();
        // SAFETY: the kernel fills `before`, which is read only when it has.
        let before = unsafe {
            if libc::tcgetattr(terminal.as_raw_fd(), before.as_mut_ptr()) != 0 {
                return None;
            }
            before.assume_init()
        };
        let mut quiet = before;
        quiet.c_lflag &= !(libc::ECHO | libc::ICANON | libc::ISIG);
        // SAFETY: `quiet` is a valid description of the terminal.
        let set = unsafe { libc::tcsetattr(terminal.as_raw_fd(), libc::TCSAFLUSH, &raw const quiet) };
        (set == 0).then_some(Self { terminal, before })
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        // SAFETY: `before` is what the terminal itself said.
        unsafe { libc::tcsetattr(self.terminal.as_raw_fd(), libc::TCSAFLUSH, &raw const self.before) };
    }
}

const CONTROL_C: u8 = 3;
const CONTROL_D: u8 = 4;
const BACKSPACE: u8 = 8;
const DELETE: u8 = 127;
/// Bytes typed at most.
const LONGEST: usize = 4096;
