//! Sums and operations as OpenTelemetry's messages (OTLP 1.x, protobuf), after its conventions for databases
//! where there are any.
//!
//! Only messages are made here: who sends them, when, and what happens if nobody takes them is not this
//! crate's.

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
