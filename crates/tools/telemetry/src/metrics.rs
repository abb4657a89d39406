//! Observations as series for monitoring systems: histograms of duration, round trips, network,
//! server and client time by target, operation and statement, held transactions, findings, and
//! counts.
//!
//! [`Registry`] receives the same facts and operations as a run's totals, so sums agree with `read`
//! on the same traffic, to the nanosecond. [`Registry::families`] returns [`SeriesFamily`] values
//! for [`prometheus_text`], [`prometheus_protobuf`] and OTLP.
//!
//! Memory is bounded: names are limited ([`NameLimits`]), and the others are summed under
//! [`OTHER`].

mod family;
mod histogram;
mod names;
mod operations;
mod parts;
mod protobuf;
mod registry;
mod shared;
mod targets;
mod text;

pub use family::{FamilyKind, Label, Series, SeriesFamily, SeriesValue};
pub use histogram::{Histogram, Quantity, SCHEMA};
pub use names::OTHER;
pub use protobuf::{PROTOBUF_CONTENT_TYPE, prometheus_protobuf};
pub use registry::{NameLimits, Registry};
pub use shared::SharedRegistry;
pub use text::{TEXT_CONTENT_TYPE, prometheus_text};
