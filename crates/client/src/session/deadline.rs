//! When waiting is over.

use super::SessionError;
use std::time::{Duration, Instant};

/// When what is in progress has failed for taking too long.
#[derive(Debug, Clone, Copy)]
pub struct Deadline {
    at: Instant,
    timeout: Duration,
}

impl Deadline {
    /// This long from now.
    pub fn after(timeout: Duration) -> Self {
        let now = Instant::now();
        Self {
            at: now.checked_add(timeout).unwrap_or(now + MAX_TIMEOUT),
            timeout,
        }
    }

    /// How long was to be waited in all.
    pub const fn timeout(&self) -> Duration {
        self.timeout
    }

    /// The rest of it.
    pub fn left(&self) -> Result<Duration, SessionError> {
        match self.at.checked_duration_since(Instant::now()) {
            Some(left) if !left.is_zero() => Ok(left),
            _ => Err(SessionError::TimedOut { after: self.timeout }),
        }
    }
}

/// A timeout beyond what the clock can represent.
const MAX_TIMEOUT: Duration = Duration::from_secs(365 * 24 * 3600);
