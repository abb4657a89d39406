//! Runs a user's command and forwards signals to it.

use super::process;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use sys::signals::{self, HeldSignals};

/// Blocks signals in this process while it lives. Create it before any thread, since threads
/// inherit it.
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
    pub fn new() -> Self {
        Self {
            held: HeldSignals::hold(&super::process::PASSED_ON),
        }
    }

    /// Returns the shell's status (128 + n for signal n). Terminal keys reach the command directly;
    /// signals of processes are forwarded.
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
