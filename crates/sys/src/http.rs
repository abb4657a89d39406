//! A small HTTP/1.1 server: one request a connection, many connections at a time on one thread, and
//! everything bounded: connections, bytes, time.
//!
//! Where more come than there is room for, the host with the most connections loses the one that has been
//! there longest: who says nothing keeps nobody out. The order of things: `server` accepts and waits,
//! `connection` reads a `request`, has it answered, and sends.

mod connection;
mod request;
mod server;

pub use request::HttpRequest;
pub use server::HttpServer;

use std::time::Duration;

/// What strangers may cost.
#[derive(Debug, Clone, Copy)]
pub struct HttpLimits {
    /// Connections at a time.
    pub connections: usize,
    /// Bytes of requests and answers that all of them hold. One answer may be longer.
    pub held_bytes: usize,
    /// Bytes of a request's body.
    pub body: usize,
    /// How long a request may take to arrive, and an answer to leave.
    pub time: Duration,
}

/// What a request is answered with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpResponse {
    /// The status, without its reason.
    pub status: u16,
    /// The format of the body.
    pub content_type: &'static str,
    /// Further fields of the head.
    pub fields: Vec<(&'static str, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl HttpResponse {
    /// An answer in this format.
    pub fn new(status: u16, content_type: &'static str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            content_type,
            fields: Vec::new(),
            body: body.into(),
        }
    }

    /// A text.
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
