//! A registry that one thread fills and others read.

use crate::family::SeriesFamily;
use crate::registry::{NameLimits, Registry};
use model::Timestamp;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A [`Registry`] for several threads; clones are the same one.
#[derive(Debug, Clone)]
pub struct SharedRegistry(Arc<Mutex<Registry>>);

impl SharedRegistry {
    /// An empty one; see [`Registry::new`].
    pub fn new(limits: NameLimits, began: Timestamp) -> Self {
        Self(Arc::new(Mutex::new(Registry::new(limits, began))))
    }

    /// It alone, until what is returned is dropped: for several facts at a time.
    pub fn lock(&self) -> MutexGuard<'_, Registry> {
        // What a thread that panicked has left is as good as it was.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All series as they are now.
    pub fn families(&self) -> Vec<SeriesFamily> {
        self.lock().families()
    }
}
