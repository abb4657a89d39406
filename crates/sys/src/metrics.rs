//! Figures for Prometheus: its text format 0.0.4 over HTTP.
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

/// Serves a page at `http://ADDRESS/metrics`, until it is dropped.
#[derive(Debug)]
pub struct MetricsServer {
    address: SocketAddr,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl MetricsServer {
    /// Begins to serve at `address` what `page` makes at each request.
    ///
    /// # Errors
    /// [`LiveError::PortInUse`] and its like; [`LiveError::System`] when there is no thread for it.
    pub fn start(address: SocketAddr, page: impl Fn() -> String + Send + 'static) -> Result<Self, LiveError> {
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
            serve(&listener, &asked, &page);
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

fn serve(listener: &TcpListener, over: &AtomicBool, page: &dyn Fn() -> String) {
    for stream in listener.incoming() {
        if over.load(Ordering::Relaxed) {
            return;
        }
        // A client that does not listen to the answer does without it.
        if let Ok(stream) = stream {
            answer(stream, page).ok();
        }
    }
}

fn answer(stream: TcpStream, page: &dyn Fn() -> String) -> io::Result<()> {
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
    let path = request.split(|byte| *byte == b' ').nth(1).unwrap_or_default();
    let (status, body) = if path == b"/metrics" {
        ("200 OK", page())
    } else {
        ("404 Not Found", "the figures are at /metrics\n".to_owned())
    };
    let reply = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    talk.write_all(reply.as_bytes())
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
