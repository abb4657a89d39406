//! Packets of network interfaces, as a packet socket shows them (`packet(7)`).
//!
//! The kernel writes them into a ring of blocks in memory that it shares with this process (TPACKET_V3,
//! `Documentation/networking/packet_mmap.rst` of Linux), so that one wake-up serves many packets.
//! [`PacketRing`] hands them out, [`Interfaces`] says of which interfaces. Only packets that pass the program
//! given are ever in the ring.

mod blocks;
mod interfaces;
mod open;
mod seen;

pub use interfaces::Interfaces;
pub use open::RING_SIZES;
pub use seen::{SeenPacket, VlanTag};

use crate::error::LiveError;
use crate::socket::options;
use crate::wait::{self, PollFlags};
use blocks::Blocks;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

/// What passes some interfaces, from the moment it is opened on.
#[derive(Debug)]
pub struct PacketRing {
    socket: OwnedFd,
    blocks: Blocks,
    /// The block that is next.
    next: usize,
    interfaces: Interfaces,
    counts: PacketCounts,
}

/// What the kernel counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PacketCounts {
    /// Packets that passed the program.
    pub passed: u64,
    /// Of these, packets that the ring had no room for.
    pub dropped: u64,
}

/// An instruction of a classic BPF program, as `struct sock_filter` has it: what it does, the two distances,
/// its number.
pub type FilterStep = (u16, u8, u8, u32);

impl PacketRing {
    /// Opens a ring of about `bytes`, of which as much is used as the system has. The program is there before
    /// the first packet is, and the right to capture is given up afterwards, by this thread and those that it
    /// will start.
    ///
    /// # Errors
    /// When this process may not capture, or the system refuses another step.
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

    /// Hands the packets of the next block to `each`, in the order in which they passed, and says how many
    /// there were. Waits at most `longest` for a block: the kernel passes one on when it is full, or 40 ms
    /// after its first packet.
    pub fn read_packets(&mut self, longest: Duration, each: &mut dyn FnMut(&SeenPacket<'_>)) -> usize {
        if !self.blocks.is_ready(self.next) && !self.wait(longest) {
            return 0;
        }
        let count = seen::each_of(self.blocks.block(self.next), each);
        self.blocks.give_back(self.next);
        self.next = (self.next + 1) % self.blocks.count();
        count
    }

    /// Waits for the next block, and says whether it is there.
    fn wait(&self, longest: Duration) -> bool {
        let woken = wait::until_ready(self.socket.as_fd(), PollFlags::IN, longest);
        let is_there = self.blocks.is_ready(self.next);
        if woken && !is_there {
            // An interface that goes down is an error of the socket, once. Reading takes it away; `take_gone`
            // says what it means.
            options::get(self.socket.as_fd(), libc::SOL_SOCKET, libc::SO_ERROR, &mut [0; 4]).ok();
            std::thread::sleep(AFTER_ERROR.min(longest));
        }
        is_there
    }

    /// What the kernel has counted since the ring was opened.
    pub fn counts(&mut self) -> PacketCounts {
        // Reading them begins them anew: `struct tpacket_stats_v3`, of which `tp_packets` has the dropped
        // ones too.
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

    /// The name of an interface that is not there any more, once.
    pub fn take_gone(&mut self) -> Option<String> {
        self.interfaces.take_gone(self.socket.as_fd())
    }

    /// Whether packets may come from several interfaces.
    pub fn has_several(&self) -> bool {
        self.interfaces.only().is_none()
    }
}

/// What keeps an error that persists from taking a processor.
const AFTER_ERROR: Duration = Duration::from_millis(10);
