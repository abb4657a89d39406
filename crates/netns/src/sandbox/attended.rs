//! The program that a user's command runs: started, waited for, informed of signals.

use super::process;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use sys::signals::{self, HeldSignals};

/// Holds signals back from this process for as long as it lives, so that a command can be attended to the
/// end.
///
/// Make it before any thread is started: they inherit it.
#[derive(Debug)]
pub struct Attended {
    held: HeldSignals,
}

impl Default for Attended {
    fn default() -> Self {
        Self::new()
    }
}

impl Attended {
    /// Holds back Ctrl-C and the requests to end.
    pub fn new() -> Self {
        Self {
            held: HeldSignals::hold(&super::outer::PASSED_ON),
        }
    }

    /// Runs `command` to its end and returns its status as shells count (128 + n for signal n). Keys of the
    /// terminal reach the command by themselves; what a process sends here is passed on to it.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn run(&self, command: &mut Command) -> io::Result<u8> {
        let usual = self.held.usual();
        // SAFETY: one system call between fork and exec.
        unsafe {
            command.pre_exec(move || {
                usual.apply();
                Ok(())
            });
        }
        let child: Child = command.spawn()?;
        let Ok(pid) = libc::pid_t::try_from(child.id()) else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        loop {
            // A child may have ended before the first wait; its signal is then pending.
            let came = self.held.next();
            if came.signal == libc::SIGCHLD {
                if let Some((_, status)) = process::reap(Some(pid)) {
                    return Ok(status);
                }
            } else if came.was_sent {
                signals::send(pid, came.signal);
            }
        }
    }
}
