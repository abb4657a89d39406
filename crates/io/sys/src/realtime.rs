//! Scheduling of threads with very high or very low priority.

use rustix::process::setpriority_process;
use rustix::thread::set_current_timer_slack;
use std::num::NonZero;

/// Requests wake-ups without slack, and realtime priority if allowed (root). Otherwise a busy
/// machine delays this thread, which self-checks show.
pub fn become_realtime() {
    // Each call concerns this thread alone and may fail without harm.
    set_current_timer_slack(Some(NonZero::<u64>::MIN)).ok();
    if !schedule(libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, 1) {
        setpriority_process(None, -20).ok();
    }
}

/// Gives this thread only unused processor time; returns whether the system allowed it.
pub fn become_idle() -> bool {
    schedule(libc::SCHED_IDLE, 0)
}

fn schedule(policy: libc::c_int, priority: libc::c_int) -> bool {
    // SAFETY: all-zero is a valid sched_param, which the kernel only reads.
    unsafe {
        let mut parameter: libc::sched_param = std::mem::zeroed();
        parameter.sched_priority = priority;
        libc::sched_setscheduler(0, policy, &raw const parameter) == 0
    }
}
