//! Reports whether the observation is alive.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The observer reports that it is alive; readers get the time since then.
#[derive(Debug, Clone)]
pub struct Health(Arc<State>);

#[derive(Debug)]
struct State {
    began: Instant,
    /// In milliseconds after `began`.
    alive: AtomicU64,
    trouble: Mutex<Option<String>>,
}

impl Default for Health {
    fn default() -> Self {
        Self(Arc::new(State {
            began: Instant::now(),
            alive: AtomicU64::new(0),
            trouble: Mutex::new(None),
        }))
    }
}

impl Health {
    pub fn alive(&self) {
        let passed = u64::try_from(self.0.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.0.alive.store(passed, Ordering::Relaxed);
    }

    /// `None` if all is well again.
    pub fn set_trouble(&self, trouble: Option<String>) {
        *self.0.trouble.lock().unwrap_or_else(PoisonError::into_inner) = trouble;
    }

    /// Checks the state of the observation.
    ///
    /// # Errors
    /// If the observation has not reported for longer than it may be busy, or has a problem.
    pub fn state(&self) -> Result<(), String> {
        let alive = Duration::from_millis(self.0.alive.load(Ordering::Relaxed));
        let silent = self.0.began.elapsed().saturating_sub(alive);
        if silent > TIMEOUT {
            return Err(format!(
                "the observation has not moved for {} s",
                silent.as_secs()
            ));
        }
        let trouble = self.0.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        trouble.clone().map_or(Ok(()), Err)
    }
}

/// The observation reports several times a second.
const TIMEOUT: Duration = Duration::from_secs(15);
