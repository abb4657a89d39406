//! The process that the user started: makes the namespaces, waits, and forwards signals.

use super::init;
use super::process::{self, Again, PASSED_ON};
use super::rights;
use std::io::Read;
use std::os::fd::OwnedFd;
use sys::signals::{self, HeldSignals};
use sys::{LiveError, OsError};

pub(super) fn run() -> Result<u8, LiveError> {
    let foreground = process::own_foreground();
    let held = HeldSignals::hold(&PASSED_ON);
    let (init, report) = start(&held)?;
    if let Some(refused) = first_report(report) {
        while process::reap(Some(init)).is_none() {
            held.next();
        }
        return Err(refused);
    }
    let status = wait(init, &held);
    if let Some(group) = foreground {
        process::restore_foreground(group);
    }
    Ok(status)
}

/// Errors of the first process come through the pipe.
fn start(held: &HeldSignals) -> Result<(libc::pid_t, OwnedFd), LiveError> {
    let again = Again::prepared();
    let (report, reports) = process::pipe()?;
    let (alive, outer_is_alive) = process::pipe()?;
    let ids = rights::own_ids();
    let plain = libc::CLONE_NEWNS | libc::CLONE_NEWPID;
    let attempt = |user_namespace: bool| {
        let user = if user_namespace { libc::CLONE_NEWUSER } else { 0 };
        process::fork(plain | user).map(|pid| (pid, user_namespace))
    };
    let forked = match attempt(!rights::is_root()) {
        // Root without the right to make namespaces, as in most containers, may still make a user
        // namespace.
        Err(OsError(libc::EPERM)) if rights::is_root() => attempt(true),
        result => result,
    };
    let (pid, user_namespace) = forked.map_err(|reason| LiveError::NamespaceRefused {
        operation: init::SetupStep::Namespaces.operation(),
        reason,
    })?;
    if pid == 0 {
        drop(report);
        drop(outer_is_alive);
        let ids = user_namespace.then_some(ids);
        init::run(&again, ids, held, reports, &alive);
    }
    drop(reports);
    // Open while this process lives: the first process of the namespaces checks it.
    std::mem::forget(outer_is_alive);
    Ok((pid, report))
}

/// `None` if the program runs.
fn first_report(report: OwnedFd) -> Option<LiveError> {
    let mut bytes = [0; init::REPORT_BYTES];
    std::fs::File::from(report).read_exact(&mut bytes).ok()?;
    let (stage, reason) = init::SetupStep::parse(bytes);
    Some(LiveError::NamespaceRefused {
        operation: stage.operation(),
        reason,
    })
}

/// Signals of processes are forwarded; terminal keys have already reached the inner processes.
fn wait(init: libc::pid_t, held: &HeldSignals) -> u8 {
    loop {
        let came = held.next();
        if came.signal == libc::SIGCHLD {
            if let Some((_, status)) = process::reap(Some(init)) {
                return status;
            }
        } else if came.was_sent {
            signals::send(init, came.signal);
        }
    }
}
