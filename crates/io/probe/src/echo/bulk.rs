//! The transfer rate of one direction, and round trips at the same time.

use super::answering::{BULK_PART, Counted};
use super::client::Echo;
use super::error::Ending;
use super::greeting::{Hello, Purpose};
use super::listener::read_within;
use super::stream::{Filler, passing};
use super::trips::{self, CountingWindow, Trips};
use super::{BulkPlan, EchoError, EchoPlan, Spin};
use model::{BitRate, BulkOutcome, Direction, Distribution, DistributionBuilder};
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::{Duration, Instant};
use sys::StopToken;
use sys::error::OsError;
use sys::processor::{Of, processor_time};
use sys::tcp_info::KernelFigures;

/// Fills one direction for the planned time or until `stop` is set, with round trips before and
/// during it.
///
/// # Errors
/// Fails if a connection cannot be opened or breaks, or no round trip was completed.
pub fn bulk(echo: &Echo, plan: &BulkPlan, stop: &StopToken) -> Result<BulkOutcome, EchoError> {
    let idle_for = (plan.duration / 4).clamp(MIN_IDLE, MAX_IDLE);
    let idle = round_trips(echo, plan, &CountingWindow::new(idle_for), stop)?;
    let skip = trips::warm_up(plan.duration) + FINDING_THE_RATE.min(plan.duration / 4);
    let hello = Hello {
        purpose: match plan.direction {
            Direction::ClientToServer => Purpose::Sink,
            Direction::ServerToClient => Purpose::Source,
        },
        spin: Spin::Never,
        request: 1,
        reply: 1,
        streams: 1,
        skip,
    };
    let socket = Arc::new(echo.open(&hello)?);
    let over = stop.child()?;
    let window = CountingWindow::after(skip, plan.duration);
    let (before, own) = (echo.account(), processor_time(Of::Process));
    let (moved, loaded) = std::thread::scope(|scope| {
        let moving = scope.spawn(|| move_bytes(&socket, plan.direction, skip, window.ends_at, &over));
        let loaded = round_trips(echo, plan, &window, stop);
        (moving.join(), loaded)
    });
    let client_processor = processor_time(Of::Process).saturating_sub(own);
    let after = echo.account();
    let (bytes, elapsed) = moved
        .unwrap_or(Err(Ending::Finished))
        .map_err(|ending| echo.closed(ending))?;
    let sends = plan.direction == Direction::ClientToServer;
    Ok(BulkOutcome {
        direction: plan.direction,
        payload_bytes: bytes,
        elapsed,
        rate: rate(bytes, elapsed),
        retransmitted: KernelFigures::read_socket(socket.as_fd())
            .filter(|_| sends)
            .and_then(|info| info.retransmitted)
            .map(u64::from),
        idle,
        loaded: loaded?,
        client_processor,
        server_processor: before
            .zip(after)
            .map(|(before, after)| after.processor.saturating_sub(before.processor)),
    })
}

fn rate(bytes: u64, elapsed: Duration) -> Option<BitRate> {
    let bits = u128::from(bytes) * 8 * 1_000_000_000;
    let rate = bits.checked_div(elapsed.as_nanos())?;
    BitRate::from_bits_per_second(u64::try_from(rate).ok()?)
}

/// No completed round trip is an error before the bulk, and an empty spread during it.
fn round_trips(
    echo: &Echo,
    plan: &BulkPlan,
    window: &CountingWindow,
    stop: &StopToken,
) -> Result<Distribution, EchoError> {
    let hello = Hello {
        purpose: Purpose::Echo,
        spin: Spin::Never,
        request: plan.request,
        reply: plan.reply,
        streams: 1,
        skip: Duration::ZERO,
    };
    let socket = Arc::new(echo.open(&hello)?);
    let plan = EchoPlan {
        request: plan.request,
        reply: plan.reply,
        streams: 1,
        duration: plan.duration,
        spin: Spin::Never,
    };
    let over = stop.child()?;
    let trips = std::thread::scope(|scope| {
        let asking = scope.spawn(|| {
            let trips = trips::of_one(Arc::clone(&socket), &plan, window);
            over.stop();
            trips
        });
        over.wait_until(window.ends_at);
        window.end();
        let _ = socket.shutdown(Shutdown::Both);
        asking.join().unwrap_or_default()
    });
    spread(trips).map_err(|ending| echo.closed(ending))
}

fn spread(trips: Trips) -> Result<Distribution, Ending> {
    let mut times = trips.folded;
    for nanos in trips.times {
        times.add(Duration::from_nanos(nanos));
    }
    let times: &mut DistributionBuilder = &mut times;
    match trips.broken {
        Some(ending) => Err(ending),
        None => Ok(times.distribution()),
    }
}

type Moved = Result<(u64, Duration), Ending>;

/// Stops `stop` at its end.
fn move_bytes(
    socket: &TcpStream,
    direction: Direction,
    skip: Duration,
    end: Instant,
    stop: &StopToken,
) -> Moved {
    std::thread::scope(|scope| {
        scope.spawn(|| {
            stop.wait_until(end);
            // Ends a read or a write that blocks.
            let _ = socket.shutdown(match direction {
                Direction::ClientToServer => Shutdown::Write,
                Direction::ServerToClient => Shutdown::Read,
            });
        });
        let moved = match direction {
            Direction::ClientToServer => fill(socket, end, stop),
            Direction::ServerToClient => receive_bytes(socket, skip, end, stop),
        };
        stop.stop();
        moved
    })
}

fn fill(mut socket: &TcpStream, end: Instant, stop: &StopToken) -> Moved {
    let broken = |error: io::Error| Ending::Broken(OsError::from_io_error(&error));
    let filler = Filler::new(BULK_PART as u32);
    let is_over = || Instant::now() >= end || stop.is_stopped();
    while !is_over() {
        match socket.write(filler.out()) {
            Ok(_) => {}
            Err(error) if passing(&error) => {}
            Err(_) if is_over() => {}
            Err(error) => return Err(broken(error)),
        }
    }
    let mut result = [0; 16];
    read_within(socket, &mut result, DRAINING).map_err(broken)?;
    let (bytes, nanos) = result.split_at(8);
    let number = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_be_bytes);
    Ok((number(bytes), Duration::from_nanos(number(nanos))))
}

fn receive_bytes(mut socket: &TcpStream, skip: Duration, end: Instant, stop: &StopToken) -> Moved {
    let broken = |error: io::Error| Ending::Broken(OsError::from_io_error(&error));
    let mut room = vec![0; BULK_PART];
    let mut counted = Counted::new(skip);
    let is_over = || Instant::now() >= end || stop.is_stopped();
    while !is_over() {
        match socket.read(&mut room) {
            Ok(0) if is_over() => break,
            Ok(0) => return Err(Ending::Finished),
            Ok(count) => counted.arrived(count),
            Err(error) if passing(&error) => {}
            Err(_) if is_over() => {}
            Err(error) => return Err(broken(error)),
        }
    }
    let _ = socket.shutdown(Shutdown::Both);
    Ok(counted.result())
}

/// Excluded from the result: TCP finds the rate of most paths in this time.
const FINDING_THE_RATE: Duration = Duration::from_millis(700);
const MIN_IDLE: Duration = Duration::from_millis(300);
const MAX_IDLE: Duration = Duration::from_secs(2);
/// For bytes still in transit.
const DRAINING: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn a_stop_ends_a_transfer_with_a_peer_that_does_nothing() {
        for direction in Direction::ALL {
            let listener = TcpListener::bind("127.0.0.1:0").expect("it listens");
            let socket = TcpStream::connect(listener.local_addr().expect("it has one")).expect("it listens");
            let (mut peer, _) = listener.accept().expect("it is connected");
            if direction == Direction::ClientToServer {
                peer.write_all(&[0; 16]).expect("the result fits");
            }
            let stop = StopToken::new().expect("an eventfd");
            let end = Instant::now() + Duration::from_secs(3600);
            let moved = std::thread::scope(|scope| {
                let moving = scope.spawn(|| move_bytes(&socket, direction, Duration::ZERO, end, &stop));
                stop.stop();
                moving.join().expect("it ends")
            });
            assert_eq!(moved.ok(), Some((0, Duration::ZERO)));
        }
    }
}
