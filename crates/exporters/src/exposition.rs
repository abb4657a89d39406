//! All that is exported, put together when somebody asks.

use crate::counts::ExportCounts;
use crate::own;
use metrics::{SeriesFamily, SharedRegistry};
use model::Timestamp;
use std::fmt;
use std::sync::Arc;

/// Families that the observation itself adds: packets, drops.
pub type MoreFamilies = Arc<dyn Fn() -> Vec<SeriesFamily> + Send + Sync>;

/// What was observed, the outcome of exports, and what longwire itself costs.
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
    /// Of what `registry` sums up since `began`.
    pub fn new(registry: SharedRegistry, began: Timestamp) -> Self {
        Self {
            registry,
            began,
            counts: ExportCounts::default(),
            more: None,
        }
    }

    /// The same with further families.
    #[must_use]
    pub fn with_more(self, more: MoreFamilies) -> Self {
        Self {
            more: Some(more),
            ..self
        }
    }

    /// What becomes of exports.
    pub const fn counts(&self) -> &ExportCounts {
        &self.counts
    }

    /// All series as they are now. The observation waits for the time it takes to copy them: a few
    /// milliseconds for the usual number of names.
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
