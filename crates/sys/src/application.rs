//! The application that the user runs through longwire: it is told to end as longwire is, has time for it,
//! and leaves nothing behind, even if longwire is killed (`supervisor`).
//!
//! Away from a terminal it gets a process group of its own, which is ended as a whole. At a terminal it stays
//! in longwire's group, as everything that a shell runs in one line: it may read from the terminal, and keys
//! reach it by themselves; what is ended then is the command and what it started, one generation after the
//! other.

mod supervisor;

use crate::forked::{self, ForkChannel};
use crate::terminal;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};
use supervisor::NOTHING_LEFT;

/// A running application. Dropping it ends it, as [`Application::end`] does.
#[derive(Debug)]
pub struct Application {
    /// The process between: its own descriptors are those of the application.
    supervisor: Child,
    channel: ForkChannel,
    status: Option<ExitStatus>,
    /// Nothing that it started is left, after it was told to end.
    nothing_left: bool,
    /// Whether it has a process group of its own.
    apart: bool,
    ending: Option<Ending>,
}

/// It was told to end.
#[derive(Debug)]
struct Ending {
    since: Instant,
    stage: EndingStep,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EndingStep {
    Told,
    Terminated,
    Killed,
}

impl Application {
    /// Starts it. Should longwire be killed, it and all that it started are ended.
    ///
    /// # Errors
    /// When the system cannot.
    pub fn start(command: &mut Command) -> io::Result<Self> {
        Self::start_in(command, !is_at_terminal())
    }

    fn start_in(command: &mut Command, apart: bool) -> io::Result<Self> {
        if apart {
            command.process_group(0);
        }
        let (mut supervisor, channel) =
            forked::spawn(command, move |channel| supervisor::stand_between(channel, apart))?;
        if channel.receive(Some(REPORTED)).is_none() {
            supervisor.kill().ok();
            supervisor.wait().ok();
            return Err(io::Error::other("the process between longwire and it was killed"));
        }
        channel.started();
        Ok(Self {
            supervisor,
            channel,
            status: None,
            nothing_left: false,
            apart,
            ending: None,
        })
    }

    /// Whether it is at longwire's terminal, where keys such as Ctrl-C reach it by themselves.
    pub const fn shares_terminal(&self) -> bool {
        !self.apart
    }

    /// Tells it to end with `signal`; a second time, a moment later, ends it without asking. At a terminal
    /// Ctrl-C has reached it already.
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
            stage: EndingStep::Told,
        });
        if self.apart || signal != libc::SIGINT {
            self.pass(signal, EndingStep::Told);
        } else {
            self.nothing_left = true;
        }
    }

    /// How it ended; `None` while it runs, or while something that it started still ends after it was told
    /// to. To be asked again and again: it also makes sure that the time to end is kept.
    ///
    /// # Errors
    /// When the system does not report it.
    pub fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        self.take_reports()?;
        let Some(ending) = &self.ending else {
            return self.released();
        };
        let (elapsed, stage) = (ending.since.elapsed(), ending.stage);
        if self.status.is_some() && (stage == EndingStep::Killed || self.nothing_left) {
            return self.released();
        }
        if elapsed >= GRACE + TERMINATED_GRACE && stage != EndingStep::Killed {
            self.pass(libc::SIGKILL, EndingStep::Killed);
        } else if elapsed >= GRACE && stage == EndingStep::Told {
            self.pass(libc::SIGTERM, EndingStep::Terminated);
        }
        Ok(None)
    }

    /// Takes what the process between reports; if that one was killed, the application was ended with it.
    fn take_reports(&mut self) -> io::Result<()> {
        let ended = self.supervisor.try_wait()?;
        while let Some(number) = self.channel.receive(None) {
            match number {
                NOTHING_LEFT => self.nothing_left = true,
                status => self.status = Some(ExitStatus::from_raw(status)),
            }
        }
        if let Some(status) = ended {
            self.status = self.status.or(Some(status));
            self.nothing_left = true;
        }
        Ok(())
    }

    /// Ends the process between when there is a status, which it has no part in any more.
    fn released(&mut self) -> io::Result<Option<ExitStatus>> {
        if self.status.is_some() {
            self.channel.release();
            self.supervisor.wait()?;
        }
        Ok(self.status)
    }

    /// Sends `signal` to it and to all that it started.
    fn pass(&mut self, signal: libc::c_int, stage: EndingStep) {
        if let Some(ending) = &mut self.ending {
            ending.stage = stage;
            self.nothing_left = false;
            self.channel.pass(signal);
        }
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
            thread::sleep(POLL_INTERVAL);
        }
    }
}

/// Whether this process may use a terminal: it is in its foreground, where all that is started along with it
/// should be.
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
/// Within this time a process that was just made reports its number, on the busiest machine.
const REPORTED: Duration = Duration::from_secs(60);
/// How often it is checked whether it has ended, where nothing else checks.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

#[cfg(test)]
mod tests;
