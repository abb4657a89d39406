//! Hands sums and spans to monitoring systems, without ever making the observation wait: a page for
//! Prometheus, and OTLP over HTTP.
//!
//! What cannot be delivered is counted ([`ExportCounts`]) and exported itself as soon as somebody listens
//! again.

mod counts;
mod error;
mod exposition;
mod health;
mod otlp_exporter;
mod own;
mod page;

pub use counts::ExportCounts;
pub use error::ExportError;
pub use exposition::{Exposition, MoreFamilies};
pub use health::Health;
pub use otlp_exporter::{OtlpExporter, OtlpSettings, OtlpTarget, SpanSink};
pub use page::serve_metrics;
