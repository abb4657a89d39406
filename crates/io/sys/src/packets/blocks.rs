//! Blocks of memory shared with the kernel; each belongs to one side at a time.

use crate::error::OsError;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

#[derive(Debug)]
pub(super) struct Blocks {
    start: NonNull<u8>,
    size: usize,
    count: usize,
}

// SAFETY: the memory belongs to this value alone, whichever thread has it; the kernel does not care which.
unsafe impl Send for Blocks {}

impl Blocks {
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

    pub fn count(&self) -> usize {
        self.count
    }

    pub fn bytes(&self) -> usize {
        self.size * self.count
    }

    pub fn is_ready(&self, block: usize) -> bool {
        self.status(block).load(Ordering::Acquire) & libc::TP_STATUS_USER != 0
    }

    /// Empty while the kernel owns the block.
    pub fn block(&self, block: usize) -> &[u8] {
        if !self.is_ready(block) {
            return &[];
        }
        let at = (block % self.count) * self.size;
        // SAFETY: it is within the mapping, which lives as long as `self`. The kernel writes to no block that
        // it has passed on, and takes it back only by `give_back`, which needs `self` for itself.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr().add(at), self.size) }
    }

    pub fn give_back(&mut self, block: usize) {
        self.status(block)
            .store(libc::TP_STATUS_KERNEL, Ordering::Release);
    }

    /// The `block_status` of `struct tpacket_block_desc`, after version and offset.
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

const STATUS: usize = 8;
