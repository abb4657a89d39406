//! Accepts clients and gives each to the worker with the fewest connections.

use super::negotiation;
use super::negotiation_slots::{NegotiationSlot, NegotiationSlots};
use super::worker::{Arrival, Mailbox};
use super::{Lifecycle, Shared, spawn};
use model::Timestamp;
use rustls::ClientConfig;
use std::net::TcpListener;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use sys::error::{LiveError, OsError};
use sys::poller::{Poller, ReadyList, Waker};
use sys::socket::Socket;

#[derive(Debug)]
pub(super) struct Acceptor {
    waker: Arc<Waker>,
    thread: JoinHandle<()>,
}

impl Acceptor {
    pub(super) fn start(
        listener: TcpListener,
        shared: Arc<Shared>,
        mailboxes: Vec<Arc<Mailbox>>,
    ) -> Result<Self, LiveError> {
        let waker = Arc::new(Waker::new()?);
        let poller = Poller::new()?;
        poller.watch(listener.as_fd(), 0)?;
        poller.register_waker(&waker, 1)?;
        let thread = spawn("relay-accept".to_owned(), {
            let waker = waker.clone();
            move || {
                accept_all(&listener, &poller, &shared, &mailboxes);
                drop(waker);
            }
        })?;
        Ok(Self { waker, thread })
    }

    pub(super) fn wake(&self) {
        self.waker.wake();
    }

    pub(super) fn join(self: Acceptor) {
        self.thread.join().ok();
    }
}

fn accept_all(listener: &TcpListener, poller: &Poller, shared: &Arc<Shared>, mailboxes: &[Arc<Mailbox>]) {
    let mut ready = ReadyList::default();
    let mut pause = None;
    let talks = Arc::new(NegotiationSlots::default());
    while shared.lifecycle() == Lifecycle::Running {
        poller.wait(&mut ready, pause);
        pause = loop {
            match listener.accept() {
                Ok((stream, _)) => {
                    let at = shared.clock.now();
                    shared.counters.accepted();
                    match Socket::adopt(stream) {
                        Ok(client) => deliver(client, at, shared, mailboxes, &talks),
                        Err(reason) => {
                            shared.counters.failed(LiveError::System {
                                operation: "set up a socket",
                                reason,
                            });
                        }
                    }
                }
                Err(error) => break pause_after(&error, shared),
            }
        };
    }
}

/// Without free descriptors, clients wait in the kernel's queue.
fn pause_after(error: &std::io::Error, shared: &Shared) -> Option<Duration> {
    match OsError::from_io_error(error) {
        OsError(libc::EAGAIN) => None,
        OsError(libc::EINTR | libc::ECONNABORTED | libc::EPROTO) => Some(Duration::ZERO),
        reason => {
            shared.counters.fault(LiveError::System {
                operation: "accept a client",
                reason,
            });
            Some(Duration::from_millis(20))
        }
    }
}

fn deliver(
    client: Socket,
    at: Timestamp,
    shared: &Arc<Shared>,
    mailboxes: &[Arc<Mailbox>],
    talks: &Arc<NegotiationSlots>,
) {
    let Some(mailbox) = mailboxes.iter().min_by_key(|mailbox| mailbox.load()) else {
        return;
    };
    mailbox.expect();
    match &shared.tls {
        None => mailbox.deliver(Arrival::Client(client, at)),
        Some(config) => match talks.begin(&client) {
            Some(talk) => negotiate(client, config.clone(), shared.clone(), mailbox.clone(), talk),
            None => {
                client.reset();
                shared.counters.failed(LiveError::Crowded {
                    server: shared.target.server(),
                });
                mailbox.unexpect();
            }
        },
    }
}

/// TLS negotiation takes several round trips, so it runs in its own thread.
fn negotiate(
    client: Socket,
    config: Arc<ClientConfig>,
    shared: Arc<Shared>,
    mailbox: Arc<Mailbox>,
    talk: NegotiationSlot,
) {
    let started = spawn("relay-tls".to_owned(), {
        let (shared, mailbox) = (shared.clone(), mailbox.clone());
        move || {
            match negotiation::negotiate(client, config, &shared) {
                Ok(pair) => mailbox.deliver(Arrival::Ready(Box::new(pair))),
                Err(error) => {
                    shared.counters.failed(error);
                    mailbox.unexpect();
                }
            }
            drop(talk);
        }
    });
    if let Err(error) = started {
        shared.counters.failed(error);
        mailbox.unexpect();
    }
}
