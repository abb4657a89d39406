//! Signals.

/// Keeps every signal from this thread: the process has others that take them.
pub fn block_all_signals() {
    // SAFETY: an all-zero signal set is a valid one; the pointers are valid for the calls.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, std::ptr::null_mut());
    }
}
