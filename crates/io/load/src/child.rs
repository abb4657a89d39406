use super::Error;
use client::session::Deadline;
use std::os::fd::AsFd;
use std::process::{Child, ExitStatus};
use std::time::Instant;
use sys::StopToken;
use sys::error::OsError;
use sys::poller::Waker;
use sys::{program, signals};

/// The group of the leader `child` is killed at the deadline, or when the run is stopped.
///
/// # Errors
/// Fails with [`Error::TimedOut`] or [`Error::Stopped`], with the child reaped.
pub fn wait(mut child: Child, deadline: &Deadline, stop: &StopToken) -> Result<(ExitStatus, Instant), Error> {
    let id = child.id();
    let over = Waker::new().inspect_err(|_| {
        signals::send_to_group(id as i32, libc::SIGKILL);
        child.wait().ok();
    })?;
    let (ended, at, killed) = std::thread::scope(|scope| {
        let guard = scope.spawn(|| guard(id, deadline, stop, &over));
        let ended = program::wait_without_reaping(id);
        let at = Instant::now();
        over.wake();
        (ended, at, guard.join().unwrap_or(Err(Error::Stopped)))
    });
    // Reaped only now: as long as the guard could kill, the process number was still the child's.
    let status = child.wait().map_err(|error| Error::Broken {
        reason: OsError::from_io_error(&error),
    })?;
    ended.map_err(|reason| Error::Broken { reason })?;
    killed?;
    Ok((status, at))
}

fn guard(id: u32, deadline: &Deadline, stop: &StopToken, over: &Waker) -> Result<(), Error> {
    loop {
        let left = deadline.left();
        let longest = left.as_ref().copied().unwrap_or_default();
        let [ended] = stop.until_readable([Some(over.as_fd())], longest);
        if ended {
            return Ok(());
        }
        let stopped = stop.is_stopped().then_some(Error::Stopped);
        if let Some(reason) = left.err().map(Error::from).or(stopped) {
            // The leader is not reaped before this thread ends, so the number cannot belong to
            // another group.
            signals::send_to_group(id as i32, libc::SIGKILL);
            return Err(reason);
        }
    }
}
