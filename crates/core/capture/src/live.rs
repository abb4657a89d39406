//! Live packets, instead of those read from a source.

use crate::clock::Clock;
use crate::flows::Flows;
use crate::format::Record;
use crate::fragments::Fragments;
use crate::links;
use crate::report::{self, Report};
use crate::source::FrameTally;
use model::{Observer, Timestamp};

/// A capture in progress, with the events of [`read_sources`](crate::read_sources).
pub struct LiveCapture<'o> {
    name: String,
    flows: Flows<'o>,
    fragments: Fragments,
    tally: FrameTally,
    clock: Clock,
}

#[derive(Debug, Clone, Copy)]
pub struct LivePacket<'a> {
    pub at: Timestamp,
    /// The link-layer type in capture files (<https://www.tcpdump.org/linktypes.html>).
    pub link_type: u16,
    /// The interface number. Copies of a packet on several interfaces count once.
    pub interface: u32,
    pub frame: &'a [u8],
    /// Bytes on the wire, from the start of the link layer.
    pub wire: u32,
}

impl<'o> LiveCapture<'o> {
    /// `name` is the source's name in warnings.
    pub fn new(name: &str, observer: &'o mut dyn Observer) -> Self {
        Self {
            name: name.to_owned(),
            flows: Flows::new(1, observer),
            fragments: Fragments::default(),
            tally: FrameTally::default(),
            clock: Clock::live(),
        }
    }

    /// Packets of several interfaces may be slightly out of order.
    pub fn packet(&mut self, packet: &LivePacket<'_>) {
        let captured = packet.frame.len();
        let record = Record {
            at: self.clock.pass(packet.at, packet.interface, packet.wire),
            link: links::find(packet.link_type),
            interface: packet.interface,
            offset: 0,
            captured,
            wire: packet.wire.max(captured as u32),
            taken: captured,
        };
        self.tally.packet(record.at, record.wire);
        let frame = crate::dispatch(0, packet.frame, &record, &mut self.fragments, &mut self.flows);
        self.tally.count(frame);
    }

    /// Declares that all packets before `at` have been passed in. Releases packets held for earlier
    /// ones, and drops connections that have ended.
    pub fn pass_time(&mut self, at: Timestamp) {
        self.flows.pass_time_until(self.clock.without_steps(at));
    }

    pub fn packets(&self) -> u64 {
        self.tally.packets
    }

    pub fn open_connections(&self) -> u64 {
        self.flows.open_connections() as u64
    }

    pub fn finish(mut self) -> Report {
        self.flows.finish();
        report::conclude_live(
            &self.name,
            &self.tally,
            self.clock.steps(),
            &self.flows,
            self.fragments.lost,
        )
    }
}
