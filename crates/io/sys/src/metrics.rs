//! Pages of metrics over HTTP, made on request. Slow or silent clients block nobody.

use crate::error::LiveError;
use crate::http::{HttpLimits, HttpRequest, HttpResponse, HttpServer};
use crate::listening::{ClientSide, ListeningService};

use std::net::SocketAddr;
use std::time::Duration;

#[derive(Debug)]
pub struct MetricsServer(HttpServer);

impl MetricsServer {
    /// Serves `page` at `http://ADDRESS/metrics` in Prometheus's text format 0.0.4.
    ///
    /// # Errors
    /// [`LiveError::PortInUse`] and its like; [`LiveError::System`] if no thread can be started.
    pub fn start(address: SocketAddr, page: impl Fn() -> String + Send + 'static) -> Result<Self, LiveError> {
        Self::answering(address, move |request| match request.path.as_str() {
            "/metrics" => HttpResponse::new(200, "text/plain; version=0.0.4", page()),
            _ => HttpResponse::text(404, "the figures are at /metrics\n"),
        })
    }

    /// Fails as [`MetricsServer::start`] does.
    pub fn answering(
        address: SocketAddr,
        answer: impl FnMut(&HttpRequest) -> HttpResponse + Send + 'static,
    ) -> Result<Self, LiveError> {
        HttpServer::start(address, &SERVICE, LIMITS, answer).map(Self)
    }

    pub const fn address(&self) -> SocketAddr {
        self.0.address()
    }
}

const SERVICE: ListeningService<'static> = ListeningService {
    name: "the page of figures for Prometheus",
    exposes: "read the names and figures on it",
    clients: ClientSide::AsClientsLike,
};

const LIMITS: HttpLimits = HttpLimits {
    connections: 256,
    held_bytes: 32 * 1024 * 1024,
    body: 0,
    time: Duration::from_secs(5),
};
