//! The round trip to the server without the server's work.

use anyhow::Result;
use client::session::{Session, SessionOptions};
use model::{EchoOutcome, RoundTripSource};
use probe::echo::{Echo, EchoPlan, Listener, ListenerOptions, Spin};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use sys::Target;
use sys::listening::datagrams_with;

/// The source of round trips to the server's host.
#[derive(Debug)]
pub enum RoundTripProbe {
    /// By an echo there.
    Echo(Echo),
    /// By an echo of this process: the server is on this machine.
    Own(Echo, OwnListener),
    /// By the kernel, for a connection to the server: the same for every size and number of clients.
    Kernel(Duration),
}

/// A round trip at some concurrency.
#[derive(Debug, Clone, Copy)]
pub struct RoundTripSample {
    /// Mean, both ways.
    pub round_trip: Duration,
    /// Processor time of the asking side per round trip.
    pub client_processor: Duration,
}

/// A listener on a thread of this process.
#[derive(Debug)]
pub struct OwnListener {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    serving: Option<JoinHandle<()>>,
}

impl OwnListener {
    /// Listens on an address of this machine.
    ///
    /// # Errors
    /// When it cannot.
    pub fn start(address: IpAddr) -> Result<Self> {
        let listener = Listener::bind(SocketAddr::from((address, 0)), ListenerOptions::default())?;
        let (address, stop) = (listener.address(), Arc::new(AtomicBool::new(false)));
        let own = Arc::clone(&stop);
        let serving = std::thread::spawn(move || {
            // Its counts are not needed.
            let _ = listener.serve(&own);
        });
        Ok(Self {
            address,
            stop,
            serving: Some(serving),
        })
    }

    /// Where it listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for OwnListener {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(serving) = self.serving.take() {
            let _ = serving.join();
        }
    }
}

impl RoundTripProbe {
    /// The best available source: the requested echo, one in this process where the server is here, else the
    /// kernel's figure.
    ///
    /// # Errors
    /// When the requested echo does not answer, or the server cannot be asked.
    pub fn find(
        echo: Option<&Target>,
        server: &Target,
        address: SocketAddr,
        stop: &AtomicBool,
    ) -> Result<Self> {
        if let Some(echo) = echo {
            return Ok(Self::Echo(Echo::connect(echo)?));
        }
        if is_here(address.ip()) {
            let listener = OwnListener::start(address.ip())?;
            return Ok(Self::Own(connect(listener.address())?, listener));
        }
        Ok(Self::Kernel(packet_round_trip(server, stop)?))
    }

    /// Where its round trips come from.
    pub const fn source(&self) -> RoundTripSource {
        match self {
            Self::Echo(_) => RoundTripSource::Echo,
            Self::Own(..) => RoundTripSource::OwnEcho,
            Self::Kernel(_) => RoundTripSource::Kernel,
        }
    }

    /// A round trip of messages of these sizes on this many streams.
    ///
    /// # Errors
    /// When the echo does not answer.
    pub fn measure_rtt(
        &self,
        sizes: [u32; 2],
        streams: u32,
        duration: Duration,
        stop: &AtomicBool,
    ) -> Result<RoundTripSample> {
        match self {
            Self::Echo(echo) | Self::Own(echo, _) => measure_rtt(echo, sizes, streams, duration, stop),
            Self::Kernel(round_trip) => Ok(RoundTripSample {
                round_trip: *round_trip,
                client_processor: Duration::ZERO,
            }),
        }
    }
}

/// The kernel's minimum round trip of a connection to the server: of packets, without the wake-ups of
/// processes.
///
/// # Errors
/// When the server cannot be asked.
pub fn packet_round_trip(server: &Target, stop: &AtomicBool) -> Result<Duration> {
    let session = Session::open(server, SessionOptions::new(stop))?;
    let round_trip = session.kernel().and_then(|figures| figures.min_rtt);
    session.close();
    round_trip
        .ok_or_else(|| anyhow::anyhow!("this system does not report the round-trip time of a connection"))
}

/// Connects to an echo.
///
/// # Errors
/// When nothing answers there.
pub fn connect(address: SocketAddr) -> Result<Echo> {
    Ok(Echo::connect(&address.into())?)
}

/// A round trip by this echo.
///
/// # Errors
/// When it does not answer.
pub fn measure_rtt(
    echo: &Echo,
    [request, reply]: [u32; 2],
    streams: u32,
    duration: Duration,
    stop: &AtomicBool,
) -> Result<RoundTripSample> {
    let plan = EchoPlan {
        request: request.max(1),
        reply: reply.max(1),
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

/// Streams divided by round trips per second: the quantity that makes up throughput; transactions are divided
/// the same way.
fn mean(outcome: &EchoOutcome) -> Duration {
    Duration::try_from_secs_f64(f64::from(outcome.streams) / outcome.per_second).unwrap_or_default()
}

/// Whether an address is this machine's: packets sent to it would also leave from it.
pub(crate) fn is_here(address: IpAddr) -> bool {
    if address.is_loopback() {
        return true;
    }
    let leaves_from = datagrams_with(SocketAddr::from((address, 9))).and_then(|socket| socket.local_addr());
    leaves_from.is_ok_and(|local| local.ip() == address)
}
