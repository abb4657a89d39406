//! Events held back until it is known how far away the hosts of a connection are that was open before the
//! capture.
//!
//! The observer of the events needs the round trip with the first of them. So while the hosts of such a
//! connection are new, all events wait, in their order, until a round trip between these hosts was seen, or
//! enough answers. The wait is short and bounded, in time of the capture and in memory; then what is known
//! has to suffice. Each pair of hosts is waited for once.

use crate::hosts::{Estimate, HostPair, Hosts};
use model::{ConnectionEvent, ConnectionId, Endpoint, Observer, Timestamp};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::time::Duration;

/// Takes events and passes them on, at once or a little later.
pub(crate) struct Settling<'o> {
    observer: &'o mut dyn Observer,
    held: Option<Box<BufferedEvents>>,
    /// Connections of which nothing was reported yet but that they are to be, in their order.
    unopened: BTreeMap<ConnectionId, Opening>,
}

/// What is to be reported first of a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Opening {
    pub at: Timestamp,
    pub client: Endpoint,
    pub server: Endpoint,
    pub sides_certain: bool,
}

/// What is held.
#[derive(Default)]
struct BufferedEvents {
    until: Timestamp,
    /// Each with where its payload is in `payload`.
    events: Vec<(ConnectionId, ConnectionEvent<'static>, Range<usize>)>,
    payload: Vec<u8>,
    /// Connections whose hosts were not known well enough.
    awaited: HashMap<ConnectionId, HostPair>,
    /// The places of those whose hosts may still not be: what is known once stays known.
    unsettled: Vec<HostPair>,
}

impl<'o> Settling<'o> {
    /// Holds nothing yet.
    pub fn new(observer: &'o mut dyn Observer) -> Self {
        Self {
            observer,
            held: None,
            unopened: BTreeMap::new(),
        }
    }

    /// Passes an event on, or holds it.
    #[inline]
    pub fn event(&mut self, id: ConnectionId, event: ConnectionEvent<'_>) {
        if !self.unopened.is_empty() && self.unopened.contains_key(&id) {
            self.open_until(id);
        }
        self.pass(id, event);
    }

    /// Reports connections up to one: they are reported in the order of their numbers.
    fn open_until(&mut self, id: ConnectionId) {
        while let Some(first) = self.unopened.first_entry().filter(|first| *first.key() <= id) {
            let (first, opening) = first.remove_entry();
            self.pass(first, opening.event());
        }
    }

    /// Reports a connection, now or with its next event: until the answer to a SYN it may show that it has
    /// other addresses, too.
    pub fn open(&mut self, id: ConnectionId, opening: Opening) {
        match opening.sides_certain {
            true => drop(self.unopened.insert(id, opening)),
            false => {
                self.open_until(id);
                self.pass(id, opening.event());
            }
        }
    }

    /// Corrects the endpoints of a connection that was not reported yet.
    pub fn correct(&mut self, id: ConnectionId, correct: impl FnOnce(&mut Opening)) {
        if let Some(opening) = self.unopened.get_mut(&id) {
            correct(opening);
        }
    }

    #[inline]
    fn pass(&mut self, id: ConnectionId, event: ConnectionEvent<'_>) {
        match &mut self.held {
            None => self.observer.event(id, event),
            Some(held) => held.push(id, event),
        }
    }

    /// Whether events are held.
    #[inline]
    pub fn is_holding(&self) -> bool {
        self.held.is_some()
    }

    /// From now on events are held: the hosts of connection `id`, about to be opened at `at`, are not known.
    pub fn wait_for(&mut self, id: ConnectionId, host_pair: HostPair, at: Timestamp) {
        let held = self.held.get_or_insert_with(|| {
            Box::new(BufferedEvents {
                until: at.after(SETTLE_TIMEOUT),
                ..BufferedEvents::default()
            })
        });
        held.awaited.insert(id, host_pair);
        held.unsettled.push(host_pair);
    }

    /// Passes everything on when it is time to.
    #[cold]
    pub fn attend(&mut self, at: Timestamp, hosts: &Hosts) {
        let Some(held) = &mut self.held else { return };
        while held
            .unsettled
            .pop_if(|host_pair| hosts.is_settled(*host_pair))
            .is_some()
        {}
        let full = held.events.len() >= MAX_EVENTS || held.payload.len() >= MAX_PAYLOAD;
        if full || at > held.until || held.unsettled.is_empty() {
            self.flush_settled(hosts);
        }
    }

    /// Passes everything on.
    pub fn flush_settled(&mut self, hosts: &Hosts) {
        let Some(held) = self.held.take() else { return };
        let BufferedEvents {
            events,
            payload,
            awaited,
            ..
        } = *held;
        for (id, event, range) in events {
            let event = event.with_payload(payload.get(range).unwrap_or_default());
            self.observer.event(id, event);
            if let (ConnectionEvent::Opened { at, .. }, Some(host_pair)) = (event, awaited.get(&id)) {
                for estimate in Estimate::all(hosts, *host_pair, at) {
                    self.observer.event(id, estimate);
                }
            }
        }
    }
}

impl Opening {
    fn event(self) -> ConnectionEvent<'static> {
        ConnectionEvent::Opened {
            at: self.at,
            client: self.client,
            server: self.server,
            sides_certain: self.sides_certain,
        }
    }
}

impl BufferedEvents {
    fn push(&mut self, id: ConnectionId, event: ConnectionEvent<'_>) {
        let (event, payload) = event.detach();
        let from = self.payload.len();
        self.payload.extend_from_slice(payload);
        self.events.push((id, event, from..self.payload.len()));
    }
}

/// How long events are held, on the capture's clock.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(10);
/// Events held at most: about 10 MB.
const MAX_EVENTS: usize = 65_536;
/// Payload held at most, checked after each packet.
const MAX_PAYLOAD: usize = 16 << 20;
