use super::Error;
use client::session::Deadline;
use std::process::{Child, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};
use sys::error::OsError;
use sys::{program, signals};

/// The group of the leader `child` is killed at the deadline, or when the run is stopped.
///
/// # Errors
/// Fails with [`Error::TimedOut`] or [`Error::Stopped`], with the child reaped.
pub fn wait(
    mut child: Child,
    deadline: &Deadline,
    stop: &AtomicBool,
) -> Result<(ExitStatus, Instant), Error> {
    let id = child.id();
    let (ended, at, killed) = std::thread::scope(|scope| {
        // No message is sent: the sender is dropped when the child has ended.
        let (over, is_over) = sync_channel::<()>(0);
        let guard = scope.spawn(move || guard(id, deadline, stop, &is_over));
        let ended = program::wait_without_reaping(id);
        let at = Instant::now();
        drop(over);
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

fn guard(id: u32, deadline: &Deadline, stop: &AtomicBool, is_over: &Receiver<()>) -> Result<(), Error> {
    loop {
        let left = deadline.left();
        let pause = left
            .as_ref()
            .map_or(Duration::ZERO, |left| POLL_INTERVAL.min(*left));
        if is_over.recv_timeout(pause) == Err(RecvTimeoutError::Disconnected) {
            return Ok(());
        }
        let stopped = stop.load(Ordering::Relaxed).then_some(Error::Stopped);
        if let Some(reason) = left.err().map(Error::from).or(stopped) {
            // The leader is not reaped before this thread ends, so the number cannot belong to
            // another group.
            signals::send_to_group(id as i32, libc::SIGKILL);
            return Err(reason);
        }
    }
}

const POLL_INTERVAL: Duration = Duration::from_millis(50);
