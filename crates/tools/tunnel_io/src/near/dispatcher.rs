//! The thread that accepts clients and assigns each to the lane with the fewest streams. Without a
//! lane, clients wait.

use super::super::mailbox::{Arrival, Mailbox};
use super::super::notice::{Notice, Refused};
use super::Shared;
use sys::error::{LiveError, OsError};
use sys::poller::{Poller, ReadyList};
use sys::threads;

use std::collections::VecDeque;
use std::net::TcpListener;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use sys::signals::block_all_signals;
use sys::socket::Socket;
use tunnel::lane::MAX_STREAMS;

pub(super) struct Dispatcher {
    listeners: Vec<TcpListener>,
    shared: Arc<Shared>,
    mailboxes: Vec<Arc<Mailbox>>,
    poller: Poller,
    /// In order of arrival.
    waiting: VecDeque<Arrival>,
}

impl Dispatcher {
    pub fn new(
        listeners: Vec<TcpListener>,
        shared: Arc<Shared>,
        mailboxes: Vec<Arc<Mailbox>>,
    ) -> Result<Self, LiveError> {
        let poller = Poller::new()?;
        poller.register_waker(&shared.waker, 0)?;
        for listener in &listeners {
            poller.watch(listener.as_fd(), 1)?;
        }
        Ok(Self {
            listeners,
            shared,
            mailboxes,
            poller,
            waiting: VecDeque::new(),
        })
    }

    pub fn start(mut self) -> Result<JoinHandle<()>, LiveError> {
        threads::spawn("tunnel-accept".to_owned(), move || {
            block_all_signals();
            self.serve();
        })
    }

    fn serve(&mut self) {
        let mut ready = ReadyList::default();
        while !self.shared.is_over() {
            let paused = self.accept();
            self.take_back();
            self.dispatch_streams();
            self.turn_late_away();
            let longest = (paused || !self.waiting.is_empty()).then_some(CHECK);
            self.poller.wait(&mut ready, longest);
        }
        for arrival in self.waiting.drain(..) {
            arrival.socket.reset();
        }
    }

    /// Accepts waiting connections and returns true if more may wait without a free descriptor.
    fn accept(&mut self) -> bool {
        let mut paused = false;
        for listener in &self.listeners {
            loop {
                match listener.accept() {
                    Ok((stream, client)) => {
                        if let Ok(socket) = Socket::adopt(stream) {
                            let at = self.shared.counters.now();
                            self.waiting.push_back(Arrival { socket, client, at });
                        }
                    }
                    Err(error) => match OsError::from_io_error(&error) {
                        OsError(libc::EAGAIN) => break,
                        OsError(libc::EINTR | libc::ECONNABORTED | libc::EPROTO) => {}
                        _ => {
                            paused = true;
                            break;
                        }
                    },
                }
            }
        }
        paused
    }

    /// Queues clients again that a lost lane had not taken.
    fn take_back(&mut self) {
        for mailbox in &self.mailboxes {
            if mailbox.load().is_none() {
                for arrival in mailbox.take_arrivals().into_iter().rev() {
                    mailbox.release(1);
                    self.waiting.push_front(arrival);
                }
            }
        }
    }

    fn dispatch_streams(&mut self) {
        while !self.waiting.is_empty() {
            let standing = self
                .mailboxes
                .iter()
                .filter_map(|mailbox| Some((mailbox.load()?, mailbox)));
            let Some((load, mailbox)) = standing.min_by_key(|(load, _)| *load) else {
                return;
            };
            if load >= MAX_STREAMS {
                return self.turn_away_all();
            }
            if let Some(arrival) = self.waiting.pop_front() {
                mailbox.deliver(arrival);
            }
        }
    }

    fn turn_away_all(&mut self) {
        for arrival in std::mem::take(&mut self.waiting) {
            self.turn_away(arrival, Refused::TooMany);
        }
    }

    fn turn_late_away(&mut self) {
        let (now, limit) = (self.shared.counters.now(), self.shared.connect_timeout);
        while let Some(arrival) = self
            .waiting
            .pop_front_if(|arrival| now.since(arrival.at) >= limit)
        {
            self.turn_away(arrival, Refused::NoLane(limit));
        }
    }

    fn turn_away(&self, arrival: Arrival, reason: Refused) {
        arrival.socket.reset();
        self.shared.counters.stream_refused();
        let client = arrival.client;
        self.shared
            .counters
            .record_notice(&Notice::StreamRefused { client, reason });
    }
}

const CHECK: Duration = Duration::from_millis(20);
