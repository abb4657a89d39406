//! What was observed, as series for monitoring systems: histograms of duration, round trips, network, server
//! and client time by target, operation and statement, transactions held, findings, and counts.
//!
//! [`Registry`] takes the same facts and operations as the totals of a run do, so that sums agree with what
//! `read` says of the same traffic, to the nanosecond. [`Registry::families`] gives them as [`SeriesFamily`],
//! which [`prometheus_text`], [`prometheus_protobuf`] and OTLP write.
//!
//! Memory is bounded: names are limited ([`NameLimits`]), and what has no series of its own is summed under
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
