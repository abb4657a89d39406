//! Figures for monitoring systems: pages over HTTP, each made when it is asked for.
//!
//! One thread answers one request after another, each within a second in all: a scrape a few seconds is all that is to come.

use crate::error::{LiveError, OsError};
use crate::{listening, threads};

use crate::signals::block_all_signals;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Serves pages at `http://ADDRESS/`, until it is dropped.
#[derive(Debug)]
pub struct MetricsServer {
    address: SocketAddr,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// What is asked of a [`MetricsServer`].
#[derive(Debug, Clone, Copy)]
pub struct MetricsRequest<'r> {
    /// The path, as it was sent.
    pub path: &'r str,
    /// The formats that the client takes, in the words of its field `Accept`; empty without one.
    pub accept: &'r str,
}

/// What a [`MetricsServer`] answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetricsAnswer {
    /// The status and its reason.
    pub status: &'static str,
    /// The format of the body.
    pub content_type: &'static str,
    /// The body.
    pub body: Vec<u8>,
}

impl MetricsAnswer {
    /// That all is well, in a text.
    pub fn text(body: impl Into<String>) -> Self {
        Self::plain("200 OK", body)
    }

    /// That there is no such page, and what there is.
    pub fn not_found(body: impl Into<String>) -> Self {
        Self::plain("404 Not Found", body)
    }

    /// A text under any status.
    pub fn plain(status: &'static str, body: impl Into<String>) -> Self {
        Self {
            status,
            content_type: "text/plain; charset=utf-8",
            body: body.into().into_bytes(),
        }
    }
}

impl MetricsServer {
    /// Begins to serve at `http://ADDRESS/metrics` what `page` makes at each request, in Prometheus's text format 0.0.4.
    ///
    /// # Errors
    /// [`LiveError::PortInUse`] and its like; [`LiveError::System`] when there is no thread for it.
    pub fn start(address: SocketAddr, page: impl Fn() -> String + Send + 'static) -> Result<Self, LiveError> {
        Self::answering(address, move |request| match request.path {
            "/metrics" => MetricsAnswer {
                content_type: "text/plain; version=0.0.4",
                ..MetricsAnswer::text(page())
            },
            _ => MetricsAnswer::not_found("the figures are at /metrics\n"),
        })
    }

    /// Begins to serve at `address` what `answer` makes of each request.
    ///
    /// # Errors
    /// As [`MetricsServer::start`].
    pub fn answering(
        address: SocketAddr,
        answer: impl Fn(&MetricsRequest<'_>) -> MetricsAnswer + Send + 'static,
    ) -> Result<Self, LiveError> {
        let (listener, address) = listening::listen(address)?;
        let waits = listener.set_nonblocking(false);
        waits.map_err(|error| LiveError::System {
            operation: "set up a socket",
            reason: OsError::of(&error),
        })?;
        let over = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&over);
        let thread = threads::spawn("longwire metrics".to_owned(), move || {
            block_all_signals();
            serve(&listener, &asked, &answer);
        })?;
        Ok(Self {
            address,
            over,
            thread: Some(thread),
        })
    }

    /// Where it is served.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for MetricsServer {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        // Wakes the thread from waiting for a connection.
        TcpStream::connect_timeout(&self.address, PATIENCE).ok();
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

type Answering = dyn Fn(&MetricsRequest<'_>) -> MetricsAnswer;

fn serve(listener: &TcpListener, over: &AtomicBool, answering: &Answering) {
    for stream in listener.incoming() {
        if over.load(Ordering::Relaxed) {
            return;
        }
        // A client that does not listen to the answer does without it.
        if let Ok(stream) = stream {
            answer(stream, answering).ok();
        }
    }
}

fn answer(stream: TcpStream, answering: &Answering) -> io::Result<()> {
    let mut talk = TimedStream {
        stream,
        until: Instant::now() + PATIENCE,
    };
    let mut request = Vec::new();
    let mut part = [0; 1024];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") && request.len() < LONGEST_REQUEST {
        match talk.read(&mut part)? {
            0 => return Ok(()),
            count => request.extend_from_slice(part.get(..count).unwrap_or_default()),
        }
    }
    let request = String::from_utf8_lossy(&request);
    let MetricsAnswer {
        status,
        content_type,
        body,
    } = answering(&MetricsRequest {
        path: request.split(' ').nth(1).unwrap_or_default(),
        accept: accepted(&request),
    });
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    talk.write_all(&[head.as_bytes(), &body].concat())
}

/// The value of the field `Accept` of a request.
fn accepted(request: &str) -> &str {
    let fields = request.lines().filter_map(|line| line.split_once(':'));
    let mut accept = fields.filter(|(name, _)| name.eq_ignore_ascii_case("accept"));
    accept.next().map_or("", |(_, value)| value.trim())
}

/// A connection that has a limited time in all, however slowly its bytes come and go.
struct TimedStream {
    stream: TcpStream,
    until: Instant,
}

impl TimedStream {
    fn left(&self) -> io::Result<Option<Duration>> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        Ok(Some(left))
    }
}

impl Read for TimedStream {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(self.left()?)?;
        self.stream.read(bytes)
    }
}

impl Write for TimedStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(self.left()?)?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

const PATIENCE: Duration = Duration::from_secs(1);
const LONGEST_REQUEST: usize = 16 * 1024;
