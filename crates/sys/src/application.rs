//! The application that the user runs through longwire: it is told to end as longwire is, has time for it, and leaves nothing
//! behind.
//!
//! Away from a terminal it gets a process group of its own, which is ended as a whole. At a terminal it stays in longwire's
//! group, as everything that a shell runs in one line: it may read from the terminal, and keys reach it by themselves; what is
//! ended then is the command and what it started, one generation after the other.

use crate::process_tree::Member;
use crate::{process_tree, signals, terminal};
use rustix::process::{Signal, set_parent_process_death_signal};
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

/// An application under way. Dropping it before its end ends it, with the same patience.
#[derive(Debug)]
pub struct Application {
    child: Child,
    status: Option<ExitStatus>,
    /// Whether it has a process group of its own.
    apart: bool,
    ending: Option<Ending>,
}

/// It was told to end.
#[derive(Debug)]
struct Ending {
    since: Instant,
    /// What it had started by then; only of one without a group of its own.
    members: Vec<Member>,
    stage: EndingStep,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EndingStep {
    Told,
    Terminated,
    Killed,
}

impl Application {
    /// Starts it. Should longwire be killed, the kernel tells it to end.
    ///
    /// # Errors
    /// When the system cannot.
    pub fn start(command: &mut Command) -> io::Result<Self> {
        let apart = !is_at_terminal();
        if apart {
            command.process_group(0);
        }
        // SAFETY: one system call between fork and exec, with integers only.
        unsafe {
            command.pre_exec(|| {
                set_parent_process_death_signal(Some(Signal::TERM)).ok();
                Ok(())
            });
        }
        Ok(Self {
            child: command.spawn()?,
            status: None,
            apart,
            ending: None,
        })
    }

    /// Whether it is at longwire's terminal, where keys such as Ctrl-C reach it by themselves.
    pub const fn shares_terminal(&self) -> bool {
        !self.apart
    }

    /// Tells it to end with `signal`; a second time, a moment later, ends it without asking. At a terminal Ctrl-C has reached it
    /// already.
    pub fn end(&mut self, signal: libc::c_int) {
        if let Some(ending) = &self.ending {
            // timeout(1) sends its signal twice, to the process and to its group.
            if ending.since.elapsed() >= TWICE {
                self.pass(libc::SIGKILL, EndingStep::Killed);
            }
            return;
        }
        self.ending = Some(Ending {
            since: Instant::now(),
            members: Vec::new(),
            stage: EndingStep::Told,
        });
        if self.apart || signal != libc::SIGINT {
            self.pass(signal, EndingStep::Told);
        }
    }

    /// How it ended; absent while it runs, or while something that it started still ends after it was told to. To be asked again
    /// and again: it also makes sure that the time to end is kept.
    ///
    /// # Errors
    /// When the system does not report it.
    pub fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        if self.status.is_none() {
            self.status = self.child.try_wait()?;
        }
        let Some(ending) = &self.ending else {
            return Ok(self.status);
        };
        let (elapsed, stage) = (ending.since.elapsed(), ending.stage);
        if self.status.is_some() && (stage == EndingStep::Killed || !self.has_members()) {
            return Ok(self.status);
        }
        if elapsed >= GRACE + TERMINATED_GRACE && stage != EndingStep::Killed {
            self.pass(libc::SIGKILL, EndingStep::Killed);
        } else if elapsed >= GRACE && stage == EndingStep::Told {
            self.pass(libc::SIGTERM, EndingStep::Terminated);
        }
        Ok(None)
    }

    /// Whether something that it started is still there, once it has ended itself.
    fn has_members(&self) -> bool {
        match &self.ending {
            _ if self.apart => signals::has_group(self.group()),
            Some(ending) => ending.members.iter().any(Member::is_alive),
            None => false,
        }
    }

    /// Sends `signal` to it and to all that it started.
    fn pass(&mut self, signal: libc::c_int, stage: EndingStep) {
        let group = self.group();
        let Some(ending) = &mut self.ending else {
            return;
        };
        ending.stage = stage;
        if self.apart {
            // The group is that of a child; once it has been waited for, the number is another's only when
            // the group is gone and the system has come round to it within the grace.
            signals::send_to_group(group, signal);
            return;
        }
        // Members are known by number and beginning: a number that went to another is not signalled.
        for member in process_tree::of(self.child.id()) {
            if !ending.members.contains(&member) {
                ending.members.push(member);
            }
        }
        ending.members.iter().for_each(|member| member.send(signal));
    }

    fn group(&self) -> libc::pid_t {
        // The kernel gives no larger numbers; the fallback is a group that no process has.
        libc::pid_t::try_from(self.child.id()).unwrap_or(libc::pid_t::MAX)
    }
}

impl Drop for Application {
    fn drop(&mut self) {
        if self.status.is_some() && self.ending.is_none() {
            return;
        }
        if self.ending.is_none() {
            self.end(libc::SIGTERM);
        }
        while let Ok(None) = self.ended() {
            thread::sleep(LOOK);
        }
    }
}

/// Whether this process may use a terminal: it is in its foreground, where all that is started along with it should be.
fn is_at_terminal() -> bool {
    let Ok(terminal) = File::open("/dev/tty") else {
        return false;
    };
    terminal::foreground_group(terminal.as_fd()).is_some()
}

/// From being told to end until it is told by SIGTERM, whatever the first signal was.
const GRACE: Duration = Duration::from_secs(5);
/// From there to being killed.
const TERMINATED_GRACE: Duration = Duration::from_secs(2);
/// A signal that comes so much later is another one.
const TWICE: Duration = Duration::from_millis(500);
/// How often it is checked whether it has ended, where nothing else checks.
const LOOK: Duration = Duration::from_millis(10);

#[cfg(test)]
mod tests;
