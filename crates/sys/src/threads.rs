//! Threads.

use crate::error::{LiveError, OsError};
use std::thread::JoinHandle;

/// Starts a thread of this name, which the system cuts after 15 bytes.
///
/// # Errors
/// When the system has no thread left.
pub fn spawn(name: String, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, LiveError> {
    std::thread::Builder::new()
        .name(name)
        .spawn(work)
        .map_err(|error| LiveError::System {
            operation: "start a thread",
            reason: OsError::from_io_error(&error),
        })
}
