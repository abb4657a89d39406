//! Forks of this process that never exec: they watch other processes, and outlive this process to
//! end those it leaves behind.
//!
//! Such a fork has one thread, no descriptor except its channel, and no signal that could end it
//! except SIGKILL.

use crate::error::OsError;
use crate::process_tree::Member;
use crate::signals::{self, HeldSignals};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};
use rustix::process::{WaitOptions, WaitStatus, wait};
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// While it is open, the fork has no process to end.
#[derive(Debug)]
pub(crate) struct ForkChannel(UnixStream);

#[derive(Debug)]
pub(crate) struct OwnerChannel(UnixStream);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OwnerState {
    /// The program has replaced the process that was to become it.
    Started,
    Done,
    Signal(libc::c_int),
    /// The owner was killed.
    Gone,
}

/// Runs `between` in the new process before exec; its descriptor is open in that process only.
pub(crate) fn spawn(
    command: &mut Command,
    mut between: impl FnMut(RawFd) -> io::Result<()> + Send + Sync + 'static,
) -> io::Result<(Child, ForkChannel)> {
    let (ours, theirs) = UnixStream::pair()?;
    let number = theirs.as_raw_fd();
    // The command may live on; this end must not, so that the end of the fork is noticed.
    let theirs = Arc::new(Mutex::new(Some(theirs)));
    let held = Arc::clone(&theirs);
    // SAFETY: `between` is of this crate, and knows that it runs between fork and exec: in the one thread of
    // its process, without locks that another one could hold (libc's fork leaves its allocator usable).
    unsafe {
        command.pre_exec(move || {
            let _held = &held;
            between(number)
        });
    }
    let child = command.spawn();
    theirs.lock().unwrap_or_else(PoisonError::into_inner).take();
    Ok((child?, ForkChannel(ours)))
}

impl AsFd for ForkChannel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl ForkChannel {
    #[cfg(test)]
    pub const fn new(stream: UnixStream) -> Self {
        Self(stream)
    }

    /// Returns `None` at the timeout, or at the end of the channel.
    pub fn receive(&self, longest: Option<Duration>) -> Option<i32> {
        self.0.set_nonblocking(longest.is_none()).ok()?;
        self.0.set_read_timeout(longest).ok()?;
        let mut bytes = [0; 4];
        (&self.0).read_exact(&mut bytes).ok()?;
        Some(i32::from_ne_bytes(bytes))
    }

    pub fn started(&self) {
        self.say(STARTED);
    }

    pub fn release(&self) {
        self.say(DONE);
    }

    pub fn pass(&self, signal: libc::c_int) {
        self.say(u8::try_from(signal).unwrap_or(DONE));
    }

    pub fn try_clone(&self) -> io::Result<Self> {
        self.0.try_clone().map(Self)
    }

    /// For all holders in this process.
    pub fn shut(&self) {
        // Fails only if the fork is gone.
        self.0.shutdown(Shutdown::Both).ok();
    }

    /// Returns `false` if the fork is gone.
    pub fn send_request(&self, question: &[u8], answer: &mut [u8]) -> bool {
        (&self.0)
            .write_all(question)
            .and_then(|()| (&self.0).read_exact(answer))
            .is_ok()
    }

    /// Fails with the fork's own error, or if the fork is gone.
    pub fn take_over_file(&self) -> io::Result<File> {
        let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let mut number = [0; 4];
        let mut parts = [IoSliceMut::new(&mut number)];
        let received = recvmsg(&self.0, &mut parts, &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
        if received.bytes < size_of::<i32>() {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let mut files = ancillary.drain().filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut files) => files.next(),
            _ => None,
        });
        match files.next() {
            Some(file) => Ok(File::from(file)),
            None => Err(io::Error::from_raw_os_error(i32::from_ne_bytes(number))),
        }
    }

    /// Failure means that the fork is gone.
    fn say(&self, word: u8) {
        (&self.0).write_all(&[word]).ok();
    }
}

impl OwnerChannel {
    /// Keeps only this channel open, and blocks all signals.
    pub fn take_over(number: RawFd, name: &std::ffi::CStr) -> Self {
        Self::take_over_with(number, None, name)
    }

    /// Keeps another descriptor too.
    pub fn take_over_with(number: RawFd, kept: Option<RawFd>, name: &std::ffi::CStr) -> Self {
        // Ends of children are reported, even if this process ignored them.
        let _ = HeldSignals::hold(&[]);
        signals::block_all_signals();
        close_all_but(number, kept.unwrap_or(number));
        // A failure leaves the old name.
        rustix::thread::set_name(name).ok();
        // SAFETY: the descriptor was made for this process, in which nothing else has it.
        Self(unsafe { UnixStream::from_raw_fd(number) })
    }

    pub fn send(&self, number: i32) {
        (&self.0).write_all(&number.to_ne_bytes()).ok();
    }

    /// Returns `false` if no owner is left.
    pub fn receive(&self, question: &mut [u8]) -> bool {
        (&self.0).read_exact(question).is_ok()
    }

    pub fn answer(&self, answer: &[u8]) {
        (&self.0).write_all(answer).ok();
    }

    pub fn hand_over(&self, file: io::Result<File>) {
        let number = file
            .as_ref()
            .err()
            .map_or(0, |error| OsError::from_io_error(error).0);
        let files: Vec<BorrowedFd<'_>> = file.iter().map(AsFd::as_fd).collect();
        let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        if !files.is_empty() {
            ancillary.push(SendAncillaryMessage::ScmRights(&files));
        }
        let number = number.to_ne_bytes();
        // Fails only if the owner is gone.
        sendmsg(
            &self.0,
            &[IoSlice::new(&number)],
            &mut ancillary,
            SendFlags::empty(),
        )
        .ok();
    }

    /// Call it when the channel is readable.
    pub fn state(&self) -> OwnerState {
        let mut word = [0];
        match (&self.0).read(&mut word) {
            Ok(0) | Err(_) => OwnerState::Gone,
            Ok(_) if word[0] == DONE => OwnerState::Done,
            Ok(_) if word[0] == STARTED => OwnerState::Started,
            Ok(_) => OwnerState::Signal(word[0].into()),
        }
    }

    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// For a process that has one thread.
pub(crate) fn fork_again() -> io::Result<libc::pid_t> {
    // SAFETY: this process was forked itself and has one thread, so that both that return have everything
    // they had.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        process => Ok(process),
    }
}

/// Skips the owner's destructors and exit handlers.
pub(crate) fn exit_now() -> ! {
    // SAFETY: does not return and touches no memory.
    unsafe { libc::_exit(0) }
}

/// Readable when a child has ended.
pub(crate) fn ends_of_children() -> io::Result<OwnedFd> {
    let signals = signals::set_of(Some(&[libc::SIGCHLD]));
    // SAFETY: the set is initialised; what the call returns is a new descriptor, or no valid one.
    unsafe {
        match libc::signalfd(-1, &raw const signals, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) {
            -1 => Err(io::Error::last_os_error()),
            number => Ok(OwnedFd::from_raw_fd(number)),
        }
    }
}

pub(crate) fn reap(each: &mut dyn FnMut(libc::pid_t, WaitStatus)) {
    while let Ok(Some((process, status))) = wait(WaitOptions::NOHANG) {
        each(process.as_raw_pid(), status);
    }
}

/// Sends SIGTERM, waits for [`GRACE`], sends SIGKILL. All are stopped before the first is killed,
/// so that no child loses the parent by which it is found.
pub(crate) fn end_all(members: &dyn Fn() -> Vec<Member>) {
    let began = Instant::now();
    for member in members() {
        member.send(libc::SIGTERM);
        member.send(libc::SIGCONT);
    }
    while began.elapsed() < GRACE && has_living(members) {
        thread::sleep(POLL_INTERVAL);
    }
    while began.elapsed() < MAX_KILL_WAIT {
        let mut stopped: Vec<Member> = Vec::new();
        loop {
            let found = members();
            let before = stopped.len();
            for member in found {
                if !stopped.contains(&member) {
                    member.send(libc::SIGSTOP);
                    stopped.push(member);
                }
            }
            if stopped.len() == before {
                break;
            }
        }
        stopped.iter().for_each(|member| member.send(libc::SIGKILL));
        reap(&mut |_, _| {});
        // Checked twice: a process that was reparented meanwhile is seen the second time.
        if !has_living(members) && !has_living(members) {
            return;
        }
        thread::sleep(POLL_INTERVAL);
    }
}

fn has_living(members: &dyn Fn() -> Vec<Member>) -> bool {
    reap(&mut |_, _| {});
    members().iter().any(Member::is_alive)
}

fn close_all_but(one: RawFd, other: RawFd) {
    let (first, second) = (one.min(other), one.max(other));
    let (Ok(first), Ok(second)) = (libc::c_uint::try_from(first), libc::c_uint::try_from(second)) else {
        return;
    };
    if first > 0 {
        close(0, first - 1);
    }
    if first + 1 < second {
        close(first + 1, second - 1);
    }
    close(second + 1, libc::c_uint::MAX);
}

fn close(first: libc::c_uint, last: libc::c_uint) {
    // SAFETY: three integers. No value of this process owns a descriptor any more: it ends without running
    // destructors.
    unsafe {
        if libc::syscall(libc::SYS_close_range, first, last, 0) == 0 {
            return;
        }
        // Before Linux 5.9.
        for number in first..=last.min(MAX_DESCRIPTORS) {
            libc::close(number as libc::c_int);
        }
    }
}

/// No signals have these numbers.
const DONE: u8 = 0;
const STARTED: u8 = u8::MAX;
/// From SIGTERM to SIGKILL.
const GRACE: Duration = Duration::from_secs(1);
/// A process that survives this long waits for a device, or is another user's.
const MAX_KILL_WAIT: Duration = Duration::from_secs(20);
const POLL_INTERVAL: Duration = Duration::from_millis(10);
const MAX_DESCRIPTORS: libc::c_uint = 65_536;
