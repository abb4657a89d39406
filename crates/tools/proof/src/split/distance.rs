//! Measures the round trip to the server without server work.

use anyhow::{Result, ensure};
use client::session::{Session, SessionOptions};
use model::{Direction, EchoOutcome, PerDirection, RoundTripSource};
use probe::echo::{Echo, EchoPlan, Listener, ListenerOptions, Spin};
use std::net::{IpAddr, SocketAddr};
use std::thread::JoinHandle;
use std::time::Duration;
use sys::StopToken;
use sys::Target;
use sys::listening::is_own_address;

#[derive(Debug)]
pub enum RoundTripProbe {
    Echo(Echo),
    /// An echo in this process, for a server on this machine.
    Own(Echo, OwnListener),
    /// An echo over Unix-domain sockets in this process, for a server behind one.
    Unix(Echo),
    /// TCP_INFO of a connection to the server, independent of size and client count.
    Kernel(Duration),
}

#[derive(Debug, Clone, Copy)]
pub struct RoundTripSample {
    /// The mean of an echo, or the kernel's minimum.
    pub round_trip: Duration,
    /// CPU time of the requesting side per round trip.
    pub client_processor: Duration,
}

#[derive(Debug)]
pub struct OwnListener {
    address: SocketAddr,
    stop: StopToken,
    serving: Option<JoinHandle<()>>,
}

impl OwnListener {
    pub fn start(address: IpAddr) -> Result<Self> {
        let listener = Listener::bind(SocketAddr::from((address, 0)), ListenerOptions::default())?;
        let (address, stop) = (listener.address(), StopToken::new()?);
        let own = stop.clone();
        let serving = std::thread::spawn(move || {
            // The counts are not needed.
            let _ = listener.serve(&own);
        });
        Ok(Self {
            address,
            stop,
            serving: Some(serving),
        })
    }

    pub const fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for OwnListener {
    fn drop(&mut self) {
        self.stop.stop();
        if let Some(serving) = self.serving.take() {
            let _ = serving.join();
        }
    }
}

impl RoundTripProbe {
    /// Picks the best source: the requested echo, an echo in this process if the server is local,
    /// else the kernel's figure. Without an `address` the server is behind a Unix-domain socket.
    pub fn find(
        echo: Option<&Target>,
        server: &Target,
        address: Option<SocketAddr>,
        stop: &StopToken,
    ) -> Result<Self> {
        let Some(address) = address else {
            ensure!(
                echo.is_none(),
                "an echo measures TCP, and {} is a Unix socket: leave --echo out, or name the server by its host",
                server.server()
            );
            return Ok(Self::Unix(Echo::over_unix_sockets()?));
        };
        if let Some(echo) = echo {
            return Ok(Self::Echo(Echo::connect(echo)?));
        }
        if is_own_address(address.ip()) {
            let listener = OwnListener::start(address.ip())?;
            return Ok(Self::Own(connect(listener.address())?, listener));
        }
        Ok(Self::Kernel(packet_round_trip(server, stop)?))
    }

    pub const fn source(&self) -> RoundTripSource {
        match self {
            Self::Echo(_) => RoundTripSource::Echo,
            Self::Own(..) => RoundTripSource::OwnEcho,
            Self::Unix(_) => RoundTripSource::UnixSocket,
            Self::Kernel(_) => RoundTripSource::Kernel,
        }
    }

    /// Measures with these message sizes and this many streams.
    pub fn measure_rtt(
        &self,
        sizes: PerDirection<u32>,
        streams: u32,
        duration: Duration,
        stop: &StopToken,
    ) -> Result<RoundTripSample> {
        match self {
            Self::Echo(echo) | Self::Own(echo, _) | Self::Unix(echo) => {
                measure_rtt(echo, sizes, streams, duration, stop)
            }
            Self::Kernel(round_trip) => Ok(RoundTripSample {
                round_trip: *round_trip,
                client_processor: Duration::ZERO,
            }),
        }
    }
}

/// The kernel's minimum for a connection: of packets, without process wake-ups. A Unix-domain
/// socket has none.
pub fn packet_round_trip(server: &Target, stop: &StopToken) -> Result<Duration> {
    if server.socket.is_some() {
        return Ok(Duration::ZERO);
    }
    let session = Session::open(server, SessionOptions::new(stop))?;
    let round_trip = session.kernel().and_then(|figures| figures.min_rtt);
    session.close();
    round_trip
        .ok_or_else(|| anyhow::anyhow!("this system does not report the round-trip time of a connection"))
}

pub fn connect(address: SocketAddr) -> Result<Echo> {
    Ok(Echo::connect(&address.into())?)
}

pub fn measure_rtt(
    echo: &Echo,
    sizes: PerDirection<u32>,
    streams: u32,
    duration: Duration,
    stop: &StopToken,
) -> Result<RoundTripSample> {
    let plan = EchoPlan {
        request: sizes[Direction::ClientToServer].max(1),
        reply: sizes[Direction::ServerToClient].max(1),
        streams,
        duration,
        spin: Spin::Never,
    };
    let outcome = probe::echo::measure(echo, &plan, stop)?;
    Ok(RoundTripSample {
        round_trip: mean(&outcome),
        client_processor: outcome.client_processor_each().unwrap_or_default(),
    })
}

/// Streams divided by round trips per second, in the same way as for transactions. This is the
/// value that determines throughput.
fn mean(outcome: &EchoOutcome) -> Duration {
    Duration::try_from_secs_f64(f64::from(outcome.streams) / outcome.per_second).unwrap_or_default()
}
