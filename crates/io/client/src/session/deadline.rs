//! Time limits of waiting.

use super::SessionError;
use std::time::{Duration, Instant};

#[derive(Debug, Clone, Copy)]
pub struct Deadline {
    at: Instant,
    timeout: Duration,
}

impl Deadline {
    pub fn after(timeout: Duration) -> Self {
        let now = Instant::now();
        Self {
            at: now.checked_add(timeout).unwrap_or(now + MAX_TIMEOUT),
            timeout,
        }
    }

    pub const fn timeout(&self) -> Duration {
        self.timeout
    }

    pub fn left(&self) -> Result<Duration, SessionError> {
        match self.at.checked_duration_since(Instant::now()) {
            Some(left) if !left.is_zero() => Ok(left),
            _ => Err(SessionError::TimedOut { after: self.timeout }),
        }
    }
}

const MAX_TIMEOUT: Duration = Duration::from_secs(365 * 24 * 3600);
