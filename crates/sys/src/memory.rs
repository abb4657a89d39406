//! Memory that this process has given back.

/// Has memory that is freed be used again for what comes, and not returned to the system and requested again:
/// for work that fills and empties large buffers all the time, and then ends. A process that goes on for long
/// should return what it does not need.
pub fn keep_freed() {
    #[cfg(target_env = "gnu")]
    for (parameter, bytes) in [(libc::M_MMAP_THRESHOLD, KEPT), (libc::M_TRIM_THRESHOLD, KEPT)] {
        // SAFETY: sets a number that the allocator reads when it is asked for memory; one that it refuses
        // changes nothing.
        unsafe {
            libc::mallopt(parameter, bytes);
        }
    }
}

/// Larger than any buffer of a run, smaller than what the allocator takes (32 MiB) as the limit of its
/// threads' own memory.
#[cfg(target_env = "gnu")]
const KEPT: libc::c_int = 32 * 1024 * 1024;
