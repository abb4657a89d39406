//! Holds events until the round trip to the hosts of a connection is known that was open before the
//! capture.
//!
//! The observer needs the round trip with the first event. While the hosts of such a connection are
//! new, all events wait, in order, for a round trip between these hosts, or for enough replies. The
//! wait is bounded in the capture's time and in memory; after it, the current estimate is used.
//! Each pair of hosts is waited for once.

use crate::hosts::{Estimate, HostPair, Hosts};
use model::{ConnectionEvent, ConnectionId, Endpoint, Observer, StageOutput, Timestamp};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::time::Duration;

/// Forwards events to the observer, at once or after a wait.
pub(crate) struct Settling<'o> {
    observer: &'o mut dyn Observer,
    held: Option<Box<BufferedEvents>>,
    unopened: BTreeMap<ConnectionId, Opening>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Opening {
    pub at: Timestamp,
    pub client: Endpoint,
    pub server: Endpoint,
    pub sides_certain: bool,
}

#[derive(Default)]
struct BufferedEvents {
    until: Timestamp,
    events: Vec<(ConnectionId, ConnectionEvent<'static>, Range<usize>)>,
    payload: Vec<u8>,
    awaited: HashMap<ConnectionId, HostPair>,
    /// Those that may still be unknown: known hosts stay known.
    unsettled: Vec<HostPair>,
}

type Event<'a> = (ConnectionId, ConnectionEvent<'a>);

impl<'o> Settling<'o> {
    pub fn new(observer: &'o mut dyn Observer) -> Self {
        Self {
            observer,
            held: None,
            unopened: BTreeMap::new(),
        }
    }

    #[inline]
    pub fn event(&mut self, id: ConnectionId, event: ConnectionEvent<'_>) {
        if !self.unopened.is_empty() && self.unopened.contains_key(&id) {
            self.open_until(id);
        }
        self.pass(id, event);
    }

    /// Reports connections up to `id`: they are reported in the order of their numbers.
    fn open_until(&mut self, id: ConnectionId) {
        while let Some(first) = self.unopened.first_entry().filter(|first| *first.key() <= id) {
            let (first, opening) = first.remove_entry();
            self.pass(first, opening.event());
        }
    }

    /// Reports a connection, at once or with its next event. Until the reply to a SYN, further
    /// addresses may turn up.
    pub fn open(&mut self, id: ConnectionId, opening: Opening) {
        match opening.sides_certain {
            true => drop(self.unopened.insert(id, opening)),
            false => {
                self.open_until(id);
                self.pass(id, opening.event());
            }
        }
    }

    pub fn correct(&mut self, id: ConnectionId, correct: impl FnOnce(&mut Opening)) {
        if let Some(opening) = self.unopened.get_mut(&id) {
            correct(opening);
        }
    }

    #[inline]
    fn pass(&mut self, id: ConnectionId, event: ConnectionEvent<'_>) {
        let output = match &mut self.held {
            None => StageOutput::Go((id, event)),
            Some(held) => held.process_event(id, event),
        };
        output.each(|(id, event)| self.observer.event(id, event));
    }

    #[inline]
    pub fn is_holding(&self) -> bool {
        self.held.is_some()
    }

    /// Starts buffering: the hosts of connection `id`, about to be opened at `at`, are unknown.
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

    /// Flushes all events if the wait is over.
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

    pub fn flush_settled(&mut self, hosts: &Hosts) {
        let Some(held) = self.held.take() else { return };
        held.release(hosts)
            .each(|(id, event)| self.observer.event(id, event));
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
    fn process_event<'e>(&mut self, id: ConnectionId, event: ConnectionEvent<'e>) -> StageOutput<Event<'e>> {
        let (event, payload) = event.detach();
        let from = self.payload.len();
        self.payload.extend_from_slice(payload);
        self.events.push((id, event, from..self.payload.len()));
        StageOutput::Stays
    }

    /// All events, and the estimates behind the openings that waited for them.
    fn release(&self, hosts: &Hosts) -> StageOutput<Event<'_>> {
        let mut released = Vec::with_capacity(self.events.len());
        for (id, event, range) in &self.events {
            let payload = self.payload.get(range.clone()).unwrap_or_default();
            released.push((*id, event.with_payload(payload)));
            if let (ConnectionEvent::Opened { at, .. }, Some(host_pair)) = (event, self.awaited.get(id)) {
                let estimates = Estimate::all(hosts, *host_pair, *at);
                released.extend(estimates.map(|estimate| (*id, estimate)));
            }
        }
        StageOutput::Released(released)
    }
}

const SETTLE_TIMEOUT: Duration = Duration::from_secs(10);
/// They take about 10 MB.
const MAX_EVENTS: usize = 65_536;
/// Maximum buffered payload, checked after each packet.
const MAX_PAYLOAD: usize = 16 << 20;
