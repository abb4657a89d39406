//! The API over HTTP.

mod access;

pub use access::ApiAccess;

use crate::collection::ProxyCollection;
use crate::routes;
use serde_json::json;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use sys::error::LiveError;
use sys::http::{HttpLimits, HttpServer};
use sys::listening::{ClientSide, ListeningService};

/// Serves the API of `proxies` on `address` until the returned value is dropped. `access` lists
/// accepted host names. It is listening on return.
///
/// # Errors
/// Fails if the address cannot be bound, or the system refuses a thread.
pub fn serve(
    address: SocketAddr,
    access: ApiAccess,
    proxies: Arc<ProxyCollection>,
) -> Result<HttpServer, LiveError> {
    let mut number: u64 = 0;
    HttpServer::start(address, &SERVICE, LIMITS, move |request| {
        let mut answer = match access.check(request, address) {
            Ok(()) => routes::answer(&proxies, request),
            Err((status, reason)) => {
                routes::json_answer(status, &json!({ "error": reason, "status": status }))
            }
        };
        answer.fields.push(("Server", "longwire".to_owned()));
        answer.fields.push(("X-Toxiproxy-Request-Id", number.to_string()));
        number += 1;
        answer
    })
}

const SERVICE: ListeningService<'static> = ListeningService {
    name: "the API",
    exposes: "open ports on this machine and connect from it, since it has no authentication",
    clients: ClientSide::AsClientsLike,
};

const LIMITS: HttpLimits = HttpLimits {
    connections: 256,
    held_bytes: 32 * 1024 * 1024,
    body: 1024 * 1024,
    time: Duration::from_secs(15),
};
