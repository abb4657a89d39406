//! Exports sums and spans to monitoring systems without blocking the observation: a page for
//! Prometheus, and OTLP over HTTP.
//!
//! Undelivered data is counted ([`ExportCounts`]), and the counts are exported once delivery works
//! again.

mod counts;
mod error;
mod exposition;
mod health;
mod otlp_exporter;
mod own;
mod page;

pub use counts::ExportCounts;
pub use error::Error;
pub use exposition::{Exposition, MoreFamilies};
pub use health::Health;
pub use otlp_exporter::{OtlpExporter, OtlpSettings, OtlpTarget, SpanSink};
pub use page::serve_metrics;
