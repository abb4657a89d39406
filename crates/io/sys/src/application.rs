//! The application that the user runs through longwire, ended with all its descendants even if
//! longwire is killed (`supervisor`).
//!
//! Away from a terminal it gets its own process group. At a terminal it stays in longwire's group,
//! like a shell pipeline, so that it may read from the terminal and receive keys. Then the command
//! and its descendants are ended, one generation after the other.

mod supervisor;

use crate::StopToken;
use crate::forked::{self, ForkChannel};
use crate::terminal;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};
use supervisor::NOTHING_LEFT;

/// Ends when dropped, as by [`Application::end`].
#[derive(Debug)]
pub struct Application {
    /// It has the application's descriptors.
    supervisor: Child,
    channel: ForkChannel,
    status: Option<ExitStatus>,
    nothing_left: bool,
    apart: bool,
    ending: Option<Ending>,
}

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
    /// If longwire is killed, the application and its descendants are ended.
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

    /// Whether it is at longwire's terminal, which sends it keys such as Ctrl-C directly.
    pub const fn shares_terminal(&self) -> bool {
        !self.apart
    }

    /// A second call, a moment later, kills it. At a terminal it has already received Ctrl-C.
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

    /// Returns `None` while it or its descendants run. Must be called repeatedly, since it also
    /// enforces the grace period.
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

    /// Waits until [`Application::ended`] has something to do, or `stop` comes.
    pub fn wait(&self, stop: &StopToken) {
        let due = self.ending.as_ref().map_or(A_DAY, |ending| {
            let due = match ending.stage {
                EndingStep::Told => GRACE,
                EndingStep::Terminated => GRACE + TERMINATED_GRACE,
                EndingStep::Killed => A_DAY,
            };
            due.saturating_sub(ending.since.elapsed())
        });
        stop.until_readable([Some(self.channel.as_fd())], due);
    }

    /// Readable when [`Application::ended`] has something to do, but for the grace period.
    pub fn reports(&self) -> BorrowedFd<'_> {
        self.channel.as_fd()
    }

    /// If the supervisor was killed, the application ended with it.
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

    fn released(&mut self) -> io::Result<Option<ExitStatus>> {
        if self.status.is_some() {
            self.channel.release();
            self.supervisor.wait()?;
        }
        Ok(self.status)
    }

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
            self.wait(&StopToken::never());
        }
    }
}

/// Whether this process is in the foreground of a terminal, where its children should be too.
fn is_at_terminal() -> bool {
    let Ok(terminal) = File::open("/dev/tty") else {
        return false;
    };
    terminal::foreground_group(terminal.as_fd()).is_some()
}

/// From the first signal, of any kind, to SIGTERM.
const GRACE: Duration = Duration::from_secs(5);
/// From SIGTERM to SIGKILL.
const TERMINATED_GRACE: Duration = Duration::from_secs(2);
/// A signal this much later counts as another.
const TWICE: Duration = Duration::from_millis(500);
/// A new process reports its number within this time, even on a busy machine.
const REPORTED: Duration = Duration::from_secs(60);
const A_DAY: Duration = Duration::from_secs(24 * 3600);

#[cfg(test)]
mod tests;
