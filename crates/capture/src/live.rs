//! Packets that are handed over as they pass, instead of read from a source.

use crate::clock::Clock;
use crate::flows::Flows;
use crate::formats::Record;
use crate::fragments::Fragments;
use crate::links;
use crate::report::{self, Report};
use crate::source::FrameTally;
use model::{Observer, Timestamp};

/// A capture in progress: packets in, events out as by [`read_sources`](crate::read_sources).
pub struct LiveCapture<'o> {
    name: String,
    flows: Flows<'o>,
    fragments: Fragments,
    tally: FrameTally,
    clock: Clock,
}

/// A packet that passed.
#[derive(Debug, Clone, Copy)]
pub struct LivePacket<'a> {
    /// When.
    pub at: Timestamp,
    /// Its link layer, by its number in capture files (<https://www.tcpdump.org/linktypes.html>).
    pub link_type: u16,
    /// Number of the interface. The same packet on several of them is one.
    pub interface: u32,
    /// Its bytes, from its link layer's first one on.
    pub frame: &'a [u8],
    /// Bytes it had on the wire, from there on.
    pub wire: u32,
}

impl<'o> LiveCapture<'o> {
    /// Nothing yet. `name` is what warnings call the source.
    pub fn new(name: &str, observer: &'o mut dyn Observer) -> Self {
        Self {
            name: name.to_owned(),
            flows: Flows::new(1, observer),
            fragments: Fragments::default(),
            tally: FrameTally::default(),
            clock: Clock::live(),
        }
    }

    /// Takes a packet. Those of several interfaces may come a little out of order.
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

    /// No packet passed before `at` that was not handed over: what was held back for one is let go, and
    /// connections that have ended are given up.
    pub fn pass_time(&mut self, at: Timestamp) {
        self.flows.pass_time_until(self.clock.without_steps(at));
    }

    /// Packets so far.
    pub fn packets(&self) -> u64 {
        self.tally.packets
    }

    /// Connections that are open.
    pub fn open_connections(&self) -> u64 {
        self.flows.open_connections() as u64
    }

    /// Ends all connections and sums up.
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
