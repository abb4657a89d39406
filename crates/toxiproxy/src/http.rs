//! A small HTTP/1.1 server: one request a connection, and everything bounded: sizes, time, how many at once.

mod request;

pub(crate) use request::Request;
use request::RequestError;

use crate::collection::ProxyCollection;
use crate::routes;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};
use sys::error::LiveError;
use sys::listening::listen;
use sys::threads::spawn;

/// Serves the API of `proxies` on `address` until the process ends. It listens when this returns; returns where.
///
/// # Errors
/// When the address cannot be listened on, or the system refuses a thread.
pub fn serve(address: SocketAddr, proxies: Arc<ProxyCollection>) -> Result<SocketAddr, LiveError> {
    let (listener, local_address) = listen(address)?;
    // The thread has nothing to do but to wait for clients.
    let blocking = listener.set_nonblocking(false);
    blocking.map_err(|error| LiveError::System {
        operation: "let a socket block",
        reason: sys::error::OsError::of(&error),
    })?;
    spawn("api".to_owned(), move || accept_all(&listener, &proxies))?;
    Ok(local_address)
}

fn accept_all(listener: &TcpListener, proxies: &Arc<ProxyCollection>) {
    let places = Arc::new(Places::default());
    let numbers = Arc::new(AtomicU64::new(0));
    loop {
        let place = Places::take(&places);
        let Ok((stream, _)) = listener.accept() else {
            // No descriptor is left, or the client has left already.
            std::thread::sleep(PAUSE);
            continue;
        };
        let (proxies, number) = (proxies.clone(), numbers.fetch_add(1, Ordering::Relaxed));
        // Without a thread the client is closed: it may try again.
        spawn("api-request".to_owned(), move || {
            serve_one(&stream, &proxies, number);
            drop(place);
        })
        .ok();
    }
}

fn serve_one(stream: &TcpStream, proxies: &ProxyCollection, number: u64) {
    let deadline = Instant::now() + REQUEST_LIMIT;
    let response = match Request::read(stream, deadline) {
        Ok(request) => routes::answer(proxies, &request),
        Err(RequestError::Refused(status, reason)) => {
            let error = serde_json::json!({ "error": reason, "status": status });
            Response::json(status, &error)
        }
        Err(RequestError::Gone) => return,
    };
    let mut stream = stream;
    let limited = stream.set_write_timeout(Some(REQUEST_LIMIT));
    if limited.is_err() || stream.write_all(&response.to_bytes(number)).is_err() {
        return;
    }
    stream.shutdown(Shutdown::Write).ok();
    discard(stream);
}

/// Reads what the client still sends, for a moment: closing with bytes unread would take the answer back.
fn discard(mut stream: &TcpStream) {
    let deadline = Instant::now() + LINGER;
    let mut buffer = [0; 16 * 1024];
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let limited = !left.is_zero() && stream.set_read_timeout(Some(left)).is_ok();
        if !limited || !stream.read(&mut buffer).is_ok_and(|count| count > 0) {
            return;
        }
    }
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Response {
    status: u16,
    content_type: &'static str,
    body: String,
}

impl Response {
    pub(crate) fn json(status: u16, value: &Value) -> Self {
        Self::json_text(status, value.to_string())
    }

    pub(crate) fn json_text(status: u16, body: String) -> Self {
        Self {
            status,
            content_type: "application/json",
            body,
        }
    }

    pub(crate) fn text(status: u16, body: &str) -> Self {
        Self {
            status,
            content_type: "text/plain; charset=utf-8",
            body: body.to_owned(),
        }
    }

    fn to_bytes(&self, number: u64) -> Vec<u8> {
        let Self {
            status,
            content_type,
            body,
        } = self;
        let mut head = format!(
            "HTTP/1.1 {status} {}\r\nServer: longwire\r\nX-Toxiproxy-Request-Id: {number}\r\nConnection: close\r\n",
            reason_of(*status)
        );
        if *status != 204 {
            head += &format!(
                "Content-Type: {content_type}\r\nContent-Length: {}\r\n",
                body.len()
            );
        }
        [head.as_bytes(), b"\r\n", body.as_bytes()].concat()
    }
}

fn reason_of(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        204 => "No Content",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        409 => "Conflict",
        411 => "Length Required",
        413 => "Content Too Large",
        431 => "Request Header Fields Too Large",
        _ => "Internal Server Error",
    }
}

/// How many requests are under way.
#[derive(Debug, Default)]
struct Places {
    taken: Mutex<usize>,
    freed: Condvar,
}

/// One of them; the place is free again when this is dropped.
#[derive(Debug)]
struct Place(Arc<Places>);

impl Places {
    /// Waits until there is one.
    fn take(places: &Arc<Self>) -> Place {
        let taken = places.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = places.freed.wait_while(taken, |taken| *taken >= MOST_REQUESTS);
        *waited.unwrap_or_else(PoisonError::into_inner) += 1;
        Place(places.clone())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        *self.0.taken.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.0.freed.notify_one();
    }
}

/// Requests under way at once; more wait to be accepted.
const MOST_REQUESTS: usize = 64;

/// How long a request may take to arrive, and an answer to leave.
const REQUEST_LIMIT: Duration = Duration::from_secs(15);

const LINGER: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(50);
