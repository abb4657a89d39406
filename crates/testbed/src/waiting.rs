//! Waiting for events whose time is unknown.

use std::time::{Duration, Instant};

/// Waits until `holds`.
///
/// # Panics
/// When it does not become true: `what` says what that is.
#[track_caller]
pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    wait_for(what, || holds().then_some(()));
}

/// Waits until `look` finds something.
///
/// # Panics
/// When it finds nothing: `what` says what is looked for.
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

/// Longer than anything takes on a busy machine.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// How often is looked.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
