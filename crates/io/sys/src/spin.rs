//! Polls briefly before sleeping, as long as that pays.
//!
//! Waking a sleeping processor takes tens of microseconds, longer than a request and reply within a
//! host or rack. Polling avoids that, but takes processor time from the awaited peer if every
//! processor is busy.
//!
//! - A wait polls for at most 50 us, then sleeps. A poll in vain makes polls four times rarer, down
//!   to one wait in 256; a useful one makes them twice as frequent.
//! - If another thread ran on this processor meanwhile, or several sockets were ready at once, no
//!   processor was free, and the poll counts as in vain.
//! - Fewer threads of a process poll at once than there are processors, none on a single one.
//!
//! Time stamps do not depend on it: they are the kernel's, or taken after the read. Observed times
//! are shorter by the avoided wake-ups.

use crate::poller::{Poller, ReadyList};
use rustix::net::RecvFlags;
use std::io::{self, ErrorKind};
use std::os::fd::BorrowedFd;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

#[derive(Debug, Default)]
pub struct AdaptiveSpin {
    /// One wait in two to the power of this polls.
    reluctance: u32,
    /// Waits left until the next poll.
    skip: u32,
}

impl AdaptiveSpin {
    /// Calls `look` for at most 50 us. If it returns `None`, or this wait must not poll, the caller
    /// sleeps.
    pub fn poll<T>(&mut self, look: impl FnMut() -> Option<T>) -> Option<T> {
        if !self.is_due() {
            return None;
        }
        let _permit = Permit::acquire_permit()?;
        let polled = poll(look);
        self.learn(polled.cost);
        polled.found
    }

    const fn is_due(&mut self) -> bool {
        match self.skip.checked_sub(1) {
            Some(left) => {
                self.skip = left;
                false
            }
            None => true,
        }
    }

    fn learn(&mut self, cost: Cost) {
        match cost {
            Cost::Nothing => {}
            Cost::Paid => self.reluctance = self.reluctance.saturating_sub(1),
            Cost::InVain => self.reluctance = (self.reluctance + 2).min(MAX_BACKOFF),
        }
        self.skip = (1 << self.reluctance) - 1;
    }
}

impl AdaptiveSpin {
    pub fn wait(&mut self, poller: &Poller, list: &mut ReadyList, longest: Option<Duration>) {
        let polls = longest != Some(Duration::ZERO);
        let look = || {
            poller.wait(list, Some(Duration::ZERO));
            (list.len() > 0).then_some(())
        };
        if !polls || self.poll(look).is_none() {
            poller.wait(list, longest);
        } else if list.len() > 1 {
            // Others already wait for this thread: it needs the processor, not a faster wake-up.
            self.learn(Cost::InVain);
        }
    }

    /// Returns `None` if no bytes came, or if this wait must not poll.
    pub fn receive_bytes(&mut self, socket: BorrowedFd<'_>, room: &mut [u8]) -> Option<io::Result<usize>> {
        self.poll(|| {
            let read = rustix::net::recv(socket, &mut *room, RecvFlags::DONTWAIT);
            match read.map(|(count, _)| count).map_err(io::Error::from) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => None,
                read => Some(read),
            }
        })
    }
}

struct Polled<T> {
    found: Option<T>,
    cost: Cost,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cost {
    /// Data was there already.
    Nothing,
    /// A sleeping thread would have been woken.
    Paid,
    /// No bytes came, or others needed the processor.
    InVain,
}

fn poll<T>(mut look: impl FnMut() -> Option<T>) -> Polled<T> {
    let found = look();
    if found.is_some() {
        return Polled {
            found,
            cost: Cost::Nothing,
        };
    }
    let began = Instant::now();
    let mut before = began;
    let mut displaced = false;
    loop {
        std::hint::spin_loop();
        let found = look();
        let now = Instant::now();
        displaced |= now.saturating_duration_since(before) >= DISPLACED;
        before = now;
        if found.is_some() {
            let cost = if displaced { Cost::InVain } else { Cost::Paid };
            return Polled { found, cost };
        }
        if displaced || now.saturating_duration_since(began) >= WINDOW {
            return Polled {
                found: None,
                cost: Cost::InVain,
            };
        }
    }
}

struct Permit;

impl Permit {
    fn acquire_permit() -> Option<Self> {
        static PROCESSORS: OnceLock<usize> = OnceLock::new();
        let processors =
            *PROCESSORS.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from));
        if POLLING.fetch_add(1, Ordering::Relaxed) + 1 < processors {
            return Some(Self);
        }
        POLLING.fetch_sub(1, Ordering::Relaxed);
        None
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        POLLING.fetch_sub(1, Ordering::Relaxed);
    }
}

static POLLING: AtomicUsize = AtomicUsize::new(0);

/// About the time to wake a processor and a thread.
const WINDOW: Duration = Duration::from_micros(50);
/// A longer gap between two looks means that another thread, or the host of a virtual machine, had
/// the processor.
const DISPLACED: Duration = Duration::from_micros(10);
const MAX_BACKOFF: u32 = 8;

#[cfg(test)]
mod tests {
    use super::*;

    fn polls(spin: &mut AdaptiveSpin, waits: u32, cost: Cost) -> u32 {
        let mut polls = 0;
        for _ in 0..waits {
            if spin.is_due() {
                polls += 1;
                spin.learn(cost);
            }
        }
        polls
    }

    #[test]
    fn polls_in_vain_become_rare_and_paying_ones_come_back() {
        let mut spin = AdaptiveSpin::default();
        assert_eq!(polls(&mut spin, 100, Cost::Paid), 100);
        assert_eq!(
            polls(&mut spin, 341, Cost::InVain),
            5,
            "waits 0, 4, 20, 84 and 340"
        );
        assert_eq!(polls(&mut spin, 25_600, Cost::InVain), 100);
        polls(&mut spin, 600, Cost::Paid);
        assert_eq!(polls(&mut spin, 100, Cost::Paid), 100);
    }

    #[test]
    fn where_every_second_wait_is_long_it_polls_rarely() {
        let mut spin = AdaptiveSpin::default();
        let mut polls = 0;
        for wait in 0..100_000 {
            if spin.is_due() {
                polls += 1;
                spin.learn(if wait % 2 == 0 { Cost::Paid } else { Cost::InVain });
            }
        }
        assert!(polls < 2_000, "{polls}");
    }

    #[test]
    fn one_processor_is_left_to_others_however_often_permits_are_asked_for() {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        for _ in 0..3 {
            let permits: Vec<Permit> = std::iter::from_fn(Permit::acquire_permit).collect();
            assert_eq!(permits.len(), processors - 1);
            for _ in 0..10 {
                assert!(Permit::acquire_permit().is_none());
            }
        }
        assert_eq!(POLLING.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn what_comes_while_it_polls_is_found() {
        let mut looks = 0;
        let polled = poll(|| {
            looks += 1;
            (looks == 3).then_some("it")
        });
        assert_eq!((polled.found, looks), (Some("it"), 3));
        let began = Instant::now();
        assert_eq!(poll(|| None::<()>).cost, Cost::InVain);
        assert!(began.elapsed() >= DISPLACED);
    }
}
