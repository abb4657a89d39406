//! Many sockets over one kernel ring (`io_uring(7)`): one system call serves all busy sockets,
//! where epoll takes two for each. Sends leave with the next wait.
//!
//! It pays with many connections: measured on two processors, 64 connections to PostgreSQL take 0.7
//! of the processor time of epoll, 8 take as much (`measurements/`). A send waits until earlier
//! completions of the same wait are handled.

mod buffers;
mod sends;

use crate::error::OsError;
use crate::poller::Poller;
use crate::socket::{Received, Socket};
use buffers::Buffers;
use io_uring::types::{CancelBuilder, Fd, SubmitArgs, Timespec};
use io_uring::{IoUring, cqueue, opcode, squeue};
use sends::Sends;
use std::collections::VecDeque;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::time::Duration;

/// Sockets, numbered by the caller, whose bytes pass through a ring, and a poller for other
/// descriptors. All in one thread.
pub struct Completions {
    /// Declared before the memory it refers to, so that it is dropped first.
    ring: IoUring,
    buffers: Buffers,
    sends: Sends,
    sockets: Vec<Option<Member>>,
    /// Distinguishes completions of an earlier socket under the same number.
    generation: u32,
    poller: RawFd,
    came: VecDeque<cqueue::Entry>,
}

#[derive(Debug)]
struct Member {
    fd: RawFd,
    generation: u32,
    /// A send is in flight; further bytes wait, to stay in order.
    sending: bool,
    waiting: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completion {
    /// For the socket with this number; bytes are in the caller's buffer.
    Socket(usize, Received),
    Poller,
}

impl Completions {
    /// For sockets numbered from 0 to `most` - 1, and `poller`, which must live as long. `None` if
    /// the kernel lacks the rings (before Linux 6.1) or forbids them (`kernel.io_uring_disabled`,
    /// many containers).
    pub fn new(most: usize, poller: &Poller) -> Option<Self> {
        let ring = IoUring::builder()
            .setup_single_issuer()
            .setup_coop_taskrun()
            .setup_defer_taskrun()
            .build(ENTRIES)
            .ok()?;
        let buffers = Buffers::registered_with(&ring)?;
        let mut sockets = Vec::new();
        sockets.resize_with(most, || None);
        let mut new = Self {
            ring,
            buffers,
            sends: Sends::default(),
            sockets,
            generation: 0,
            poller: poller.as_fd().as_raw_fd(),
            came: VecDeque::new(),
        };
        new.watch_poller();
        Some(new)
    }

    /// The socket must stay open until [`Completions::forget`].
    pub fn adopt(&mut self, number: usize, socket: &Socket) {
        self.generation = self.generation.wrapping_add(1) & GENERATIONS;
        let member = Member {
            fd: socket.as_fd().as_raw_fd(),
            generation: self.generation,
            sending: false,
            waiting: Vec::new(),
        };
        self.receive_from(number, member.fd, member.generation);
        self.sockets[number] = Some(member);
    }

    pub fn has(&self, number: usize) -> bool {
        self.sockets.get(number).is_some_and(Option::is_some)
    }

    /// Call it before the socket is closed. Bytes sent before the last wait are with the kernel.
    pub fn forget(&mut self, number: usize) {
        let Some(member) = self.sockets.get_mut(number).and_then(Option::take) else {
            return;
        };
        let receiving = user_data(RECEIVE, member.generation, number);
        let cancel = opcode::AsyncCancel::new(receiving)
            .build()
            .user_data(user_data(IGNORED, 0, 0));
        self.push(&cancel);
        // Entries name the socket by descriptor: none may remain when that is reused.
        self.ring.submit().ok();
    }

    /// Sends `bytes` with the next wait. On failure, the socket's next completion is
    /// [`Received::Broken`].
    pub fn send(&mut self, number: usize, bytes: &[u8]) {
        let Some(Some(member)) = self.sockets.get_mut(number) else {
            return;
        };
        if member.sending {
            member.waiting.extend_from_slice(bytes);
            return;
        }
        member.sending = true;
        let fd = member.fd;
        self.send_now(number, fd, bytes);
    }

    fn send_now(&mut self, number: usize, fd: RawFd, bytes: &[u8]) {
        let (place, held) = self.sends.buffer_send(number, self.generation_of(number), bytes);
        let length = u32::try_from(held.len()).unwrap_or(u32::MAX);
        // The kernel sends all of it (MSG_WAITALL): a shorter completion means a broken connection.
        let send = opcode::Send::new(Fd(fd), held.as_ptr(), length)
            .flags(libc::MSG_NOSIGNAL | libc::MSG_WAITALL)
            .build()
            .user_data(user_data(SEND, 0, place));
        self.push(&send);
    }

    pub fn wait(&mut self, longest: Duration) {
        let longest = Timespec::from(longest);
        let arguments = SubmitArgs::new().timespec(&longest);
        // It fails at the timeout, at a signal, and when completions are pending: each time they
        // are taken.
        self.ring.submitter().submit_with_args(1, &arguments).ok();
        self.came.extend(self.ring.completion());
    }

    /// `buffer` must have room for [`MAX_BYTES`].
    pub fn next_completion(&mut self, buffer: &mut [u8]) -> Option<Completion> {
        while let Some(entry) = self.came.pop_front() {
            let (kind, generation, number) = parts(entry.user_data());
            let completion = match kind {
                RECEIVE => self.received(number, generation, &entry, buffer),
                SEND => self.sent(number, entry.result()),
                POLLER => {
                    self.watch_poller();
                    Some(Completion::Poller)
                }
                _ => None,
            };
            if completion.is_some() {
                return completion;
            }
        }
        self.buffers.publish();
        None
    }

    fn received(
        &mut self,
        number: usize,
        generation: u32,
        entry: &cqueue::Entry,
        buffer: &mut [u8],
    ) -> Option<Completion> {
        let count = match cqueue::buffer_select(entry.flags()) {
            Some(id) => self.buffers.copy_out(id, entry.result(), buffer),
            None => 0,
        };
        if self.generation_of(number) != generation || !self.has(number) {
            return None;
        }
        let goes_on = cqueue::more(entry.flags());
        let received = match entry.result() {
            result if result > 0 => Received::Bytes {
                count,
                emptied: true,
                stamp: None,
            },
            0 => Received::End,
            // All buffers were in use; by now they are free.
            error if matches!(-error, libc::ENOBUFS | libc::EINTR | libc::EAGAIN) => Received::Nothing,
            error => Received::Broken(OsError(-error)),
        };
        let lasts = matches!(received, Received::Bytes { .. } | Received::Nothing);
        if lasts
            && !goes_on
            && let Some(Some(member)) = self.sockets.get(number)
        {
            self.buffers.publish();
            self.receive_from(number, member.fd, generation);
        }
        (received != Received::Nothing).then_some(Completion::Socket(number, received))
    }

    fn sent(&mut self, place: usize, result: i32) -> Option<Completion> {
        let (number, generation, length) = self.sends.release_send(place)?;
        if self.generation_of(number) != generation {
            return None;
        }
        let member = self.sockets.get_mut(number)?.as_mut()?;
        if usize::try_from(result) != Ok(length) {
            let reason = OsError(if result < 0 { -result } else { libc::EPIPE });
            return Some(Completion::Socket(number, Received::Broken(reason)));
        }
        member.sending = !member.waiting.is_empty();
        if member.sending {
            let (waiting, fd) = (std::mem::take(&mut member.waiting), member.fd);
            self.send_now(number, fd, &waiting);
        }
        None
    }

    /// Returns 0 if there is no such socket.
    fn generation_of(&self, number: usize) -> u32 {
        let member = self.sockets.get(number).and_then(Option::as_ref);
        member.map_or(0, |member| member.generation)
    }

    fn receive_from(&mut self, number: usize, fd: RawFd, generation: u32) {
        let receive = opcode::RecvMulti::new(Fd(fd), buffers::GROUP)
            .build()
            .user_data(user_data(RECEIVE, generation, number));
        self.push(&receive);
    }

    fn watch_poller(&mut self) {
        let readable = u32::from(libc::POLLIN.cast_unsigned());
        let poll = opcode::PollAdd::new(Fd(self.poller), readable)
            .build()
            .user_data(user_data(POLLER, 0, 0));
        self.push(&poll);
    }

    fn push(&mut self, entry: &squeue::Entry) {
        // SAFETY: what an entry refers to lives until its completion: buffers of `Buffers` and `Sends` as
        // long as the ring has work (see `drop`), descriptors until `forget` has handed over every entry that
        // names them.
        while unsafe { self.ring.submission().push(entry) }.is_err() {
            // The queue is full. Submission fails only while completions cannot be posted; then
            // they are fetched.
            if self.ring.submit().is_err() {
                self.came.extend(self.ring.completion());
            }
        }
    }
}

/// Ends all operations, so that the kernel no longer accesses memory of this ring.
impl Drop for Completions {
    fn drop(&mut self) {
        self.ring.submit().ok();
        let ended = self
            .ring
            .submitter()
            .register_sync_cancel(None, CancelBuilder::any());
        let nothing_left = ended
            .as_ref()
            .is_err_and(|error| error.raw_os_error() == Some(libc::ENOENT));
        if ended.is_err() && !nothing_left {
            // The kernel may still use this memory.
            self.buffers.leak();
            self.sends.leak();
        }
    }
}

const ENTRIES: u32 = 256;
pub const MAX_BYTES: usize = buffers::BYTES;

const RECEIVE: u64 = 0;
const SEND: u64 = 1;
const POLLER: u64 = 2;
const IGNORED: u64 = 3;

/// 2 bits of kind, 30 of generation, 32 of number.
const fn user_data(kind: u64, generation: u32, number: usize) -> u64 {
    kind << 62 | (generation as u64) << 32 | number as u64 & NUMBERS
}

const fn parts(user_data: u64) -> (u64, u32, usize) {
    let generation = (user_data >> 32) as u32 & GENERATIONS;
    (user_data >> 62, generation, (user_data & NUMBERS) as usize)
}

const GENERATIONS: u32 = (1 << 30) - 1;
const NUMBERS: u64 = u32::MAX as u64;

#[cfg(test)]
mod tests;
