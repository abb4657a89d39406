//! Collects all exported series on request.

use crate::exporters::counts::ExportCounts;
use crate::exporters::own;
use crate::metrics::{SeriesFamily, SharedRegistry};
use model::Timestamp;
use std::fmt;
use std::sync::Arc;

/// Families of packets and drops from the observation.
pub type MoreFamilies = Arc<dyn Fn() -> Vec<SeriesFamily> + Send + Sync>;

#[derive(Clone)]
pub struct Exposition {
    registry: SharedRegistry,
    began: Timestamp,
    counts: ExportCounts,
    more: Option<MoreFamilies>,
}

impl fmt::Debug for Exposition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Exposition")
            .field("counts", &self.counts)
            .finish_non_exhaustive()
    }
}

impl Exposition {
    pub fn new(registry: SharedRegistry, began: Timestamp) -> Self {
        Self {
            registry,
            began,
            counts: ExportCounts::default(),
            more: None,
        }
    }

    #[must_use]
    pub fn with_more(self, more: MoreFamilies) -> Self {
        Self {
            more: Some(more),
            ..self
        }
    }

    pub const fn counts(&self) -> &ExportCounts {
        &self.counts
    }

    /// All current series. The observation waits while they are copied: a few milliseconds for the
    /// usual number of names.
    pub fn families(&self) -> Vec<SeriesFamily> {
        let since = self.began.as_nanos();
        let mut all = self.registry.families();
        all.extend(self.counts.families(since));
        all.extend(own::families(since));
        if let Some(more) = &self.more {
            all.extend(more());
        }
        all
    }
}
