//! Captures packets of network interfaces with a packet socket (`packet(7)`).
//!
//! The kernel writes into a ring of blocks shared with this process (TPACKET_V3,
//! `Documentation/networking/packet_mmap.rst` of Linux), so that one wake-up serves many packets.
//! Only packets that pass the filter program enter the ring.

mod blocks;
mod interfaces;
mod open;
mod seen;

pub use interfaces::Interfaces;
pub use open::RING_SIZES;
pub use seen::{SeenPacket, VlanTag};

use crate::error::LiveError;
use crate::socket::options;
use crate::stop::StopToken;
use crate::wait::PollFlags;
use blocks::Blocks;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

#[derive(Debug)]
pub struct PacketRing {
    socket: OwnedFd,
    blocks: Blocks,
    next: usize,
    interfaces: Interfaces,
    counts: PacketCounts,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PacketCounts {
    /// Packets that passed the filter.
    pub passed: u64,
    /// Packets among them that found the ring full.
    pub dropped: u64,
}

/// A classic BPF instruction, as `struct sock_filter`: code, jump if true, jump if false, constant.
pub type FilterStep = (u16, u8, u8, u32);

impl PacketRing {
    /// The ring has about `bytes`, less if the system refuses. The filter is in place before the
    /// first packet; afterwards this thread and those that it starts have no right to capture.
    ///
    /// # Errors
    /// If this process may not capture, or the system refuses another step.
    pub fn open(interfaces: Interfaces, bytes: usize, program: &[FilterStep]) -> Result<Self, LiveError> {
        let (socket, blocks) = open::ring(&interfaces, bytes, program)?;
        open::give_up_right();
        Ok(Self {
            socket,
            blocks,
            next: 0,
            interfaces,
            counts: PacketCounts::default(),
        })
    }

    /// Returns the number of packets. Waits until `stop` or `longest`: the kernel releases a block
    /// when it is full, or 40 ms after its first packet.
    pub fn read_packets(
        &mut self,
        stop: &StopToken,
        longest: Duration,
        each: &mut dyn FnMut(&SeenPacket<'_>),
    ) -> usize {
        if !self.blocks.is_ready(self.next) && !self.wait(stop, longest) {
            return 0;
        }
        let count = seen::each_of(self.blocks.block(self.next), each);
        self.blocks.give_back(self.next);
        self.next = (self.next + 1) % self.blocks.count();
        count
    }

    fn wait(&self, stop: &StopToken, longest: Duration) -> bool {
        let woken = stop.until_ready(self.socket.as_fd(), PollFlags::IN, longest);
        let is_there = self.blocks.is_ready(self.next);
        if woken && !is_there {
            // An interface that goes down is an error of the socket, once. Reading clears it;
            // `take_gone` explains it.
            options::get(self.socket.as_fd(), libc::SOL_SOCKET, libc::SO_ERROR, &mut [0; 4]).ok();
            std::thread::sleep(AFTER_ERROR.min(longest));
        }
        is_there
    }

    pub fn counts(&mut self) -> PacketCounts {
        // Reading resets them: `struct tpacket_stats_v3`, where `tp_packets` includes dropped
        // packets.
        let mut room = [0; 12];
        if let Ok(read) = options::get(
            self.socket.as_fd(),
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
            &mut room,
        ) {
            let number = |at: usize| {
                let bytes = read.get(at..).and_then(|rest| rest.first_chunk::<4>());
                bytes.map_or(0, |bytes| u64::from(u32::from_ne_bytes(*bytes)))
            };
            self.counts.passed += number(0);
            self.counts.dropped += number(4);
        }
        self.counts
    }

    /// Returns each name once.
    pub fn take_gone(&mut self) -> Option<String> {
        self.interfaces.take_gone(self.socket.as_fd())
    }

    pub fn has_several(&self) -> bool {
        self.interfaces.only().is_none()
    }
}

/// Keeps a persistent error from taking a processor.
const AFTER_ERROR: Duration = Duration::from_millis(10);
