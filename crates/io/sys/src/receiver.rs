//! Waits for a channel and for a stop at once.

use crate::error::LiveError;
use crate::poller::Waker;
use crate::stop::StopToken;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::sync::mpsc::{
    IntoIter, Receiver, RecvTimeoutError, SendError, Sender, SyncSender, TryIter, TryRecvError, TrySendError,
};
use std::time::{Duration, Instant};

/// The sender of a [`StoppableReceiver`]. A send costs a system call only while the receiver waits.
#[derive(Debug, Clone)]
pub struct WakingSender<S> {
    sender: S,
    /// Dropped after the sender, to report its end.
    end: WakeAtDrop,
}

/// A receiver of [`std::sync::mpsc`]. Its waits also end with a stop.
#[derive(Debug)]
pub struct StoppableReceiver<T> {
    receiver: Receiver<T>,
    waiting: Arc<Waiting>,
}

/// Ends a wait for an item.
#[derive(Debug, Clone, Copy)]
pub struct WaitLimit<'a> {
    pub stop: &'a StopToken,
    /// Ends it when readable.
    pub other: Option<BorrowedFd<'a>>,
    pub longest: Duration,
}

impl<'a> WaitLimit<'a> {
    pub const fn new(stop: &'a StopToken, longest: Duration) -> Self {
        Self {
            stop,
            other: None,
            longest,
        }
    }
}

#[derive(Debug)]
struct Waiting {
    /// The next send must wake.
    is_waiting: AtomicBool,
    waker: Waker,
}

#[derive(Debug, Clone)]
struct WakeAtDrop(Arc<Waiting>);

/// Makes the waits of a channel stoppable.
///
/// # Errors
/// If the system refuses an eventfd.
pub fn stoppable<S, T>(
    (sender, receiver): (S, Receiver<T>),
) -> Result<(WakingSender<S>, StoppableReceiver<T>), LiveError> {
    let waiting = Arc::new(Waiting {
        is_waiting: AtomicBool::new(false),
        waker: Waker::new()?,
    });
    let end = WakeAtDrop(waiting.clone());
    Ok((
        WakingSender { sender, end },
        StoppableReceiver { receiver, waiting },
    ))
}

impl<T> WakingSender<Sender<T>> {
    /// # Errors
    /// If the receiver is gone.
    pub fn send(&self, item: T) -> Result<(), SendError<T>> {
        self.sender.send(item).inspect(|()| self.end.0.wake())
    }
}

impl<T> WakingSender<SyncSender<T>> {
    /// Waits for room.
    ///
    /// # Errors
    /// If the receiver is gone.
    pub fn send(&self, item: T) -> Result<(), SendError<T>> {
        self.sender.send(item).inspect(|()| self.end.0.wake())
    }

    /// # Errors
    /// If the channel is full, or the receiver is gone.
    pub fn try_send(&self, item: T) -> Result<(), TrySendError<T>> {
        self.sender.try_send(item).inspect(|()| self.end.0.wake())
    }
}

impl<T> StoppableReceiver<T> {
    /// # Errors
    /// [`RecvTimeoutError::Timeout`] also for a stop, or if the other descriptor is readable.
    pub fn receive(&self, limit: WaitLimit<'_>) -> Result<T, RecvTimeoutError> {
        let WaitLimit { stop, other, longest } = limit;
        let began = Instant::now();
        let mut is_other_ready = false;
        loop {
            match self.receiver.try_recv() {
                Ok(item) => return Ok(item),
                Err(TryRecvError::Disconnected) => return Err(RecvTimeoutError::Disconnected),
                Err(TryRecvError::Empty) => {}
            }
            // An item sent before this did not wake: look again.
            if !self.waiting.is_waiting.swap(true, Ordering::Relaxed) {
                fence(Ordering::SeqCst);
                continue;
            }
            let left = longest.saturating_sub(began.elapsed());
            if is_other_ready || stop.is_stopped() || left.is_zero() {
                return Err(RecvTimeoutError::Timeout);
            }
            let waker = &self.waiting.waker;
            [_, is_other_ready] = stop.until_readable([Some(waker.as_fd()), other], left);
            waker.reset();
        }
    }

    /// Items that have arrived.
    pub fn try_iter(&self) -> TryIter<'_, T> {
        self.receiver.try_iter()
    }
}

impl<T> IntoIterator for StoppableReceiver<T> {
    type Item = T;
    type IntoIter = IntoIter<T>;

    /// Waits for the end of the senders.
    fn into_iter(self) -> IntoIter<T> {
        self.receiver.into_iter()
    }
}

impl Waiting {
    fn wake(&self) {
        fence(Ordering::SeqCst);
        if self.is_waiting.load(Ordering::Relaxed) && self.is_waiting.swap(false, Ordering::Relaxed) {
            self.waker.wake();
        }
    }
}

impl Drop for WakeAtDrop {
    fn drop(&mut self) {
        self.0.wake();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{channel, sync_channel};
    use std::thread;

    const LONG: Duration = Duration::from_secs(3600);

    #[test]
    fn each_item_and_the_end_wake() {
        let (sender, receiver) = stoppable(channel()).expect("an eventfd");
        let sending =
            thread::spawn(move || (0..10_000).for_each(|number| sender.send(number).expect("received")));
        let stop = StopToken::never();
        for number in 0..10_000 {
            assert_eq!(receiver.receive(WaitLimit::new(&stop, LONG)), Ok(number));
        }
        assert_eq!(
            receiver.receive(WaitLimit::new(&stop, LONG)),
            Err(RecvTimeoutError::Disconnected)
        );
        sending.join().expect("it has sent all");
    }

    #[test]
    fn a_stop_ends_the_wait_but_hides_no_item() {
        let (sender, receiver) = stoppable(sync_channel(1)).expect("an eventfd");
        let stop = StopToken::new().expect("an eventfd");
        let stopping = stop.clone();
        let stopping = thread::spawn(move || stopping.stop());
        assert_eq!(
            receiver.receive(WaitLimit::new(&stop, LONG)),
            Err(RecvTimeoutError::Timeout)
        );
        stopping.join().expect("it has stopped");
        sender.try_send(1).expect("room");
        assert_eq!(receiver.receive(WaitLimit::new(&stop, LONG)), Ok(1));
        assert_eq!(
            receiver.receive(WaitLimit::new(&stop, LONG)),
            Err(RecvTimeoutError::Timeout)
        );
    }

    #[test]
    fn another_descriptor_and_the_time_end_the_wait() {
        let (_sender, receiver) = stoppable(channel::<()>()).expect("an eventfd");
        let (other, stop) = (Waker::new().expect("an eventfd"), StopToken::never());
        let waits = |longest| {
            receiver.receive(WaitLimit {
                other: Some(other.as_fd()),
                ..WaitLimit::new(&stop, longest)
            })
        };
        assert_eq!(waits(Duration::from_millis(1)), Err(RecvTimeoutError::Timeout));
        other.wake();
        assert_eq!(waits(LONG), Err(RecvTimeoutError::Timeout));
    }
}
