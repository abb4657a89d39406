//! Assigns packets to connections, opens and closes these.

mod leaving;
mod newcomers;

use crate::copies::{Copies, Newcomer, Owner};
use crate::flow::{Flow, Resting};
use crate::half::{Faults, Output};
use crate::hosts::Hosts;
use crate::key::{Key, KeyHasher};
use crate::settle::{Opening, Settling};
use crate::sides::Servers;
use crate::tcp::{ACK, Head, Packet, SYN, SynOptions};
use model::{ConnectionId, Endpoint, Observer, Timestamp};
use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasherDefault;

pub(crate) struct Flows<'o> {
    out: Output<'o>,
    by_key: HashMap<Key, Place, BuildHasherDefault<KeyHasher>>,
    /// Latest connection in a virtual network, by its endpoints without the network.
    tagged: HashMap<Key, u32, BuildHasherDefault<KeyHasher>>,
    slots: Vec<Option<Box<Flow>>>,
    /// By slot, drained connections instead of those in `slots`.
    resting: Vec<Option<Box<Resting>>>,
    keys: Vec<Key>,
    free: Vec<u32>,
    last: Option<(Key, Place)>,
    copies: Copies,
    comparisons: u32,
    /// Connections with a FIN or RST, and when to check them again.
    leaving: VecDeque<(Timestamp, u32, ConnectionId)>,
    /// The same, and when to check whether they can rest.
    draining: VecDeque<(Timestamp, u32, ConnectionId)>,
    holding: Vec<(u32, ConnectionId)>,
    /// Time of the next check of `leaving`, `draining` and `holding`.
    due: Timestamp,
    /// Slot at which the next search for an idle connection begins.
    hand: usize,
    spans: Vec<Span>,
    servers: Servers,
    last_at: Timestamp,
    foreign: Vec<u64>,
}

#[derive(Debug, Clone, Copy)]
struct Place {
    slot: u32,
    flipped: bool,
    /// Index among the connection's pairs of endpoints; 0 is the one by which it is known.
    copy: u8,
}

#[derive(Debug, Clone, Copy, Default)]
struct Span {
    first_at: Option<Timestamp>,
    last_at: Timestamp,
    ended: bool,
    opened: u32,
}

impl<'o> Flows<'o> {
    pub fn new(sources: usize, observer: &'o mut dyn Observer) -> Self {
        Self {
            out: Output {
                observer: Settling::new(observer),
                hosts: Hosts::default(),
                memory: 0,
                faults: Faults::default(),
            },
            by_key: HashMap::default(),
            tagged: HashMap::default(),
            slots: Vec::new(),
            resting: Vec::new(),
            keys: Vec::new(),
            free: Vec::new(),
            last: None,
            copies: Copies::default(),
            comparisons: MAX_COMPARISONS,
            leaving: VecDeque::new(),
            draining: VecDeque::new(),
            holding: Vec::new(),
            due: Timestamp::from_nanos(u64::MAX),
            hand: 0,
            spans: vec![Span::default(); sources],
            servers: Servers::default(),
            last_at: Timestamp::default(),
            foreign: vec![0; sources],
        }
    }

    pub fn opened(&self) -> u32 {
        self.spans.iter().map(|span| span.opened).sum()
    }

    pub fn open_connections(&self) -> usize {
        let open = self.slots.iter().flatten();
        open.filter(|flow| flow.closing.is_none()).count()
    }

    pub fn pass_time_until(&mut self, at: Timestamp) {
        self.pass_time(0, at);
    }

    pub fn tally(&self) -> Faults {
        self.out.faults
    }

    /// Packets per source that were ignored, because another source shows their connection.
    pub fn foreign(&self) -> &[u64] {
        &self.foreign
    }

    pub fn source_ended(&mut self, source: usize) {
        if let Some(span) = self.spans.get_mut(source) {
            span.ended = true;
        }
    }

    #[inline]
    pub fn accept(&mut self, source: usize, packet: &Packet<'_>, options: &SynOptions) {
        let head = &packet.head;
        self.pass_time(source, head.at);
        let (key, from_low) = Key::from_head(head);
        let known = match self.last {
            Some((last, place)) if last == key => Some(place),
            _ => self.by_key.get(&key).copied(),
        };
        let place = match known {
            Some(place) => match self.admit(place.slot, source, head, from_low != place.flipped) {
                Admission::Same => place,
                Admission::Successor => {
                    self.close(place.slot, head.at);
                    self.open(key, source, head, from_low)
                }
                Admission::Foreign => {
                    self.foreign[source] += 1;
                    return;
                }
            },
            None => {
                let new = Newcomer {
                    key,
                    source,
                    from_low,
                    packet,
                    options,
                };
                match self.newcomer(new) {
                    Some(place) => place,
                    None => return,
                }
            }
        };
        self.last = Some((key, place));
        self.process_segment(place, from_low, packet, options);
    }

    #[inline]
    fn process_segment(&mut self, place: Place, from_low: bool, packet: &Packet<'_>, options: &SynOptions) {
        let (slot, head) = (place.slot, &packet.head);
        let Some(flow) = self.slots[slot as usize].as_deref_mut() else {
            return;
        };
        let from_low = from_low != place.flipped;
        let owner = Owner { slot, id: flow.id };
        self.copies.remember(head, owner, from_low, place.copy == 0);
        let was_closing = flow.closing.is_some();
        let direction = flow.direction(from_low);
        match place.copy {
            0 => flow.accept(direction, packet, options, &mut self.out),
            copy => {
                // Each pair of endpoints counts as an interface: a packet seen on another one is a
                // copy.
                let interface = head.interface ^ u32::from(copy) << 24;
                let head = Head { interface, ..*head };
                flow.accept(direction, &Packet { head, ..*packet }, options, &mut self.out);
            }
        }
        if let Some(until) = flow.held_until()
            && !flow.listed
        {
            flow.listed = true;
            self.holding.push((slot, flow.id));
            self.due = self.due.min(until);
        }
        if !was_closing && flow.closing.is_some() {
            let id = flow.id;
            self.leave(slot, id, head.at);
        }
    }

    pub fn finish(&mut self) {
        for (key, packets) in self.copies.take_indistinct() {
            self.open_with(key, &packets);
        }
        self.out.observer.flush_settled(&self.out.hosts);
        let mut left: Vec<(ConnectionId, u32)> = (0u32..)
            .zip(0..self.slots.len())
            .filter_map(|(slot, _)| self.tracked(slot).map(|(id, _)| (id, slot)))
            .collect();
        left.sort_unstable();
        for (_, slot) in left {
            self.close(slot, self.last_at);
        }
    }

    #[inline]
    fn pass_time(&mut self, source: usize, at: Timestamp) {
        if let Some(span) = self.spans.get_mut(source) {
            span.first_at.get_or_insert(at);
            span.last_at = span.last_at.max(at);
        }
        self.last_at = self.last_at.max(at);
        if at > self.due {
            self.attend(at);
        }
        if self.out.observer.is_holding() {
            self.out.observer.attend(at, &self.out.hosts);
        }
    }

    /// Releases held packets that are due, and drops connections that ended long ago.
    #[cold]
    fn attend(&mut self, at: Timestamp) {
        let mut due = Timestamp::from_nanos(u64::MAX);
        let Self {
            holding, slots, out, ..
        } = self;
        holding.retain(|(slot, id)| {
            let Some(flow) = slots[*slot as usize].as_deref_mut().filter(|flow| flow.id == *id) else {
                return false;
            };
            if flow.held_until().is_some_and(|until| at > until) {
                flow.flush_held(at, out);
            }
            let Some(until) = flow.held_until() else {
                flow.listed = false;
                return false;
            };
            due = due.min(until);
            true
        });
        due = due.min(self.attend_draining(at)).min(self.attend_leaving(at));
        self.due = due;
    }

    /// Whether a packet belongs to the current connection of its endpoints.
    #[inline]
    fn admit(&mut self, slot: u32, source: usize, head: &Head, from_low: bool) -> Admission {
        self.wake(slot);
        let Some(flow) = self.slots[slot as usize].as_deref_mut() else {
            return Admission::Successor;
        };
        let syn = head.has(SYN);
        if flow.owner == source && flow.is_outlived_by(flow.direction(from_low), head) {
            return Admission::Successor;
        }
        if flow.owner == source && !syn {
            return Admission::Same;
        }
        let succeeds = syn && flow.is_succeeded_by(flow.direction(from_low), head);
        if flow.owner == source {
            return if succeeds {
                Admission::Successor
            } else {
                Admission::Same
            };
        }
        let goes_on = succeeds || !flow.has_seen(flow.direction(from_low), head);
        if goes_on && continues(self.spans.get(flow.owner), self.spans.get(source)) {
            flow.owner = source;
            return if succeeds {
                Admission::Successor
            } else {
                Admission::Same
            };
        }
        if succeeds && flow.closing.is_some() {
            Admission::Successor
        } else {
            Admission::Foreign
        }
    }

    fn open(&mut self, key: Key, source: usize, head: &Head, from_low: bool) -> Place {
        while self.by_key.len() >= MAX_FLOWS {
            self.make_room(head.at);
        }
        let id = self.next_id(source);
        let (certain, from_client) = self.judge_sides(head);
        let mut flow = Flow::new(id, source, from_client == from_low, head.at);
        let (client_host, server_host) = if from_client {
            (head.source, head.destination)
        } else {
            (head.destination, head.source)
        };
        flow.host_pair = self.out.hosts.pair_hosts(client_host, server_host);
        if let Some(host_pair) = flow.host_pair.filter(|_| !certain)
            && (self.out.hosts.wait_once(host_pair) || self.out.observer.is_holding())
        {
            self.out.observer.wait_for(id, host_pair, head.at);
        }
        let slot = self.keep(key, flow);
        let from = Endpoint {
            address: head.source.into(),
            port: head.source_port,
        };
        let to = Endpoint {
            address: head.destination.into(),
            port: head.destination_port,
        };
        let (client, server) = if from_client { (from, to) } else { (to, from) };
        let opening = Opening {
            at: head.at,
            client,
            server,
            sides_certain: certain,
        };
        self.out.observer.open(id, opening);
        Place {
            slot,
            flipped: false,
            copy: 0,
        }
    }

    /// Sources take turns in the numbers: a source alone counts from 0.
    fn next_id(&mut self, source: usize) -> ConnectionId {
        let sources = self.spans.len() as u32;
        let opened = &mut self.spans[source].opened;
        let number = opened.saturating_mul(sources).saturating_add(source as u32);
        *opened = opened.saturating_add(1);
        ConnectionId(number)
    }

    /// Returns whether the first packet determines the sides, and whether it comes from the client.
    fn judge_sides(&mut self, head: &Head) -> (bool, bool) {
        let from = (head.source, head.source_port);
        let to = (head.destination, head.destination_port);
        if !head.has(SYN) {
            self.out.faults.midway += 1;
            return (false, !self.servers.first_is_server(from, to));
        }
        let from_client = !head.has(ACK);
        let (address, port) = if from_client { to } else { from };
        self.servers.add(address, port);
        (true, from_client)
    }

    fn keep(&mut self, key: Key, flow: Flow) -> u32 {
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None => {
                self.slots.push(None);
                self.resting.push(None);
                self.keys.push(key);
                (self.slots.len() - 1) as u32
            }
        };
        self.slots[slot as usize] = Some(Box::new(flow));
        self.keys[slot as usize] = key;
        let place = Place {
            slot,
            flipped: false,
            copy: 0,
        };
        self.by_key.insert(key, place);
        if key.is_tagged() {
            self.tagged.insert(key.untagged(), slot);
        }
        slot
    }

    fn close(&mut self, slot: u32, end: Timestamp) {
        let resting = self.resting[slot as usize].take();
        let open = self.slots[slot as usize].take().map(|flow| *flow);
        let Some(mut flow) = open.or_else(|| resting.map(|resting| resting.wake())) else {
            return;
        };
        flow.close(end, &mut self.out);
        let key = self.keys[slot as usize];
        self.by_key.remove(&key);
        for copy in &flow.copies {
            self.by_key.remove(copy);
        }
        if key.is_tagged() && self.tagged.get(&key.untagged()) == Some(&slot) {
            self.tagged.remove(&key.untagged());
        }
        self.free.push(slot);
        self.last = None;
    }

    /// Evicts the connection that ended first, else one of the longest idle.
    #[cold]
    fn make_room(&mut self, at: Timestamp) {
        while let Some((_, slot, id)) = self.leaving.pop_front() {
            if self.tracked(slot).is_some_and(|(current, _)| current == id) {
                return self.close(slot, at);
            }
        }
        let candidates = (0..IDLE_SEARCH).map(|step| (self.hand + step) % self.slots.len().max(1));
        let idle = candidates
            .filter_map(|slot| self.slots.get(slot)?.as_deref().map(|flow| (flow.last_at, slot)))
            .min();
        self.hand = (self.hand + IDLE_SEARCH) % self.slots.len().max(1);
        if let Some((_, slot)) = idle {
            self.close(slot as u32, at);
        }
    }
}

enum Admission {
    Same,
    Successor,
    Foreign,
}

/// Whether one source continues another, as the files of a rotated capture do: they are one
/// observation point. Sources that overlap in time are two, with two clocks.
fn continues(owner: Option<&Span>, source: Option<&Span>) -> bool {
    let (Some(owner), Some(source)) = (owner, source) else {
        return false;
    };
    owner.ended && source.first_at.is_some_and(|first_at| first_at >= owner.last_at)
}

/// Connections tracked, open or just ended (bench/growth.sh has their memory).
const MAX_FLOWS: usize = 65_536;
/// Comparisons for connections that begin in the middle, in total: one second of work.
const MAX_COMPARISONS: u32 = 10_000_000;
const IDLE_SEARCH: usize = 64;
