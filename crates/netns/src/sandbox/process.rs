//! The system calls that make, mark and watch the processes of a sandbox.

use std::ffi::{CString, OsString};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use sys::{LiveError, OsError};

/// Set for the inner process alone, which removes it again: its children may enter sandboxes of their own.
const MARK: &str = "LONGWIRE_INSIDE";

/// Whether this is the inner process.
///
/// The mark alone could be somebody's environment; the parent of an inner process is the first of its namespace.
pub(super) fn is_inside() -> bool {
    if std::env::var_os(MARK).is_none() {
        return false;
    }
    // SAFETY: `enter` is documented to be called before any thread is started, so nobody reads the environment now.
    unsafe { std::env::remove_var(MARK) };
    // SAFETY: getppid takes nothing and cannot fail.
    unsafe { libc::getppid() == 1 }
}

/// The present program with its arguments and its marked environment, ready for `execve`: nothing is left to allocate
/// between fork and exec.
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
            arguments: std::env::args_os().filter_map(terminated).collect(),
            environment,
        }
    }

    /// Replaces this process; returns only when that fails.
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

/// Arguments and environment hold no zero byte: they came from the kernel.
fn terminated(text: OsString) -> Option<CString> {
    CString::new(text.into_vec()).ok()
}

/// Forks into new namespaces (`CLONE_NEW...`, 0 for none). Gives 0 in the child, which is the only thread of its
/// process.
pub(super) fn fork(namespaces: libc::c_int) -> Result<libc::pid_t, OsError> {
    let flags = libc::c_long::from(namespaces | libc::SIGCHLD);
    // SAFETY: without CLONE_VM and with a null stack this is fork: the child has its own copy of everything. Callers are
    // single-threaded, so no lock is held by a thread that the child does not have.
    let pid = unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) };
    match libc::pid_t::try_from(pid) {
        Ok(pid) if pid >= 0 => Ok(pid),
        _ => Err(OsError::last()),
    }
}

/// Asks the kernel to kill this process when its parent ends.
pub(super) fn die_with_parent() -> Result<(), OsError> {
    // SAFETY: an integer argument; touches no memory of this process.
    match unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong) } {
        0 => Ok(()),
        _ => Err(OsError::last()),
    }
}

/// The name under which `ps` shows this process.
pub(super) fn set_name(name: &std::ffi::CStr) {
    // SAFETY: a terminated string, of which the kernel copies 16 bytes at most. A failure leaves the old name.
    unsafe { libc::prctl(libc::PR_SET_NAME, name.as_ptr()) };
}

/// Ends this process without running what the parent's copy will run.
pub(super) fn exit_now(status: u8) -> ! {
    // SAFETY: does not return and touches no memory.
    unsafe { libc::_exit(i32::from(status)) }
}

/// Sends `signal` to `pid`. The process is a child not yet waited for, so its number is still its own.
pub(super) fn send(pid: libc::pid_t, signal: libc::c_int) {
    // SAFETY: two integers.
    unsafe { libc::kill(pid, signal) };
}

/// A pipe whose ends close with exec: reading end, writing end.
pub(super) fn pipe() -> Result<(OwnedFd, OwnedFd), LiveError> {
    let mut ends = [0; 2];
    // SAFETY: room for two descriptors.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } < 0 {
        return Err(LiveError::System {
            operation: "create a pipe",
            reason: OsError::last(),
        });
    }
    // SAFETY: two new descriptors that nobody else owns.
    Ok(unsafe { (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])) })
}

/// Whether nobody holds the writing end of the pipe any more.
pub(super) fn is_hung_up(reading: &OwnedFd) -> bool {
    let mut poll = libc::pollfd {
        fd: reading.as_raw_fd(),
        events: 0,
        revents: 0,
    };
    // SAFETY: one valid entry.
    unsafe { libc::poll(&raw mut poll, 1, 0) };
    poll.revents & libc::POLLHUP != 0
}

/// Signals held back from their usual effect, to be taken one by one; as they were again when dropped.
#[derive(Debug)]
pub(super) struct HeldSignals {
    held: libc::sigset_t,
    before: libc::sigset_t,
}

/// A signal that came.
#[derive(Debug, Clone, Copy)]
pub(super) struct Came {
    pub(super) signal: libc::c_int,
    /// A process sent it, and not the kernel (as it does for keys of the terminal).
    pub(super) was_sent: bool,
    /// The sender's number; 0 when it is outside of the pid namespace.
    pub(super) sender: libc::pid_t,
}

impl HeldSignals {
    /// Holds `signals` back in this thread and in those that it will start.
    pub(super) fn hold(signals: &[libc::c_int]) -> Self {
        // SAFETY: all-zero is a valid set, and sigemptyset makes it the empty one; all pointers are to locals.
        unsafe {
            // Whoever started this process may have had its own children ignored.
            libc::signal(libc::SIGCHLD, libc::SIG_DFL);
            let mut held: libc::sigset_t = std::mem::zeroed();
            let mut before: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut held);
            for signal in signals {
                libc::sigaddset(&raw mut held, *signal);
            }
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const held, &raw mut before);
            Self { held, before }
        }
    }

    /// Waits for the next one.
    pub(super) fn next(&self) -> Came {
        loop {
            // SAFETY: all-zero is a valid siginfo_t for the kernel to fill.
            let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
            // SAFETY: the set is initialised, `info` is valid for the call.
            let signal = unsafe { libc::sigwaitinfo(&raw const self.held, &raw mut info) };
            if signal > 0 {
                let was_sent = info.si_code <= 0;
                // SAFETY: the sender is in the fields that signals sent by processes have.
                let sender = if was_sent { unsafe { info.si_pid() } } else { 0 };
                return Came {
                    signal,
                    was_sent,
                    sender,
                };
            }
        }
    }

    /// As before, for a process that is about to become another program.
    pub(super) fn release(&self) {
        self.usual().apply();
    }

    /// What [`HeldSignals::release`] goes back to.
    pub(super) const fn usual(&self) -> UsualSignals {
        UsualSignals(self.before)
    }
}

/// The signals that were held back before any were.
#[derive(Clone, Copy)]
pub(super) struct UsualSignals(libc::sigset_t);

impl UsualSignals {
    /// Holds these back in this thread, and no others.
    pub(super) fn apply(&self) {
        // SAFETY: the set was filled by the kernel.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, std::ptr::null_mut()) };
    }
}

impl Drop for HeldSignals {
    fn drop(&mut self) {
        self.release();
    }
}

/// A child that has ended: its number, and its status as shells count (128 + n for signal n).
pub(super) fn reap(child: libc::pid_t) -> Option<(libc::pid_t, u8)> {
    let mut status = 0;
    // SAFETY: `status` is valid for the call.
    let pid = unsafe { libc::waitpid(child, &raw mut status, libc::WNOHANG) };
    if pid <= 0 {
        return None;
    }
    let code = if libc::WIFSIGNALED(status) {
        128 + libc::WTERMSIG(status)
    } else {
        libc::WEXITSTATUS(status)
    };
    Some((pid, u8::try_from(code).unwrap_or(u8::MAX)))
}

/// The terminal's foreground group when it is this process's own.
pub(super) fn own_foreground() -> Option<libc::pid_t> {
    // SAFETY: integers only.
    unsafe {
        let group = libc::getpgrp();
        (libc::tcgetpgrp(libc::STDIN_FILENO) == group).then_some(group)
    }
}

/// Makes `group` the terminal's foreground group again: an interactive shell inside cannot name it, because it lies
/// outside of its pid namespace.
pub(super) fn restore_foreground(group: libc::pid_t) {
    let _held = HeldSignals::hold(&[libc::SIGTTOU]);
    // SAFETY: integers only. A terminal that is gone needs no foreground group.
    unsafe { libc::tcsetpgrp(libc::STDIN_FILENO, group) };
}

/// A file in memory with this content, by a path that is valid in the next programs started from here: its descriptor stays
/// open in them.
pub(super) fn file_for_child(content: &str) -> std::io::Result<std::path::PathBuf> {
    use std::io::Write;
    // SAFETY: a terminated string and an integer; the result is checked before it is owned.
    let fd = unsafe { libc::memfd_create(c"longwire".as_ptr(), 0) };
    if fd < 0 {
        return Err(std::io::Error::last_os_error());
    }
    // SAFETY: a new descriptor that nobody else owns.
    let mut file = std::fs::File::from(unsafe { OwnedFd::from_raw_fd(fd) });
    file.write_all(content.as_bytes())?;
    // The programs started later need it; it goes with this process and them.
    std::mem::forget(file);
    Ok(format!("/dev/fd/{fd}").into())
}
