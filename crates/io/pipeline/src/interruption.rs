//! Interruption of a run by the user.

use sys::StopToken;

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
    pub fn check(stop: &StopToken) -> Result<(), Self> {
        match stop.is_stopped() {
            true => Err(Self),
            false => Ok(()),
        }
    }
}

pub fn is_interruption(error: &anyhow::Error) -> bool {
    error.is::<Interrupted>()
}
