//! Freed memory of this process.

/// Keeps freed memory for reuse in short work with large buffers. A process that runs long should
/// return memory to the system.
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

/// Larger than any buffer of a run, smaller than the allocator's limit for the memory of its
/// threads (32 MiB).
#[cfg(target_env = "gnu")]
const KEPT: libc::c_int = 32 * 1024 * 1024;
