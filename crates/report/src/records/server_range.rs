//! Bounds of a server time: keys of the records that have one.

use super::nanos;
use model::Margin;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Minimum and maximum of `server_ns`; empty if it is exact.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(super) struct ServerRange {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    server_min_ns: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    server_max_ns: Option<u64>,
}

impl ServerRange {
    pub(super) const fn new(server_min_ns: Option<u64>, server_max_ns: Option<u64>) -> Self {
        Self {
            server_min_ns,
            server_max_ns,
        }
    }

    pub(super) fn from_margin(server: Duration, margin: Margin) -> Self {
        if margin.is_none() {
            return Self::default();
        }
        let [shortest, longest] = margin.around(server).map(nanos);
        Self {
            server_min_ns: Some(shortest),
            server_max_ns: Some(longest),
        }
    }

    pub(super) const fn shortest(self) -> Option<u64> {
        self.server_min_ns
    }

    pub(super) const fn longest(self) -> Option<u64> {
        self.server_max_ns
    }

    pub(super) fn margin(self, server: Duration) -> Margin {
        match (self.server_min_ns, self.server_max_ns) {
            (Some(shortest), Some(longest)) => {
                Margin::between(server, [shortest, longest].map(Duration::from_nanos))
            }
            _ => Margin::default(),
        }
    }
}
