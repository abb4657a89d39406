//! Threads that others' times depend on.

/// Asks for wake-ups without slack, and before other threads where the system allows that (root). Elsewhere
/// a busy machine makes this thread late, which self-checks show.
pub fn become_realtime() {
    // SAFETY: integers, and one valid sched_param; each call concerns this thread alone and may fail without harm.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong);
        let mut parameter: libc::sched_param = std::mem::zeroed();
        parameter.sched_priority = 1;
        let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
        if libc::sched_setscheduler(0, policy, &raw const parameter) < 0 {
            libc::setpriority(libc::PRIO_PROCESS, 0, -20);
        }
    }
}
