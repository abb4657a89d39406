//! Waits for few descriptors, or rarely, by `ppoll(2)` without a [`Poller`](crate::poller::Poller).

use crate::timer::timespec;
pub use rustix::event::PollFlags;
use rustix::event::{PollFd, poll};
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// Returns whether one of `events`, an end or an error came within `longest`. A signal may end it
/// early.
pub fn until_ready(fd: BorrowedFd<'_>, events: PollFlags, longest: Duration) -> bool {
    wait_for([Some(fd)], events, std::iter::empty(), longest) == [true]
}

/// Returns which are readable, ended or broken; `None` is skipped. A signal may end it early.
pub fn until_readable<const N: usize>(fds: [Option<BorrowedFd<'_>>; N], longest: Duration) -> [bool; N] {
    wait_for(fds, PollFlags::IN, std::iter::empty(), longest)
}

/// As [`until_readable`], for `events` of `fds`; one of `wakers` ends it early.
pub(crate) fn wait_for<'a, const N: usize>(
    fds: [Option<BorrowedFd<'a>>; N],
    events: PollFlags,
    wakers: impl Iterator<Item = BorrowedFd<'a>>,
    longest: Duration,
) -> [bool; N] {
    let mut ready = [false; N];
    let present = fds.iter().flatten();
    let mut entries: Vec<_> = present
        .map(|fd| PollFd::from_borrowed_fd(*fd, events))
        .chain(wakers.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)))
        .collect();
    if poll(&mut entries, Some(&timespec(longest))).is_ok() {
        let places = ready.iter_mut().zip(fds).filter(|(_, fd)| fd.is_some());
        for ((ready, _), entry) in places.zip(entries) {
            *ready = !entry.revents().is_empty();
        }
    }
    ready
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::fd::AsFd;

    #[test]
    fn what_is_readable_is_told_apart_from_what_is_absent_or_empty() {
        let (empty, _kept) = std::io::pipe().expect("a pipe");
        let (full, mut writer) = std::io::pipe().expect("a pipe");
        writer.write_all(b"x").expect("room for a byte");
        let all = [Some(empty.as_fd()), None, Some(full.as_fd())];
        assert_eq!(until_readable(all, Duration::from_secs(20)), [false, false, true]);
        assert!(until_ready(full.as_fd(), PollFlags::IN, Duration::ZERO));
        assert!(!until_ready(
            empty.as_fd(),
            PollFlags::IN,
            Duration::from_millis(1)
        ));
    }
}
