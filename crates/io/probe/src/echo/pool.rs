//! One epoll loop per processor, for clients with more streams than processors.

use super::Spin;
use super::error::Ending;
use super::greeting::Hello;
use super::site::{Gone, PeerConnection};
use super::stream::{Came, Filler, Stream};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use sys::error::LiveError;
use sys::poller::{Poller, ReadyList, Waker};

#[derive(Debug)]
pub(super) struct Pool {
    workers: Vec<Arc<WorkerHandle>>,
    next: AtomicUsize,
}

#[derive(Debug)]
struct WorkerHandle {
    arrivals: Mutex<Vec<Arrival>>,
    waker: Waker,
    stop: std::sync::atomic::AtomicBool,
}

#[derive(Debug)]
pub(super) struct Arrival {
    pub(super) peer_connection: Arc<PeerConnection>,
    pub(super) hello: Hello,
    pub(super) gone: Gone,
}

impl Pool {
    pub(super) fn start(loops: usize) -> Result<Self, LiveError> {
        let mut workers = Vec::new();
        for _ in 0..loops.max(1) {
            let handle = Arc::new(WorkerHandle {
                arrivals: Mutex::default(),
                waker: Waker::new()?,
                stop: std::sync::atomic::AtomicBool::new(false),
            });
            let poller = Poller::new()?;
            poller.register_waker(&handle.waker, BELL)?;
            let own = Arc::clone(&handle);
            std::thread::spawn(move || Loop::new(poller, own).run());
            workers.push(handle);
        }
        Ok(Self {
            workers,
            next: AtomicUsize::new(0),
        })
    }

    pub(super) fn add_arrival(&self, arrival: Arrival) {
        let turn = self.next.fetch_add(1, Ordering::Relaxed);
        if let Some(handle) = turn
            .checked_rem(self.workers.len())
            .and_then(|turn| self.workers.get(turn))
        {
            let mut arrivals = handle.arrivals.lock().unwrap_or_else(PoisonError::into_inner);
            arrivals.push(arrival);
            drop(arrivals);
            handle.waker.wake();
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        for handle in &self.workers {
            handle.stop.store(true, Ordering::Relaxed);
            handle.waker.wake();
        }
    }
}

struct Loop {
    poller: Poller,
    handle: Arc<WorkerHandle>,
    polled_streams: Vec<Option<PollingStream>>,
    spinning: usize,
    filler: Filler,
}

struct PollingStream {
    stream: Stream,
    peer_connection: Arc<PeerConnection>,
    spin: bool,
    _gone: Gone,
}

impl Loop {
    fn new(poller: Poller, handle: Arc<WorkerHandle>) -> Self {
        Self {
            poller,
            handle,
            polled_streams: Vec::new(),
            spinning: 0,
            filler: Filler::new(super::MAX_BYTES),
        }
    }

    fn run(mut self) {
        let mut ready = ReadyList::default();
        while !self.handle.stop.load(Ordering::Relaxed) {
            let longest = (self.spinning > 0).then_some(Duration::ZERO);
            self.poller.wait(&mut ready, longest);
            for event in ready.iter() {
                if event.token == BELL {
                    self.seat_arrivals();
                } else if let Ok(place) = usize::try_from(event.token) {
                    self.serve(place, event.readable());
                }
            }
        }
    }

    fn seat_arrivals(&mut self) {
        let arrivals = std::mem::take(
            &mut *self
                .handle
                .arrivals
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        );
        for Arrival {
            peer_connection,
            hello,
            gone,
        } in arrivals
        {
            let stream = Stream::new(Arc::clone(&peer_connection.socket), hello.reply, hello.request);
            let free = self.polled_streams.iter().position(Option::is_none);
            let place = free.unwrap_or(self.polled_streams.len());
            let watched = peer_connection.socket.set_nonblocking(true).is_ok()
                && self
                    .poller
                    .watch(peer_connection.socket.as_fd(), place as u64)
                    .is_ok();
            if !watched {
                continue;
            }
            let spin = hello.spin == Spin::Always;
            self.spinning += usize::from(spin);
            let polled = PollingStream {
                stream,
                peer_connection,
                spin,
                _gone: gone,
            };
            match self.polled_streams.get_mut(place) {
                Some(free) => *free = Some(polled),
                None => self.polled_streams.push(Some(polled)),
            }
        }
    }

    fn serve(&mut self, place: usize, readable: bool) {
        let Some(Some(polled)) = self.polled_streams.get_mut(place) else {
            return;
        };
        if polled.answer(readable, &mut self.filler).is_err() {
            self.spinning -= usize::from(polled.spin);
            if let Some(polled) = self.polled_streams.get_mut(place) {
                *polled = None;
            }
        }
    }
}

impl PollingStream {
    fn answer(&mut self, readable: bool, filler: &mut Filler) -> Result<(), Ending> {
        if self.stream.is_sending() && self.stream.send_on(filler)? == Came::Part {
            return Ok(());
        }
        if readable && self.stream.receive(filler)? == Came::Whole {
            self.stream.begin(filler)?;
            self.peer_connection.note_progress();
        }
        Ok(())
    }
}

const BELL: u64 = u64::MAX;
