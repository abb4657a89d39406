//! The time that this machine adds to a round trip through a link without delay.

use crate::{Options, start_with_floor};
use link::LinkDescription;
use model::ObserverFactory;
use model::{ConnectionEvent, ConnectionId, Observer};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};
use sys::clock::Clock;
use sys::error::LiveError;

/// Median round-trip time of one byte through a link without delay, less that without a relay.
/// Takes about 30 ms. `None` if it cannot be measured here.
pub(crate) fn measure(clock: Clock) -> Option<Duration> {
    let (echo, address) = start_echo().ok()?;
    let direct = median_round_trip(address).ok()?;
    let relayed = through_a_link(address, clock);
    // A last connection without bytes ends the echo.
    let ended = TcpStream::connect(address).map(|stream| stream.set_nodelay(true));
    if ended.is_ok() {
        echo.join().ok();
    }
    relayed.map(|relayed| relayed.saturating_sub(direct))
}

fn through_a_link(server: SocketAddr, clock: Clock) -> Option<Duration> {
    let options = Options {
        link: Some(LinkDescription::with_rtt(Duration::ZERO)),
        ..Options::new(server.into())
    };
    let relay = start_with_floor(options, clock, Arc::new(Nobody), |_| None).ok()?;
    let median = median_round_trip(relay.local_addr()).ok();
    relay.stop(Duration::from_millis(100));
    median
}

fn start_echo() -> Result<(std::thread::JoinHandle<()>, SocketAddr), LiveError> {
    let fault = |error: io::Error| LiveError::System {
        operation: "listen on the loopback address",
        reason: sys::error::OsError::from_io_error(&error),
    };
    let listener = sys::listening::on_loopback().map_err(fault)?;
    let address = listener.local_addr().map_err(fault)?;
    let echo = sys::threads::spawn("relay-floor".to_owned(), move || {
        while let Ok((mut stream, _)) = listener.accept() {
            stream.set_nodelay(true).ok();
            stream.set_read_timeout(Some(TIMEOUT)).ok();
            let mut byte = [0];
            let mut any = false;
            while matches!(stream.read(&mut byte), Ok(1)) && stream.write_all(&byte).is_ok() {
                any = true;
            }
            if !any {
                return;
            }
        }
    })?;
    Ok((echo, address))
}

fn median_round_trip(address: SocketAddr) -> io::Result<Duration> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    let mut spans = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let began = Instant::now();
        stream.write_all(b"x")?;
        stream.read_exact(&mut [0])?;
        spans.push(began.elapsed());
    }
    Ok(model::median(spans).unwrap_or_default())
}

const ROUNDS: usize = 101;
const TIMEOUT: Duration = Duration::from_secs(1);

struct Nobody;

impl ObserverFactory for Nobody {
    fn observe(&self, _: ConnectionId) -> Box<dyn Observer + Send> {
        Box::new(Self)
    }
}

impl Observer for Nobody {
    fn event(&mut self, _: ConnectionId, _: ConnectionEvent<'_>) {}
}
