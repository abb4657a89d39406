//! The first process of the sandbox's pid namespace, single-threaded between fork and exec: it
//! must not print, and ends only by `_exit`.

use super::process::{self, Again, PASSED_ON};
use super::rights;
use std::os::fd::OwnedFd;
use sys::OsError;
use sys::signals::{self, HeldSignals};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SetupStep {
    Namespaces,
    Identity,
    Mounts,
    Rights,
    Start,
}

/// A stage and an error number.
pub(super) const REPORT_BYTES: usize = 5;

const STAGES: [(SetupStep, &str); 5] = [
    (SetupStep::Namespaces, "make namespaces"),
    (SetupStep::Identity, "set up a user namespace"),
    (SetupStep::Mounts, "keep its mounts apart from the system's"),
    (SetupStep::Rights, "keep its rights in the user namespace"),
    (SetupStep::Start, "start itself again inside its namespaces"),
];

impl SetupStep {
    /// As in "longwire could not ...".
    pub(super) fn operation(self) -> &'static str {
        STAGES
            .iter()
            .find(|(stage, _)| *stage == self)
            .map_or("make namespaces", |(_, operation)| operation)
    }

    fn report(self, reason: OsError, to: &OwnedFd) -> ! {
        let mut bytes = [self as u8, 0, 0, 0, 0];
        bytes[1..].copy_from_slice(&reason.0.to_ne_bytes());
        // Fails only if no process is left to inform.
        rustix::io::write(to, &bytes).ok();
        process::exit_now(2)
    }

    pub(super) fn parse(bytes: [u8; REPORT_BYTES]) -> (Self, OsError) {
        let [stage, number @ ..] = bytes;
        let stage = STAGES
            .iter()
            .find(|(known, _)| *known as u8 == stage)
            .map_or(Self::Namespaces, |(known, _)| *known);
        (stage, OsError(i32::from_ne_bytes(number)))
    }
}

/// Sets up the namespaces (`ids` of a new user namespace), and starts the program.
pub(super) fn run(
    again: &Again,
    ids: Option<(u32, u32)>,
    held: &HeldSignals,
    reports: OwnedFd,
    outer: &OwnedFd,
) -> ! {
    if let Some(ids) = ids
        && let Err(error) = rights::keep_identity(ids)
    {
        SetupStep::Identity.report(OsError::from_io_error(&error), &reports);
    }
    if let Err(reason) = rights::keep_mounts_here() {
        SetupStep::Mounts.report(reason, &reports);
    }
    // Refused where parts of the old one are hidden, as in containers: then that stays.
    let _ = rights::mount_proc();
    if ids.is_some()
        && let Err(reason) = rights::keep_rights_over_exec()
    {
        SetupStep::Rights.report(reason, &reports);
    }
    if let Err(reason) = process::die_with_parent() {
        SetupStep::Start.report(reason, &reports);
    }
    // The outer process may have died before this request.
    if process::is_hung_up(outer) {
        process::exit_now(128 + libc::SIGKILL as u8);
    }
    match process::fork(0) {
        Err(reason) => SetupStep::Start.report(reason, &reports),
        Ok(0) => {
            held.release();
            let reason = again.exec();
            SetupStep::Start.report(reason, &reports)
        }
        Ok(inner) => {
            process::set_name(c"longwire init");
            // The outer process reads until all holders of this end are gone.
            drop(reports);
            attend(inner)
        }
    }
}

/// Reaps children and forwards signals until the inner process ends; the kernel then kills the rest
/// of the pid namespace.
fn attend(inner: libc::pid_t) -> ! {
    let held = HeldSignals::hold(&PASSED_ON);
    loop {
        let came = held.next();
        if came.signal == libc::SIGCHLD {
            while let Some((pid, status)) = process::reap(None) {
                if pid == inner {
                    process::exit_now(status);
                }
            }
        } else if came.was_sent && came.sender == 0 {
            signals::send(inner, came.signal);
        }
    }
}
