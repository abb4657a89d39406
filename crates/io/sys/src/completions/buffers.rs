//! Buffers that the kernel selects on receipt (`io_uring_register_buf_ring(3)`).

use io_uring::IoUring;
use io_uring::types::BufRingEntry;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use std::ffi::c_void;
use std::sync::atomic::{AtomicU16, Ordering};

/// In one mapping, after the ring of their descriptors.
pub(super) struct Buffers {
    mapping: *mut c_void,
    /// Buffers given to the kernel, modulo 2^16.
    given: u16,
}

impl Buffers {
    /// `None` if the kernel refuses them.
    pub fn registered_with(ring: &IoUring) -> Option<Self> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let mapping =
            unsafe { mmap_anonymous(std::ptr::null_mut(), LENGTH, access, MapFlags::PRIVATE) }.ok()?;
        let mut new = Self { mapping, given: 0 };
        // SAFETY: the mapping begins with room for as many descriptions, and lives until after the ring has
        // ended (`Completions::drop`).
        unsafe {
            ring.submitter()
                .register_buf_ring_with_flags(mapping as u64, COUNT, GROUP, 0)
        }
        .ok()?;
        (0..COUNT).for_each(|id| new.return_buffer(id));
        new.publish();
        Some(new)
    }

    /// Gives buffer `id` back to the kernel. Returns the number of bytes copied.
    pub fn copy_out(&mut self, id: u16, count: i32, into: &mut [u8]) -> usize {
        if id >= COUNT {
            return 0;
        }
        let count = usize::try_from(count).unwrap_or(0).min(BYTES).min(into.len());
        // SAFETY: buffer `id` lies in the mapping, and the kernel does not write to it between its completion
        // and when it is given back.
        let came = unsafe { std::slice::from_raw_parts(self.address(id), count) };
        into[..count].copy_from_slice(came);
        self.return_buffer(id);
        count
    }

    fn return_buffer(&mut self, id: u16) {
        let place = usize::from(self.given & (COUNT - 1));
        let address = self.address(id) as u64;
        // SAFETY: `place` is within the ring of descriptions, of which the kernel reads those before the
        // published tail only.
        let entry = unsafe { &mut *self.mapping.cast::<BufRingEntry>().add(place) };
        entry.set_addr(address);
        entry.set_len(BYTES as u32);
        entry.set_bid(id);
        self.given = self.given.wrapping_add(1);
    }

    pub fn publish(&self) {
        // SAFETY: the mapping begins with the ring of descriptions, aligned to a page; its tail is a 16-bit
        // number that the kernel reads.
        let tail = unsafe { AtomicU16::from_ptr(BufRingEntry::tail(self.mapping.cast()).cast_mut()) };
        tail.store(self.given, Ordering::Release);
    }

    fn address(&self, id: u16) -> *mut u8 {
        let offset = DESCRIPTIONS + usize::from(id) * BYTES;
        self.mapping.cast::<u8>().wrapping_add(offset)
    }

    pub fn leak(&mut self) {
        self.mapping = std::ptr::null_mut();
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        if !self.mapping.is_null() {
            // SAFETY: it is the mapping of this value, of which no reference is left. It fails only for what
            // is none.
            unsafe { munmap(self.mapping, LENGTH) }.ok();
        }
    }
}

pub(super) const GROUP: u16 = 0;
/// Longer messages come in parts.
pub(super) const BYTES: usize = 16 * 1024;
/// A power of two.
const COUNT: u16 = 128;
/// Bytes of the ring of 16-byte descriptors, whole pages.
const DESCRIPTIONS: usize = 4096;
const LENGTH: usize = DESCRIPTIONS + COUNT as usize * BYTES;
const _: () = assert!(COUNT as usize * size_of::<BufRingEntry>() <= DESCRIPTIONS && COUNT.is_power_of_two());
