//! Sends signals to processes, and blocks them in threads.

use rustix::process::{Pid, Signal, kill_process, kill_process_group, test_kill_process_group};
use std::mem::MaybeUninit;

/// Ignores a process that has ended.
pub fn send(process: libc::pid_t, signal: libc::c_int) {
    if let (Some(process), Some(signal)) = (Pid::from_raw(process), Signal::from_named_raw(signal)) {
        kill_process(process, signal).ok();
    }
}

/// Ignores a group that has ended.
pub fn send_to_group(group: libc::pid_t, signal: libc::c_int) {
    if let (Some(group), Some(signal)) = (Pid::from_raw(group), Signal::from_named_raw(signal)) {
        kill_process_group(group, signal).ok();
    }
}

pub fn has_group(group: libc::pid_t) -> bool {
    Pid::from_raw(group).is_some_and(|group| test_kill_process_group(group).is_ok())
}

pub fn block_all_signals() {
    change_mask(libc::SIG_BLOCK, &set_of(None));
}

/// Returns the previous mask.
pub fn hold_all_signals() -> UsualSignals {
    UsualSignals(change_mask(libc::SIG_BLOCK, &set_of(None)))
}

/// Signals to be received one by one, which are unblocked when dropped.
#[derive(Debug)]
pub struct HeldSignals {
    held: libc::sigset_t,
    before: libc::sigset_t,
}

#[derive(Debug, Clone, Copy)]
pub struct ReceivedSignal {
    pub signal: libc::c_int,
    /// Sent by a process, not by the kernel (as for terminal keys).
    pub was_sent: bool,
    /// 0 if outside of the pid namespace.
    pub sender: libc::pid_t,
}

impl HeldSignals {
    /// Applies to this thread and those that it starts. Ends of children are reported, even if the
    /// parent of this process had them ignored.
    pub fn hold(signals: &[libc::c_int]) -> Self {
        heed_children();
        let held = set_of(Some(signals));
        let before = change_mask(libc::SIG_BLOCK, &held);
        Self { held, before }
    }

    pub fn next(&self) -> ReceivedSignal {
        loop {
            // SAFETY: all-zero is a valid siginfo_t for the kernel to fill, and the set is initialised. The
            // sender is in the fields that signals sent by processes have.
            let came = unsafe {
                let mut info: libc::siginfo_t = std::mem::zeroed();
                let signal = libc::sigwaitinfo(&raw const self.held, &raw mut info);
                let was_sent = info.si_code <= 0;
                ReceivedSignal {
                    signal,
                    was_sent,
                    sender: if was_sent { info.si_pid() } else { 0 },
                }
            };
            if came.signal > 0 {
                return came;
            }
        }
    }

    /// For a process before exec.
    pub fn release(&self) {
        self.usual().apply();
    }

    pub const fn usual(&self) -> UsualSignals {
        UsualSignals(self.before)
    }
}

impl Drop for HeldSignals {
    fn drop(&mut self) {
        self.release();
    }
}

/// Enables reports of ended children. Does not set the usual effect again: sigaction(2) would
/// discard the pending report of an ended child that was not waited for.
///
/// Some supervisors start programs with SIGCHLD ignored, and the kernel then keeps no status of a
/// child. Call it before any thread or child is started.
pub fn heed_children() {
    // SAFETY: the first call only writes into `current`, for which all-zero is valid; the usual effect is no
    // function of this process.
    unsafe {
        let mut current: libc::sigaction = std::mem::zeroed();
        libc::sigaction(libc::SIGCHLD, std::ptr::null(), &raw mut current);
        if current.sa_sigaction == libc::SIG_IGN {
            libc::signal(libc::SIGCHLD, libc::SIG_DFL);
        }
    }
}

#[derive(Clone, Copy)]
pub struct UsualSignals(libc::sigset_t);

impl UsualSignals {
    /// One system call, allowed between fork and exec.
    pub fn apply(&self) {
        change_mask(libc::SIG_SETMASK, &self.0);
    }
}

/// With `None`, all signals.
pub(crate) fn set_of(signals: Option<&[libc::c_int]>) -> libc::sigset_t {
    let mut set = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: all-zero is a valid set; both calls only write into it.
    unsafe {
        match signals {
            None => {
                libc::sigfillset(set.as_mut_ptr());
            }
            Some(signals) => {
                for signal in signals {
                    libc::sigaddset(set.as_mut_ptr(), *signal);
                }
            }
        }
        set.assume_init()
    }
}

/// Returns the previous mask.
fn change_mask(how: libc::c_int, set: &libc::sigset_t) -> libc::sigset_t {
    let mut before = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: the call reads one set and writes the other; all-zero is a valid one, should it fail.
    unsafe {
        libc::pthread_sigmask(how, std::ptr::from_ref(set), before.as_mut_ptr());
        before.assume_init()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As in a sandbox, where the program may end at once.
    #[test]
    fn a_child_that_ended_before_signals_are_held_again_is_reported() {
        // SAFETY: the child has one thread, takes no memory and ends with _exit.
        let ended = unsafe {
            let child = libc::fork();
            if child == 0 {
                libc::alarm(30);
                let _first = HeldSignals::hold(&[libc::SIGCHLD]);
                let grandchild = libc::fork();
                if grandchild == 0 {
                    libc::_exit(0);
                }
                let mut info: libc::siginfo_t = std::mem::zeroed();
                libc::waitid(libc::P_ALL, 0, &raw mut info, libc::WEXITED | libc::WNOWAIT);
                let came = HeldSignals::hold(&[libc::SIGCHLD]).next();
                libc::_exit(i32::from(came.signal != libc::SIGCHLD));
            }
            let mut status = 0;
            libc::waitpid(child, &raw mut status, 0);
            status
        };
        assert_eq!(ended, 0, "it waits for a report that was thrown away");
    }
}
