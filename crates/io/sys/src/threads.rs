//! Starts threads with names.

use crate::error::{LiveError, OsError};
use std::thread::JoinHandle;

/// The system truncates `name` after 15 bytes.
pub fn spawn(name: String, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, LiveError> {
    std::thread::Builder::new()
        .name(name)
        .spawn(work)
        .map_err(|error| LiveError::System {
            operation: "start a thread",
            reason: OsError::from_io_error(&error),
        })
}
