//! System calls that make, mark and watch the processes of a sandbox.

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{Pid, Signal, WaitOptions, getppid, set_parent_process_death_signal, waitpid};
use rustix::termios::tcsetpgrp;
use std::ffi::{CString, OsString};
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, IntoRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::time::Duration;
use sys::signals::HeldSignals;
use sys::terminal::foreground_group;
use sys::wait::{PollFlags, until_ready};
use sys::{LiveError, OsError};

/// Forwarded to the inner process.
pub(super) const PASSED_ON: [libc::c_int; 7] = [
    libc::SIGCHLD,
    libc::SIGINT,
    libc::SIGTERM,
    libc::SIGHUP,
    libc::SIGQUIT,
    libc::SIGUSR1,
    libc::SIGUSR2,
];

/// Set for the inner process only, which removes it: children may enter sandboxes too.
pub const MARK: &str = "LONGWIRE_INSIDE";

/// Checks the parent too, since the mark alone could be set in the user's environment.
pub(super) fn is_inside() -> bool {
    if std::env::var_os(MARK).is_none() {
        return false;
    }
    // SAFETY: `enter` is documented to be called before any thread is started, so no other thread reads the
    // environment now.
    unsafe { std::env::remove_var(MARK) };
    getppid().is_some_and(Pid::is_init)
}

/// Prepared for `execve` without allocation between fork and exec.
pub(super) struct Again {
    program: CString,
    arguments: Vec<CString>,
    environment: Vec<CString>,
}

impl Again {
    pub(super) fn prepared() -> Self {
        let program = std::env::current_exe()
            .ok()
            .filter(|path| path.exists())
            .unwrap_or_else(|| PathBuf::from("/proc/self/exe"));
        let mut environment: Vec<CString> = std::env::vars_os()
            .filter_map(|(name, value)| {
                let mut entry = name;
                entry.push("=");
                entry.push(value);
                terminated(entry)
            })
            .collect();
        environment.extend(terminated(format!("{MARK}=1").into()));
        Self {
            program: terminated(program.into_os_string()).unwrap_or_default(),
            arguments: sys::arguments::given()
                .iter()
                .cloned()
                .filter_map(terminated)
                .collect(),
            environment,
        }
    }

    /// Returns only on failure.
    pub(super) fn exec(&self) -> OsError {
        let pointers = |words: &[CString]| {
            let mut list: Vec<*const libc::c_char> = words.iter().map(|word| word.as_ptr()).collect();
            list.push(std::ptr::null());
            list
        };
        let (arguments, environment) = (pointers(&self.arguments), pointers(&self.environment));
        // SAFETY: both lists end with a null pointer and point to strings that live longer than the call.
        unsafe { libc::execve(self.program.as_ptr(), arguments.as_ptr(), environment.as_ptr()) };
        OsError::last()
    }
}

/// Text from the kernel contains no zero byte.
fn terminated(text: OsString) -> Option<CString> {
    CString::new(text.into_vec()).ok()
}

/// Forks into new namespaces (`CLONE_NEW...`, 0 for none). Returns 0 in the child.
pub(super) fn fork(namespaces: libc::c_int) -> Result<libc::pid_t, OsError> {
    let flags = libc::c_long::from(namespaces | libc::SIGCHLD);
    // SAFETY: without CLONE_VM and with a null stack this is fork: the child has its own copy of everything.
    // Callers are single-threaded, so no lock is held by a thread that the child does not have.
    let pid = unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) };
    match libc::pid_t::try_from(pid) {
        Ok(pid) if pid >= 0 => Ok(pid),
        _ => Err(OsError::last()),
    }
}

pub(super) fn die_with_parent() -> Result<(), OsError> {
    Ok(set_parent_process_death_signal(Some(Signal::KILL))?)
}

pub(super) fn set_name(name: &std::ffi::CStr) {
    rustix::thread::set_name(name).ok();
}

/// Skips destructors and exit handlers.
pub(super) fn exit_now(status: u8) -> ! {
    // SAFETY: does not return and touches no memory.
    unsafe { libc::_exit(i32::from(status)) }
}

/// Close-on-exec, with the reading end first.
pub(super) fn pipe() -> Result<(OwnedFd, OwnedFd), LiveError> {
    let (reading, writing) = std::io::pipe().map_err(|error| LiveError::System {
        operation: "create a pipe",
        reason: OsError::from_io_error(&error),
    })?;
    Ok((reading.into(), writing.into()))
}

pub(super) fn is_hung_up(reading: &OwnedFd) -> bool {
    until_ready(reading.as_fd(), PollFlags::empty(), Duration::ZERO)
}

/// Returns number and shell status (128 + n for signal n) of an ended child.
pub(super) fn reap(child: Option<libc::pid_t>) -> Option<(libc::pid_t, u8)> {
    let child = child.and_then(Pid::from_raw);
    let (pid, status) = waitpid(child, WaitOptions::NOHANG).ok().flatten()?;
    let signal = status.terminating_signal().map(|signal| 128 + signal);
    let code = signal.or(status.exit_status()).unwrap_or(0);
    Some((pid.as_raw_pid(), u8::try_from(code).unwrap_or(u8::MAX)))
}

pub(super) fn own_foreground() -> Option<libc::pid_t> {
    foreground_group(std::io::stdin().as_fd())
}

/// A shell inside cannot, because the group lies outside of its pid namespace.
pub(super) fn restore_foreground(group: libc::pid_t) {
    let _held = HeldSignals::hold(&[libc::SIGTTOU]);
    // Fails for a terminal that is gone; a group outside has no number.
    if let Some(group) = Pid::from_raw(group) {
        tcsetpgrp(std::io::stdin(), group).ok();
    }
}

/// Its path is valid in programs started from here, since the descriptor stays open.
pub(super) fn file_for_child(content: &str) -> std::io::Result<PathBuf> {
    let mut file = File::from(memfd_create(c"longwire", MemfdFlags::empty())?);
    file.write_all(content.as_bytes())?;
    Ok(format!("/dev/fd/{}", file.into_raw_fd()).into())
}
