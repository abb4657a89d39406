//! The measured path of the client.

use super::error::Ending;
use super::stream::{Came, Filler, Stream};
use super::{EchoPlan, Spin};
use model::DistributionBuilder;
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use sys::poller::{Poller, ReadyList};
use sys::processor::{Of, processor_time};

#[derive(Debug)]
pub(super) struct CountingWindow {
    pub(super) counts_from: Instant,
    pub(super) ends_at: Instant,
    ended: AtomicBool,
}

impl CountingWindow {
    /// A warm-up comes first.
    pub(super) fn new(duration: Duration) -> Self {
        Self::after(warm_up(duration), duration)
    }

    pub(super) fn after(warm_up: Duration, duration: Duration) -> Self {
        let counts_from = Instant::now() + warm_up;
        Self {
            counts_from,
            ends_at: counts_from + duration,
            ended: AtomicBool::new(false),
        }
    }

    /// To wake a thread that waits for a message, close its socket.
    pub(super) fn end(&self) {
        self.ended.store(true, Ordering::Relaxed);
    }

    fn is_over(&self, now: Instant) -> bool {
        now >= self.ends_at || self.ended.load(Ordering::Relaxed)
    }
}

/// Time for caches, the scheduler's choice of processors and TCP windows to settle.
pub(super) fn warm_up(duration: Duration) -> Duration {
    (duration / 10).min(Duration::from_millis(300))
}

#[derive(Debug, Default)]
pub(super) struct Trips {
    /// Times are in nanoseconds.
    pub(super) times: Vec<u64>,
    pub(super) folded: DistributionBuilder,
    /// From the start of counting to the last counted round trip, or to the end.
    pub(super) elapsed: Duration,
    pub(super) processor: Duration,
    /// Round trips found by polling where sleeping was possible.
    pub(super) polled: u64,
    /// Broken streams, and the reason of the last.
    pub(super) errors: u64,
    pub(super) broken: Option<Ending>,
}

impl Trips {
    pub(super) fn add(&mut self, mut other: Self) {
        self.times.append(&mut other.times);
        self.folded.merge(other.folded);
        self.elapsed = self.elapsed.max(other.elapsed);
        self.processor += other.processor;
        self.polled += other.polled;
        self.errors += other.errors;
        self.broken = self.broken.or(other.broken);
    }
}

struct Counter<'a> {
    window: &'a CountingWindow,
    trips: Trips,
    /// Processor time when counting began, `None` before.
    began: Option<Duration>,
}

impl<'a> Counter<'a> {
    fn new(window: &'a CountingWindow) -> Self {
        let trips = Trips {
            times: Vec::with_capacity(KEPT),
            ..Trips::default()
        };
        Self {
            window,
            trips,
            began: None,
        }
    }

    /// Returns whether the run continues.
    fn completed(&mut self, from: Instant, now: Instant) -> bool {
        if self.window.is_over(now) {
            return false;
        }
        if self.began.is_none() {
            if now < self.window.counts_from {
                return true;
            }
            self.began = Some(processor_time(Of::Thread));
        }
        if self.trips.times.len() == KEPT {
            self.fold();
        }
        let nanos = now.saturating_duration_since(from).as_nanos();
        self.trips.times.push(u64::try_from(nanos).unwrap_or(u64::MAX));
        true
    }

    fn polled(&mut self) {
        self.trips.polled += u64::from(self.began.is_some());
    }

    /// Runs once per half a million round trips, and lengthens round trips in progress.
    #[cold]
    fn fold(&mut self) {
        let Trips { times, folded, .. } = &mut self.trips;
        times
            .drain(..)
            .for_each(|nanos| folded.add(Duration::from_nanos(nanos)));
    }

    fn broke(&mut self, ending: Ending) {
        // Sockets are closed at the end to wake waiting threads.
        if !self.window.is_over(Instant::now()) {
            self.trips.errors += 1;
            self.trips.broken = Some(ending);
        }
    }

    fn finish(mut self) -> Trips {
        if let Some(began) = self.began {
            self.trips.processor = processor_time(Of::Thread).saturating_sub(began);
        }
        let end = Instant::now().min(self.window.ends_at);
        self.trips.elapsed = end.saturating_duration_since(self.window.counts_from);
        self.trips
    }
}

pub(super) fn of_one(socket: Arc<TcpStream>, plan: &EchoPlan, window: &CountingWindow) -> Trips {
    let mut counter = Counter::new(window);
    let mut filler = Filler::new(plan.request.max(plan.reply));
    let mut stream = match Stream::new(socket, plan.request, plan.reply).waiting(plan.spin) {
        Ok(stream) => stream,
        Err(error) => {
            counter.broke(Ending::Broken(sys::error::OsError::from_io_error(&error)));
            return counter.finish();
        }
    };
    let mut from = Instant::now();
    loop {
        let trip = stream
            .send_whole(&filler)
            .and_then(|()| stream.receive_whole(&mut filler));
        let now = Instant::now();
        if let Err(ending) = trip {
            counter.broke(ending);
            break;
        }
        if !counter.completed(from, now) {
            break;
        }
        if stream.was_polled() {
            counter.polled();
        }
        from = now;
    }
    counter.finish()
}

pub(super) fn of_many(sockets: &[Arc<TcpStream>], plan: &EchoPlan, window: &CountingWindow) -> Trips {
    let mut counter = Counter::new(window);
    match Many::new(sockets, plan) {
        Ok(mut many) => many.run(&mut counter),
        Err(ending) => counter.broke(ending),
    }
    counter.finish()
}

struct Many {
    poller: Poller,
    /// With the send time of the current request; `None` once the stream broke.
    streams: Vec<Option<(Stream, Instant)>>,
    filler: Filler,
    longest: Option<Duration>,
}

impl Many {
    fn new(sockets: &[Arc<TcpStream>], plan: &EchoPlan) -> Result<Self, Ending> {
        let system = |error: &std::io::Error| Ending::Broken(sys::error::OsError::from_io_error(error));
        let no_poller = |_| Ending::Broken(sys::error::OsError::last());
        let poller = Poller::new().map_err(no_poller)?;
        let mut streams = Vec::new();
        for (place, socket) in sockets.iter().enumerate() {
            socket.set_nonblocking(true).map_err(|error| system(&error))?;
            poller.watch(socket.as_fd(), place as u64).map_err(no_poller)?;
            let stream = Stream::new(Arc::clone(socket), plan.request, plan.reply);
            streams.push(Some((stream, Instant::now())));
        }
        Ok(Self {
            poller,
            streams,
            filler: Filler::new(plan.request.max(plan.reply)),
            longest: (plan.spin == Spin::Always).then_some(Duration::ZERO),
        })
    }

    fn run(&mut self, counter: &mut Counter<'_>) {
        for stream in &mut self.streams {
            if let Some((asking, from)) = stream {
                *from = Instant::now();
                if let Err(ending) = asking.begin(&self.filler) {
                    counter.broke(ending);
                    *stream = None;
                }
            }
        }
        let mut ready = ReadyList::default();
        while self.streams.iter().any(Option::is_some) {
            self.poller.wait(&mut ready, self.longest);
            for event in ready.iter() {
                let place = usize::try_from(event.token).unwrap_or(usize::MAX);
                if !self.advance(place, event.readable(), counter) {
                    return;
                }
            }
        }
    }

    /// Returns whether the run continues.
    fn advance(&mut self, place: usize, readable: bool, counter: &mut Counter<'_>) -> bool {
        let Some(Some((stream, from))) = self.streams.get_mut(place) else {
            return true;
        };
        match advance(stream, from, readable, &mut self.filler, counter) {
            Ok(goes_on) => goes_on,
            Err(ending) => {
                counter.broke(ending);
                if let Some(broken) = self.streams.get_mut(place) {
                    *broken = None;
                }
                true
            }
        }
    }
}

fn advance(
    stream: &mut Stream,
    from: &mut Instant,
    readable: bool,
    filler: &mut Filler,
    counter: &mut Counter<'_>,
) -> Result<bool, Ending> {
    if stream.is_sending() && stream.send_on(filler)? == Came::Part {
        return Ok(true);
    }
    if readable && stream.receive(filler)? == Came::Whole {
        let now = Instant::now();
        if !counter.completed(*from, now) {
            return Ok(false);
        }
        *from = now;
        stream.begin(filler)?;
    }
    Ok(true)
}

/// Round trips per thread that are kept individually, in 4 MiB.
const KEPT: usize = 512 * 1024;
