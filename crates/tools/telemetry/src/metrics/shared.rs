//! A registry that one thread fills and others read.

use crate::metrics::family::SeriesFamily;
use crate::metrics::registry::{NameLimits, Registry};
use model::Timestamp;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Clones share one [`Registry`].
#[derive(Debug, Clone)]
pub struct SharedRegistry(Arc<Mutex<Registry>>);

impl SharedRegistry {
    pub fn new(limits: NameLimits, began: Timestamp) -> Self {
        Self(Arc::new(Mutex::new(Registry::new(limits, began))))
    }

    /// Locks it for several facts at a time.
    pub fn lock(&self) -> MutexGuard<'_, Registry> {
        // A panicked thread leaves the data intact.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn families(&self) -> Vec<SeriesFamily> {
        self.lock().families()
    }
}
