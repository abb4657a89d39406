//! Interruption of a run by the user.

use std::sync::atomic::{AtomicBool, Ordering};

/// The error of a measurement interrupted by the user. Earlier results remain valid.
///
/// As an error it leaves every loop by `?`; the owner of the run checks for it with
/// [`is_interruption`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the user ended the run")]
pub struct Interrupted;

impl Interrupted {
    /// Continues unless the user ends the run.
    ///
    /// # Errors
    /// If `stop` is set.
    pub fn check(stop: &AtomicBool) -> Result<(), Self> {
        match stop.load(Ordering::Relaxed) {
            true => Err(Self),
            false => Ok(()),
        }
    }
}

pub fn is_interruption(error: &anyhow::Error) -> bool {
    error.is::<Interrupted>()
}
