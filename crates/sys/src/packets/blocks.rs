//! The memory that the kernel and this process share: blocks, each of which one of them owns at a time.

use crate::error::OsError;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

/// Blocks of one size.
#[derive(Debug)]
pub(super) struct Blocks {
    start: NonNull<u8>,
    size: usize,
    count: usize,
}

// SAFETY: the memory belongs to this value alone, whichever thread has it; the kernel does not care which.
unsafe impl Send for Blocks {}

impl Blocks {
    /// Maps the ring of a packet socket, which has `count` blocks of `size` bytes.
    pub fn map(socket: BorrowedFd<'_>, size: usize, count: usize) -> Result<Self, OsError> {
        // SAFETY: a new mapping, at an address that the kernel chooses; nothing else knows it.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                size * count,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                socket.as_raw_fd(),
                0,
            )
        };
        match NonNull::new(start.cast::<u8>()) {
            Some(start) if start.as_ptr().cast() != libc::MAP_FAILED => Ok(Self { start, size, count }),
            _ => Err(OsError::last()),
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Bytes of all.
    pub fn bytes(&self) -> usize {
        self.size * self.count
    }

    /// Whether the kernel has passed this block on.
    pub fn is_ready(&self, block: usize) -> bool {
        self.status(block).load(Ordering::Acquire) & libc::TP_STATUS_USER != 0
    }

    /// The bytes of a block; none of one that the kernel has not passed on.
    pub fn block(&self, block: usize) -> &[u8] {
        if !self.is_ready(block) {
            return &[];
        }
        let at = (block % self.count) * self.size;
        // SAFETY: it is within the mapping, which lives as long as `self`. The kernel writes to no block that
        // it has passed on, and takes it back only by `give_back`, which needs `self` for itself.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr().add(at), self.size) }
    }

    /// Lets the kernel use a block again.
    pub fn give_back(&mut self, block: usize) {
        self.status(block)
            .store(libc::TP_STATUS_KERNEL, Ordering::Release);
    }

    /// Who owns a block: `block_status` of `struct tpacket_block_desc`, behind its version and the offset of
    /// its private part.
    fn status(&self, block: usize) -> &AtomicU32 {
        let at = (block % self.count) * self.size + STATUS;
        // SAFETY: it is within the mapping, aligned to four bytes since blocks are to pages, and both sides
        // use it atomically.
        unsafe { AtomicU32::from_ptr(self.start.as_ptr().add(at).cast()) }
    }
}

impl Drop for Blocks {
    fn drop(&mut self) {
        // SAFETY: it is what was mapped, and nothing borrows from it any more.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes()) };
    }
}

/// Offset of a block's status.
const STATUS: usize = 8;
