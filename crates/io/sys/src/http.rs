//! A small HTTP/1.1 server with limits: one request per connection, many connections on one thread.
//!
//! At the limit, the host with the most connections loses the oldest, so that silent clients block
//! nobody. `server` accepts and waits, `connection` reads a `request`, gets the answer, and sends
//! it.

mod connection;
mod request;
mod server;

pub use request::HttpRequest;
pub use server::HttpServer;

use std::time::Duration;

#[derive(Debug, Clone, Copy)]
pub struct HttpLimits {
    pub connections: usize,
    /// One answer may be longer.
    pub held_bytes: usize,
    /// Bytes of a request's body.
    pub body: usize,
    /// Time for a request to arrive, and for an answer to leave.
    pub time: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpResponse {
    pub status: u16,
    pub content_type: &'static str,
    pub fields: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
}

impl HttpResponse {
    pub fn new(status: u16, content_type: &'static str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            content_type,
            fields: Vec::new(),
            body: body.into(),
        }
    }

    pub fn text(status: u16, body: impl Into<String>) -> Self {
        Self::new(status, "text/plain; charset=utf-8", body.into())
    }

    fn to_bytes(&self) -> Vec<u8> {
        let status = self.status;
        let mut head = format!("HTTP/1.1 {status} {}\r\nConnection: close\r\n", reason(status));
        for (name, value) in &self.fields {
            head += &format!("{name}: {value}\r\n");
        }
        if status != NO_CONTENT {
            let (content_type, length) = (self.content_type, self.body.len());
            head += &format!("Content-Type: {content_type}\r\nContent-Length: {length}\r\n");
        }
        [head.as_bytes(), b"\r\n", &self.body].concat()
    }
}

const NO_CONTENT: u16 = 204;

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        NO_CONTENT => "No Content",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        409 => "Conflict",
        411 => "Length Required",
        413 => "Content Too Large",
        431 => "Request Header Fields Too Large",
        503 => "Service Unavailable",
        _ => "Internal Server Error",
    }
}
