use std::time::{Duration, Instant};

/// Panics with `what` after a timeout.
#[track_caller]
pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    wait_for(what, || holds().then_some(()));
}

/// Waits until `look` returns a value; panics with `what` after a timeout.
#[track_caller]
pub fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begin.elapsed() < MAX_WAIT, "waited in vain: {what}");
        std::thread::sleep(POLL_INTERVAL);
    }
}

const MAX_WAIT: Duration = Duration::from_secs(30);

const POLL_INTERVAL: Duration = Duration::from_millis(10);
