//! Sums and operations as OpenTelemetry messages (OTLP 1.x, protobuf), following its conventions
//! for databases.
//!
//! Only builds messages; sending is left to others.

mod attributes;
mod messages;
mod metrics;
mod summary;
mod traces;

pub use attributes::ResourceAttributes;
pub use messages::rejected;
pub use metrics::{HistogramKind, MetricsOptions, metrics_request};
pub use summary::query_summary;
pub use traces::{SpanChoice, SpanIds, SpansOfOperation, TraceOptions, spans_of, traces_request};
