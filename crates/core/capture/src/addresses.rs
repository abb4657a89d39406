//! Properties of the senders' machines in a capture: hop limit, link-layer address, and whether the
//! capturing machine sent the packets.

use crate::error::Error;
use crate::format::{Notes, Record};
use crate::ip::{self, Address};
use crate::key::KeyHasher;
use crate::links::{Passage, Sender, network_within};
use crate::source::{Begun, Source, begin};
use crate::tcp::{self, Envelope, RST, SYN};
use model::{CapturedAddress, INITIAL_HOP_LIMITS, InterfaceAddresses, LinkAddress, Origin};
use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasherDefault;

/// Machines as a capture describes and shows them.
#[derive(Debug, Default)]
pub struct Machines {
    /// Interfaces with several stated addresses, as described before the first packet.
    pub interfaces: Vec<InterfaceAddresses>,
    /// Senders of TCP packets among the first [`MAX_PACKETS`] packets: one list per interface of the
    /// format, because the interfaces of merged files belong to several machines.
    pub senders: Vec<Vec<CapturedAddress>>,
}

/// Reads the first packets of a source, before all are read.
///
/// Damage is skipped here and reported when the packets are read.
///
/// # Errors
/// If the source cannot be opened or is not a capture.
pub fn machines(source: Source<'_>) -> Result<Machines, Error> {
    let Begun {
        mut input,
        mut packets,
        ..
    } = begin(source)?;
    let mut notes = Notes::new(&|_| true);
    let mut points: BTreeMap<u32, Point> = BTreeMap::new();
    let mut next = packets.next(&mut input, &mut notes);
    let interfaces = notes.interfaces.clone();
    for _ in 0..MAX_PACKETS {
        let Some(record) = next else { break };
        if points.len() < MAX_INTERFACES || points.contains_key(&record.interface) {
            let frame = input.bytes().get(record.offset..record.offset + record.captured);
            let point = points.entry(record.interface).or_default();
            point.packet(frame.unwrap_or_default(), &record);
        }
        input.consume(record.taken);
        next = packets.next(&mut input, &mut notes);
    }
    Ok(Machines {
        interfaces,
        senders: points.into_values().map(Point::conclude).collect(),
    })
}

#[derive(Default)]
struct Point {
    senders: HashMap<Address, Seen, BuildHasherDefault<KeyHasher>>,
    /// Whether the capture contains arriving packets. With outgoing packets alone, forwarded ones
    /// cannot be distinguished.
    receives: bool,
}

#[derive(Debug, Default)]
struct Seen {
    hop_limits: Option<(u8, u8)>,
    /// Outgoing packets that had passed no router.
    sent: u32,
    passed_on: bool,
    received: bool,
    loopback: bool,
    links: Vec<LinkAddress>,
}

impl Point {
    fn packet(&mut self, frame: &[u8], record: &Record) {
        let Some(link) = record.link else { return };
        let Ok(found) = (link.network)(frame) else { return };
        let before = frame.len() - found.packet.len();
        let length = (record.wire as usize).saturating_sub(before);
        let Some(datagram) =
            ip::parse_datagram(found.packet, length).filter(|datagram| datagram.protocol == ip::TCP)
        else {
            return;
        };
        let envelope = Envelope::new(record, found.interface, &datagram);
        let Some((packet, _)) = tcp::parse_segment(datagram.payload, datagram.length, &envelope) else {
            return;
        };
        let sender = (link.sender)(frame);
        self.receives |= sender.passage == Passage::Received;
        let segment = match sender.is_of_any_interface {
            true => ANY_SEGMENT,
            false => network_within(found.network, found.interface),
        };
        if let Some(seen) = self.seen(datagram.source) {
            seen.packet(sender, datagram.hop_limit, packet.head.has(SYN | RST), segment);
        }
        if sender.passage == Passage::Loopback
            && let Some(seen) = self.seen(datagram.destination)
        {
            seen.loopback = true;
        }
    }

    fn seen(&mut self, address: Address) -> Option<&mut Seen> {
        if self.senders.len() >= MAX_SENDERS && !self.senders.contains_key(&address) {
            return None;
        }
        Some(self.senders.entry(address).or_default())
    }

    fn conclude(self) -> Vec<CapturedAddress> {
        let Self { senders, receives } = self;
        let mut captured: Vec<CapturedAddress> = senders
            .into_iter()
            .map(|(address, seen)| CapturedAddress {
                address: address.into(),
                origin: seen.origin(receives),
                hop_limits: seen.hop_limits,
                links: seen.links,
            })
            .collect();
        captured.sort_unstable_by_key(|one| one.address);
        if has_several_machines(&captured) {
            for one in captured.iter_mut().filter(|one| one.origin == Origin::Here) {
                one.origin = Origin::Unknown;
            }
        }
        // Addresses can only be compared within one segment: a machine may have two network cards.
        for one in &mut captured {
            one.links.retain(|link| link.segment != ANY_SEGMENT);
        }
        captured
    }
}

impl Seen {
    fn packet(&mut self, sender: Sender, hop_limit: u8, may_be_of_a_middlebox: bool, segment: u32) {
        if !may_be_of_a_middlebox {
            let (low, high) = self.hop_limits.unwrap_or((hop_limit, hop_limit));
            self.hop_limits = Some((low.min(hop_limit), high.max(hop_limit)));
        }
        let is_direct = INITIAL_HOP_LIMITS.contains(&hop_limit);
        match sender.passage {
            Passage::Received => self.received = true,
            Passage::Sent if is_direct => self.sent += 1,
            Passage::Sent => self.passed_on = true,
            Passage::Loopback => self.loopback = true,
            Passage::Unknown => {}
        }
        // A forwarded packet has the router's address.
        if let Some(bytes) = sender
            .address
            .filter(|_| is_direct && sender.passage != Passage::Loopback)
        {
            let link = LinkAddress { segment, bytes };
            if self.links.len() < MAX_LINKS && !self.links.contains(&link) {
                self.links.push(link);
            }
        }
    }

    /// Returns the first that applies:
    ///
    /// 1. Packets from this address never arrive, and either they pass a loopback device, or several
    ///    left that no router had forwarded: the capturing machine sent them. Packets that it
    ///    forwards for others (containers, virtual machines) arrive first.
    /// 2. They arrive, and leave only when forwarded by a router.
    fn origin(&self, receives: bool) -> Origin {
        let sends = self.sent >= MIN_SENT && receives;
        match self.received {
            false if (sends || self.loopback) && !self.passed_on => Origin::Here,
            true if self.sent == 0 && !self.loopback => Origin::Elsewhere,
            _ => Origin::Unknown,
        }
    }
}

/// Whether packets sent by this machine leave one interface with several link-layer addresses. This
/// happens in merged captures of several machines, and with containers on macvlan.
fn has_several_machines(captured: &[CapturedAddress]) -> bool {
    let here = captured.iter().filter(|one| one.origin == Origin::Here);
    let links: Vec<&LinkAddress> = here.flat_map(|one| &one.links).collect();
    links.iter().any(|one| {
        links
            .iter()
            .any(|other| one.segment == other.segment && one.bytes != other.bytes)
    })
}

/// Wildcard for an unknown segment.
const ANY_SEGMENT: u32 = u32::MAX;
/// They take about 50 ms.
const MAX_PACKETS: usize = 50_000;
/// About 2 MB with the senders of each.
const MAX_INTERFACES: usize = 8;
const MAX_SENDERS: usize = 4_096;
const MAX_LINKS: usize = 8;
const MIN_SENT: u32 = 3;
