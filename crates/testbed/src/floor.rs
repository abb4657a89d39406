//! This machine's overhead in measured times, reported when a timing test fails.
//!
//! Tests with an upper bound on time are marked `#[ignore]` with a reason "timing", so that
//! `make test` runs them last, one at a time. Each begins with [`told_on_failure`].

use std::fmt;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Floor {
    /// Median and 99th percentile of one byte's round trip over loopback between two threads.
    pub round_trip: [Duration; 2],
    /// Excess of a one-millisecond sleep: median and 99th percentile.
    pub oversleep: [Duration; 2],
}

impl Floor {
    /// Takes about a second.
    pub fn measure() -> Self {
        let asked = Duration::from_millis(1);
        let sleeps = (0..SLEEPS).map(|_| timed(|| std::thread::sleep(asked)).saturating_sub(asked));
        Self {
            oversleep: percentiles(sleeps.collect()),
            round_trip: percentiles(round_trips()),
        }
    }
}

impl fmt::Display for Floor {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([trip, slow_trip], [over, far_over]) = (self.round_trip, self.oversleep);
        let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let load: Vec<&str> = load.split(' ').take(3).collect();
        write!(
            text,
            "loopback round trip p50 {trip:.1?}, p99 {slow_trip:.1?}; a sleep of 1 ms takes p50 {over:.1?}, p99 {far_over:.1?} \
             more; load {}",
            load.join(" ")
        )
    }
}

/// Prints the floor if the test fails while the value lives.
#[must_use = "the floor is reported when the value is dropped at the end of the test"]
pub fn told_on_failure() -> impl Drop {
    struct Told;
    impl Drop for Told {
        fn drop(&mut self) {
            if std::thread::panicking() {
                eprintln!(
                    "this machine's own floor, right after the failure: {}",
                    Floor::measure()
                );
            }
        }
    }
    Told
}

fn round_trips() -> Vec<Duration> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has free ports");
    let address = listener.local_addr().expect("it is bound");
    let echo = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept()?;
        stream.set_nodelay(true)?;
        let mut byte = [0];
        while stream.read(&mut byte)? == 1 {
            stream.write_all(&byte)?;
        }
        std::io::Result::Ok(())
    });
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.set_nodelay(true).expect("a socket");
    let trips = (0..TRIPS).map(|_| {
        timed(|| {
            stream.write_all(b"?").expect("it takes a byte");
            stream.read_exact(&mut [0]).expect("it answers");
        })
    });
    let trips = trips.collect();
    drop(stream);
    echo.join()
        .expect("it does not panic")
        .expect("it answers to the end");
    trips
}

fn timed(work: impl FnOnce()) -> Duration {
    let began = Instant::now();
    work();
    began.elapsed()
}

/// Median and 99th percentile by rank, of at least 100 samples.
fn percentiles(mut samples: Vec<Duration>) -> [Duration; 2] {
    samples.sort();
    [50, 99].map(|percent| samples[(samples.len() * percent / 100).min(samples.len() - 1)])
}

const SLEEPS: usize = 200;
const TRIPS: usize = 1000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_floor_is_measured_and_said_in_a_line() {
        let floor = Floor::measure();
        assert!(floor.round_trip[0] > Duration::ZERO && floor.round_trip[0] <= floor.round_trip[1]);
        let text = floor.to_string();
        assert!(text.contains("p99") && !text.contains('\n'), "{text}");
    }

    #[test]
    fn percentiles_are_by_rank() {
        let samples = (1..=200).rev().map(Duration::from_nanos).collect();
        assert_eq!(percentiles(samples), [101, 199].map(Duration::from_nanos));
    }
}
