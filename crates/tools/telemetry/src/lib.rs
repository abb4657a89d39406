//! Traffic, for monitoring systems: series ([`metrics`]), OpenTelemetry's messages ([`otlp`]), and
//! their delivery without blocking the observation ([`exporters`]). The first two are pure.
//!
//! Start reading at `metrics/registry.rs`, then `otlp/metrics.rs` and `exporters/exposition.rs`.

pub mod exporters;
pub mod metrics;
pub mod otlp;
