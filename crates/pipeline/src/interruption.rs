//! The user ended a run before it was done.

use std::sync::atomic::{AtomicBool, Ordering};

/// The reason why a measurement has no result: the user ended the run. What was done before counts.
///
/// It travels as an error, so that `?` leaves every loop; the code that owns the run checks for it with
/// [`is_interruption`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the user ended the run")]
pub struct Interrupted;

impl Interrupted {
    /// Whether to continue: `stop` is set when the user ends the run.
    ///
    /// # Errors
    /// When it is set.
    pub fn check(stop: &AtomicBool) -> Result<(), Self> {
        match stop.load(Ordering::Relaxed) {
            true => Err(Self),
            false => Ok(()),
        }
    }
}

/// Whether `error` is that the user ended the run.
pub fn is_interruption(error: &anyhow::Error) -> bool {
    error.is::<Interrupted>()
}
