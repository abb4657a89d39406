//! Many sockets through one ring of the kernel's (`io_uring(7)`): what has come is there when a wait ends,
//! and what is sent leaves with the next wait. One system call serves all sockets that are busy, where epoll
//! takes two for each.
//!
//! It pays with many connections: measured on two processors, 64 connections to PostgreSQL take 0.7 of the
//! processor time that epoll takes, 8 as much (`measurements/`). What is sent waits until what came before it
//! in the same wait is dealt with.

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

/// Sockets, each under a number of the caller's, whose bytes come and go by a ring; and a poller for what
/// else is waited for. Of one thread.
pub struct Completions {
    /// Before what it refers to: dropped first.
    ring: IoUring,
    buffers: Buffers,
    sends: Sends,
    sockets: Vec<Option<Member>>,
    /// How often a number was given up: completions of an earlier socket under it are recognized.
    generation: u32,
    poller: RawFd,
    /// What came with the last wait and was not taken.
    came: VecDeque<cqueue::Entry>,
}

/// A socket that takes part.
#[derive(Debug)]
struct Member {
    fd: RawFd,
    generation: u32,
    /// A send of its is in progress; what is sent meanwhile waits, so that no byte overtakes another.
    sending: bool,
    waiting: Vec<u8>,
}

/// What [`Completions::next_completion`] gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completion {
    /// Of the socket under this number; bytes lie in the caller's buffer.
    Socket(usize, Received),
    /// The poller has something ready.
    Poller,
}

impl Completions {
    /// For sockets numbered from 0 to `most` - 1, and `poller`, which must live as long. `None` if the kernel
    /// has no such rings (before Linux 6.1) or does not allow them (`kernel.io_uring_disabled`, many a
    /// container).
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

    /// From now on what `socket` receives comes by [`Completions::next_completion`] under `number`. It must
    /// stay open until [`Completions::forget`].
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

    /// Whether the socket under `number` takes part.
    pub fn has(&self, number: usize) -> bool {
        self.sockets.get(number).is_some_and(Option::is_some)
    }

    /// Gives the socket under `number` up, before it is closed. What it was given to send before the last
    /// wait has been handed to the kernel.
    pub fn forget(&mut self, number: usize) {
        let Some(member) = self.sockets.get_mut(number).and_then(Option::take) else {
            return;
        };
        let receiving = user_data(RECEIVE, member.generation, number);
        let cancel = opcode::AsyncCancel::new(receiving)
            .build()
            .user_data(user_data(IGNORED, 0, 0));
        self.push(&cancel);
        // Entries name the socket by its descriptor: none may be left when that comes to mean another one.
        self.ring.submit().ok();
    }

    /// Sends `bytes` with the next wait. When that fails, the socket's next completion is
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
        // The kernel sends all of it (MSG_WAITALL): a completion with less means that the connection broke.
        let send = opcode::Send::new(Fd(fd), held.as_ptr(), length)
            .flags(libc::MSG_NOSIGNAL | libc::MSG_WAITALL)
            .build()
            .user_data(user_data(SEND, 0, place));
        self.push(&send);
    }

    /// Hands over what is to be sent, and waits until something has come, at most `longest`.
    pub fn wait(&mut self, longest: Duration) {
        let longest = Timespec::from(longest);
        let arguments = SubmitArgs::new().timespec(&longest);
        // It fails when the time is over, at a signal, and when completions wait to be taken: in each case
        // what is there is taken.
        self.ring.submitter().submit_with_args(1, &arguments).ok();
        self.came.extend(self.ring.completion());
    }

    /// What came with the last wait, one after the other; bytes are written to `buffer`, which must have room
    /// for [`MAX_BYTES`].
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
            // All buffers were in use: they are given back by now.
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

    /// A send is over: the socket's next one begins.
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

    /// That of the socket under `number`; 0, which none has, where there is none.
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
            // The queue is full. Handing over fails only while completions cannot be posted; then they are
            // fetched.
            if self.ring.submit().is_err() {
                self.came.extend(self.ring.completion());
            }
        }
    }
}

/// Ends all that is in progress, after which the kernel neither reads nor writes memory of this ring.
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
            // What the kernel may still use must stay.
            self.buffers.leak();
            self.sends.leak();
        }
    }
}

/// Entries that are handed over at once at most.
const ENTRIES: u32 = 256;
/// The most bytes of one completion.
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
