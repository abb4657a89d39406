//! HTTP pages for Prometheus and for health checks.

use crate::exporters::exposition::Exposition;
use crate::exporters::health::Health;
use crate::metrics::{PROTOBUF_CONTENT_TYPE, TEXT_CONTENT_TYPE, prometheus_protobuf, prometheus_text};
use std::net::SocketAddr;
use sys::error::LiveError;
use sys::http::{HttpRequest, HttpResponse};
use sys::metrics::MetricsServer;

/// Serves `/metrics` and `/health` at `address` until the result is dropped.
///
/// # Errors
/// As those of [`MetricsServer::start`].
pub fn serve_metrics(
    address: SocketAddr,
    exposition: Exposition,
    health: Health,
) -> Result<MetricsServer, LiveError> {
    MetricsServer::answering(address, move |request| match request.path.as_str() {
        "/metrics" => metrics_page(&exposition, request),
        "/health" => match health.state() {
            Ok(()) => HttpResponse::text(200, "ok\n"),
            Err(reason) => HttpResponse::text(503, format!("{reason}\n")),
        },
        _ => HttpResponse::text(
            404,
            "the figures are at /metrics, whether all is well at /health\n",
        ),
    })
}

fn metrics_page(exposition: &Exposition, request: &HttpRequest) -> HttpResponse {
    let families = exposition.families();
    match takes_protobuf(request.field("accept").unwrap_or_default()) {
        true => HttpResponse::new(200, PROTOBUF_CONTENT_TYPE, prometheus_protobuf(&families)),
        false => HttpResponse::new(200, TEXT_CONTENT_TYPE, prometheus_text(&families)),
    }
}

/// Whether the client prefers protobuf. Prometheus lists its preference first, and prefers it if it
/// scrapes native histograms.
fn takes_protobuf(accept: &str) -> bool {
    let first = accept.split(',').next().unwrap_or_default();
    first.contains("application/vnd.google.protobuf") && first.contains("io.prometheus.client.MetricFamily")
}
