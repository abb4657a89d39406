//! The page for Prometheus, and the one that says whether all is well.

use crate::exposition::Exposition;
use crate::health::Health;
use metrics::{PROTOBUF_CONTENT_TYPE, TEXT_CONTENT_TYPE, prometheus_protobuf, prometheus_text};
use std::net::SocketAddr;
use sys::error::LiveError;
use sys::metrics::{MetricsAnswer, MetricsRequest, MetricsServer};

/// Serves `/metrics` and `/health` at `address`, until what is returned is dropped.
///
/// # Errors
/// As [`MetricsServer::start`].
pub fn serve_metrics(
    address: SocketAddr,
    exposition: Exposition,
    health: Health,
) -> Result<MetricsServer, LiveError> {
    MetricsServer::answering(address, move |request| {
        match request.path.split('?').next().unwrap_or_default() {
            "/metrics" => metrics_page(&exposition, request),
            "/health" => match health.state() {
                Ok(()) => MetricsAnswer::text("ok\n"),
                Err(reason) => MetricsAnswer::plain("503 Service Unavailable", format!("{reason}\n")),
            },
            _ => MetricsAnswer::not_found("the figures are at /metrics, whether all is well at /health\n"),
        }
    })
}

fn metrics_page(exposition: &Exposition, request: &MetricsRequest<'_>) -> MetricsAnswer {
    let families = exposition.families();
    let (content_type, body) = if takes_protobuf(request.accept) {
        (PROTOBUF_CONTENT_TYPE, prometheus_protobuf(&families))
    } else {
        (TEXT_CONTENT_TYPE, prometheus_text(&families).into_bytes())
    };
    MetricsAnswer {
        content_type,
        body,
        ..MetricsAnswer::text("")
    }
}

/// Whether the client prefers protobuf: Prometheus names what it wants first, and does so when it scrapes native histograms.
fn takes_protobuf(accept: &str) -> bool {
    let first = accept.split(',').next().unwrap_or_default();
    first.contains("application/vnd.google.protobuf") && first.contains("io.prometheus.client.MetricFamily")
}
