//! Speed of a fast client: repeated small exchanges during a large transfer.

use crate::content::Content;
use crate::course::{Course, Role};
use crate::crowd::{ECHO, HEADER_WORDS, header};
use std::io::{Read, Result, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{Duration, Instant};

#[derive(Debug, Clone, Default)]
pub(crate) struct Pace {
    /// Bytes per second of the large transfer, if requested.
    pub(crate) rate: Option<f64>,
    /// Sorted round-trip times of the small exchange.
    pub(crate) trips: Vec<Duration>,
}

impl Pace {
    pub(crate) fn trip(&self, share: f64) -> Duration {
        let at = (self.trips.len() as f64 * share) as usize;
        self.trips
            .get(at.min(self.trips.len().saturating_sub(1)))
            .copied()
            .unwrap_or_default()
    }
}

/// Exchanges small messages over a new connection for `span`, during a large transfer on another if
/// `large`.
pub(crate) fn measure(
    connect: &(dyn Fn() -> Result<TcpStream> + Sync),
    span: Duration,
    large: bool,
) -> Result<Pace> {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let result = large.then(|| scope.spawn(|| read_until(connect, &over, Duration::ZERO)));
        if large {
            // The large transfer has reached a steady state.
            std::thread::sleep(span / 4);
        }
        let trips = exchange(connect, span);
        over.store(true, SeqCst);
        let rate = match result {
            Some(reader) => Some(reader.join().expect("a reader does not panic")?),
            None => None,
        };
        let mut trips = trips?;
        trips.sort_unstable();
        Ok(Pace { rate, trips })
    })
}

/// Reads an endless result, one piece every `pause`, until `over`; returns bytes per second.
pub(crate) fn read_until(
    connect: &(dyn Fn() -> Result<TcpStream> + Sync),
    over: &AtomicBool,
    pause: Duration,
) -> Result<f64> {
    let course = Course::download(7, WITHOUT_END);
    let mut socket = connect()?;
    socket.write_all(&header([course.seed, 1, WITHOUT_END]))?;
    let mut sent = [0; 1];
    course.content_of(Role::Client).fill(&mut sent);
    socket.write_all(&sent)?;
    socket.shutdown(std::net::Shutdown::Write)?;
    let mut content: Content = course.content_of(Role::Server);
    let mut buffer = vec![0; if pause.is_zero() { 64 * 1024 } else { 4096 }];
    let (mut bytes, start) = (0, Instant::now());
    while !over.load(SeqCst) {
        let got = socket.read(&mut buffer)?;
        assert!(got > 0, "a result without end has ended");
        assert_eq!(content.check(&buffer[..got]), Ok(()), "after {bytes} bytes");
        bytes += got as u64;
        std::thread::sleep(pause);
    }
    Ok(bytes as f64 / start.elapsed().as_secs_f64())
}

fn exchange(connect: &(dyn Fn() -> Result<TcpStream> + Sync), span: Duration) -> Result<Vec<Duration>> {
    let mut socket = connect()?;
    socket.set_nodelay(true)?;
    socket.write_all(&header([0, 0, ECHO]))?;
    let mut message = [0; 8 * HEADER_WORDS];
    let (mut trips, start) = (Vec::new(), Instant::now());
    while start.elapsed() < span {
        let asked = Instant::now();
        socket.write_all(&message)?;
        socket.read_exact(&mut message)?;
        trips.push(asked.elapsed());
        // Pauses like an application, so that each exchange meets another state of the link.
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(trips)
}

/// Fails after five seconds.
pub(crate) fn exchange_once(mut socket: &TcpStream) -> Result<()> {
    socket.set_read_timeout(Some(Duration::from_secs(5)))?;
    socket.write_all(&header([0, 0, ECHO]))?;
    socket.write_all(b"?")?;
    socket.read_exact(&mut [0])
}

const WITHOUT_END: u64 = 1 << 40;
